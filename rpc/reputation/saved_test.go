package reputation

import (
	"encoding/json"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"pgregory.net/rapid"

	"github.com/gavel-relay/gavel/rpc"
)

// TestSavedViewGoesOn: whenever a view is saved and restored, through JSON, it goes on as if it had
// never ended: sums, landings that are taken back, and who is forgotten.
func TestSavedViewGoesOn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := Config{Signers: rapid.IntRange(1, 5).Draw(t, "signers"),
			Hours: rapid.IntRange(hoursOfWeek, 200).Draw(t, "hours")}
		v, restored, now := New(cfg), New(cfg), start
		for i := range rapid.IntRange(1, 200).Draw(t, "facts") {
			now = now.Add(time.Duration(rapid.IntRange(0, 90).Draw(t, "minutes")) * time.Minute)
			signer := common.Address{rapid.Byte().Draw(t, "signer") % 8}
			var fact rpc.Fact
			switch rapid.IntRange(0, 3).Draw(t, "fact") {
			case 0:
				fact = accepted(now, signer)
			case 1:
				fact = simulated(now, signer, 1000, false)
			case 2:
				fact = ended(now, uint64(i), signer, rpc.Landed, 1<<40)
			case 3:
				fact = returned(now, rapid.Uint64Range(0, uint64(i)).Draw(t, "returned"), signer)
			}
			v.Apply(fact)
			restored.Apply(fact)
			if rapid.IntRange(0, 9).Draw(t, "restart") == 0 {
				restored = restart(t, restored, cfg)
			}
			if got, want := toldBy(restored, now), toldBy(v, now); !reflect.DeepEqual(got, want) {
				t.Fatalf("after %T\n  %+v, want\n  %+v", fact, got, want)
			}
		}
	})
}

func restart(t *rapid.T, v *Projection, cfg Config) *Projection {
	again := New(cfg)
	for saved := range v.Save() {
		data, err := json.Marshal(saved)
		if err != nil {
			t.Fatal(err)
		}
		var read Saved
		if err := json.Unmarshal(data, &read); err != nil {
			t.Fatal(err)
		}
		again.Restore(read)
	}
	return again
}

// told is all that the answers of a view follow from.
type told struct {
	newcomers, payers []common.Address
	standing          map[common.Address]Standing
	hours             int
	landed            []uint64
}

func toldBy(v *Projection, at time.Time) told {
	all := told{newcomers: v.newcomers.Keys(), payers: v.payers.Keys(), standing: map[common.Address]Standing{},
		hours: v.hours}
	for _, signer := range slices.Concat(all.newcomers, all.payers) {
		all.standing[signer] = v.Standing(at, signer)
	}
	for _, order := range v.landed.Keys() { // of signers that were forgotten nobody asks
		if l, _ := v.landed.Peek(order); v.of(l.signer) == l.record {
			all.landed = append(all.landed, order)
		}
	}
	return all
}
