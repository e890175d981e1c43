package dataset

import (
	"strings"
	"testing"
)

// A network of one's own has a name of its own, and times that are times.
func TestOtherNetwork(t *testing.T) {
	if got, err := OtherNetwork("lab", 1_795_274_056, 4); err != nil || got != (Network{"lab", 1_795_274_056, 4}) {
		t.Errorf("%+v, %v", got, err)
	}
	for _, c := range []struct {
		name             string
		genesis, seconds int64
		want             string
	}{
		{"mainnet", 1, 12, "public network"}, {"lab", -1, 12, "genesis time -1"}, {"lab", 1 << 40, 12, "no time"},
		{"lab", 1, 0, "0 seconds"}, {"lab", 1, 3601, "3601 seconds"},
	} {
		if _, err := OtherNetwork(c.name, c.genesis, c.seconds); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}
