package eth

import (
	"strings"
	"testing"

	"github.com/attestantio/go-eth2-client/spec/phase0"
)

func TestNetwork(t *testing.T) {
	for _, row := range []struct {
		name    string
		version phase0.Version
		want    string // part of the error, empty for none
	}{
		{"mainnet", phase0.Version{}, ""},
		{"sepolia", phase0.Version{0x90, 0, 0, 0x69}, ""},
		{"hoodi", phase0.Version{0x10, 0, 0x09, 0x10}, ""},
		{"custom", phase0.Version{1, 2, 3, 4}, ""},
		{"mainnet", phase0.Version{0x90, 0, 0, 0x69}, "not on mainnet: its genesis fork version is 0x90000069"},
		{"ropsten", phase0.Version{}, `"ropsten" is unknown: give one of mainnet, sepolia, hoodi, custom`},
	} {
		err := CheckNetwork(row.name, &Spec{GenesisForkVersion: row.version})
		if (err == nil) != (row.want == "") || err != nil && !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s with %#x: %v", row.name, row.version[:], err)
		}
	}
}
