package load

import (
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"

	"github.com/gavel-relay/gavel/conformance/bench"
)

// An answer has the order's hash where its method has it.
func TestWrongHash(t *testing.T) {
	hash := common.Hash{0xaa}
	for _, row := range []struct {
		kind   bench.Kind
		answer string
		right  bool
	}{
		{bench.Bundles, `{"result":{"bundleHash":"` + hash.Hex() + `"}}`, true},
		{bench.Bundles, `{"result":{"bundleHash":"` + hash.Hex() + `","smart":"x"}}`, true},
		{bench.Shares, `{"result":{"bundleHash":"` + (common.Hash{0xab}).Hex() + `"}}`, false},
		{bench.Shares, `{"result":"` + hash.Hex() + `"}`, false}, {bench.Bundles, `{}`, false}, {bench.Bundles, ``, false},
		{bench.Private, `{"result":"` + hash.Hex() + `"}`, true},
		{bench.Private, `{"result":"` + (common.Hash{}).Hex() + `"}`, false},
	} {
		got := sentOrder{kind: row.kind, method: "m", hash: hash}.wrongHash(reply{status: 200, body: []byte(row.answer)})
		if (got == "") != row.right {
			t.Errorf("%s, %s: %q", row.kind, row.answer, got)
		}
	}
}

// A bundle is known if its statistics say whether it was simulated.
func TestMissing(t *testing.T) {
	for _, row := range []struct {
		answer string
		good   bool
		known  bool
	}{
		{`{"result":{"isSimulated":false}}`, true, true}, {`{"result":{}}`, true, false}, {`{"result":null}`, true, false},
		{`{"error":{"code":-32000}}`, false, false}, {`{"result":{"isSimulated":true}}`, false, false},
	} {
		got := sentOrder{hash: common.Hash{0xaa}, block: 7}.missing(reply{status: 200, body: []byte(row.answer)}, row.good)
		if (got == "") != row.known || !row.known && !strings.Contains(got, "0xaa") {
			t.Errorf("%s: %q", row.answer, got)
		}
	}
}
