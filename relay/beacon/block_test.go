package beacon

import (
	"errors"
	"fmt"
	"testing"

	"github.com/attestantio/go-eth2-client/spec/phase0"
)

// A block is read from the first node that answers; one that has none settles it.
func TestBlock(t *testing.T) {
	document := func(slot, hash string) string {
		return fmt.Sprintf(`{"data":{"message":{"slot":%q,"body":{"execution_payload":{"block_hash":%q,"gas_limit":"30"}}}}}`,
			slot, hash)
	}
	good := document("7", fmt.Sprintf("0x%064x", 5))
	for name, row := range map[string]struct {
		urls  []string
		found bool
		err   error // nil for any, if there is no block
	}{
		"the first has it":          {[]string{answering(t, 200, good), down(t)}, true, nil},
		"the first is down":         {[]string{down(t), answering(t, 200, good)}, true, nil},
		"the first fails":           {[]string{answering(t, 500, ""), answering(t, 200, good)}, true, nil},
		"the first has none":        {[]string{answering(t, 404, ""), answering(t, 200, good)}, false, ErrNoBlock},
		"all are down":              {[]string{down(t)}, false, nil},
		"it is no JSON":             {[]string{answering(t, 200, "<html>")}, false, nil},
		"it is of before the merge": {[]string{answering(t, 200, document("7", ""))}, false, nil},
		"its slot is no number":     {[]string{answering(t, 200, document("x", fmt.Sprintf("0x%064x", 5)))}, false, nil},
	} {
		t.Run(name, func(t *testing.T) {
			block, err := nodes(t, row.urls...).Block(t.Context(), "7")
			if row.found != (err == nil) || row.err != nil && !errors.Is(err, row.err) {
				t.Errorf("%v", err)
			}
			if want := (Block{Slot: 7, Hash: phase0.Hash32{31: 5}, GasLimit: 30}); row.found && block != want {
				t.Errorf("%+v, want %+v", block, want)
			}
		})
	}
}
