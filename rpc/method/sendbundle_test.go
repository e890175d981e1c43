package method

import (
	"encoding/json"
	"testing"

	"github.com/ethereum/go-ethereum/common"

	"github.com/gavel-relay/gavel/rpc/jsonrpc"
)

// The answer writes itself as encoding/json would.
func TestBundleTakenAppendJSON(t *testing.T) {
	for _, taken := range []bundleAnswer{{}, {BundleHash: common.Hash{0xab, 31: 1}},
		{BundleHash: common.Hash{1}, Smart: "true"}} {
		want, err := json.Marshal(taken)
		if err != nil {
			t.Fatal(err)
		}
		if got := jsonrpc.Appender(taken).AppendJSON([]byte("before ")); string(got) != "before "+string(want) {
			t.Errorf("%s, want before %s", got, want)
		}
	}
}
