package ledger

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
		cfg := ReputationConfig{Signers: rapid.IntRange(1, 5).Draw(t, "signers"),
			Hours: rapid.IntRange(hoursOfWeek, 200).Draw(t, "hours")}
		v, restored, now := NewReputation(cfg), NewReputation(cfg), start
		for i := range rapid.IntRange(1, 200).Draw(t, "facts") {
			now = now.Add(time.Duration(rapid.IntRange(0, 90).Draw(t, "minutes")) * time.Minute)
			signer := common.Address{rapid.Byte().Draw(t, "signer") % 8}
			var fact rpc.Fact
			switch rapid.IntRange(0, 3).Draw(t, "fact") {
			case 0:
				fact = accept(now, signer)
			case 1:
				fact = simulate(now, signer, 1000, false)
			case 2:
				fact = end(now, uint64(i), signer, rpc.Landed, 1<<40)
			case 3:
				fact = comeBack(now, rapid.Uint64Range(0, uint64(i)).Draw(t, "returned"), signer)
			}
			v.Apply(fact)
			restored.Apply(fact)
			if rapid.IntRange(0, 9).Draw(t, "restart") == 0 {
				restored = restartReputation(t, restored, cfg)
			}
			if got, want := standingsBy(restored, now), standingsBy(v, now); !reflect.DeepEqual(got, want) {
				t.Fatalf("after %T\n  %+v, want\n  %+v", fact, got, want)
			}
		}
	})
}

func restartReputation(t *rapid.T, v *Reputation, cfg ReputationConfig) *Reputation {
	again := NewReputation(cfg)
	for saved := range v.Save() {
		data, err := json.Marshal(saved)
		if err != nil {
			t.Fatal(err)
		}
		var read SavedReputation
		if err := json.Unmarshal(data, &read); err != nil {
			t.Fatal(err)
		}
		again.Restore(read)
	}
	return again
}

// standings are all that the answers of a view follow from.
type standings struct {
	newcomers, payers []common.Address
	standing          map[common.Address]Standing
	hours             int
	landed            []uint64
}

func standingsBy(v *Reputation, at time.Time) standings {
	all := standings{newcomers: v.newcomers.Keys(), payers: v.payers.Keys(), standing: map[common.Address]Standing{},
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
