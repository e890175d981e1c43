package relay_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/holiman/uint256"
	"pgregory.net/rapid"

	"github.com/gavel-relay/gavel/relay"
)

// A served header reads the same whether it was written by hand or by encoding/json.
func TestHeaderServedAppendJSON(t *testing.T) {
	if got := string(relay.HeaderServed{}.AppendJSON([]byte("before "))); got[:8] != "before {" {
		t.Errorf("not appended: %s", got)
	}
	rapid.Check(t, func(t *rapid.T) {
		served := relay.HeaderServed{
			At:   time.Unix(rapid.Int64Range(0, 1<<33).Draw(t, "seconds"), rapid.Int64Range(0, 999_999_999).Draw(t, "nanoseconds")),
			Slot: phase0.Slot(rapid.Uint64().Draw(t, "slot")),
		}
		if rapid.Bool().Draw(t, "utc") {
			served.At = served.At.UTC()
		} else {
			served.At = served.At.In(time.FixedZone("", rapid.IntRange(-14*60, 14*60).Draw(t, "zone")*60))
		}
		copy(served.Proposer[:], rapid.SliceOfN(rapid.Byte(), 48, 48).Draw(t, "proposer"))
		copy(served.BlockHash[:], rapid.SliceOfN(rapid.Byte(), 32, 32).Draw(t, "hash"))
		if !rapid.Bool().Draw(t, "no value") {
			served.ValueWei = new(uint256.Int).SetBytes(rapid.SliceOfN(rapid.Byte(), 0, 32).Draw(t, "value"))
		}
		want, err := json.Marshal(served)
		if err != nil {
			t.Fatal(err)
		}
		if got := served.AppendJSON(nil); string(got) != string(want) {
			t.Fatalf("by hand %s\nby json %s", got, want)
		}
	})
}
