package app

import (
	"testing"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/devnet/display"
	"github.com/gavel-relay/gavel/devnet/network"
	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/relay"
)

// told is a story of slot 2 whose facts are told 10 ms of the wall apart.
func told(t *testing.T, facts ...relay.Fact) *story {
	t.Helper()
	spec := &eth.Spec{GenesisTime: time.Unix(0, 0), SlotDuration: 12 * time.Second, SlotsPerEpoch: 8,
		Forks: []eth.ForkPoint{{Fork: eth.Fulu}}}
	s := newStory(spec, map[phase0.BLSPubKey]string{{1}: "builder-1"})
	for i, fact := range facts {
		s.observe(seen{fact, at(10 * i)})
	}
	return s
}

func trace(wei uint64) relay.Trace {
	return relay.Trace{Slot: 2, Builder: phase0.BLSPubKey{1}, BlockHash: phase0.Hash32{9}, ValueWei: uint256.NewInt(wei),
		NumTx: 3, NumBlobs: 1}
}

func at(ms int) time.Time { return time.Unix(24, 0).Add(time.Duration(ms) * time.Millisecond) }

func delivery() []relay.Fact {
	return []relay.Fact{
		relay.SubmissionJudged{Trace: trace(5), Verified: true}, relay.SubmissionJudged{Trace: trace(7), Verified: true},
		relay.SubmissionJudged{Trace: trace(9), Refusal: "submission-invalid"}, relay.SubmissionJudged{Trace: trace(1)},
		relay.TopChanged{Trace: trace(7)}, relay.HeaderServed{Slot: 2, At: at(100)}, relay.HeaderServed{Slot: 2, At: at(200)},
		relay.PayloadDelivered{Trace: trace(7), At: at(340)},
	}
}

func TestDeliveredSlot(t *testing.T) {
	slot, delivered := told(t, delivery()...).finish(2,
		network.Slot{Proposer: 4, BlockHash: phase0.Hash32{9}, Canonical: true})
	if delivered == nil || !slot.Delivered || !slot.Landed || slot.Winner != "builder-1" ||
		slot.Proposer != 4 || slot.Open {
		t.Errorf("%+v", slot)
	}
	if slot.Bids != 2 || len(slot.Values) != 2 || slot.TopWei.Uint64() != 7 || slot.Txs != 3 || slot.Blobs != 1 {
		t.Errorf("refused and unverified submissions are no bids: %+v", slot)
	}
	if len(slot.Took) != 1 || slot.Took[0] != (display.Stage{Name: stageDelivery, Took: 20 * time.Millisecond}) {
		t.Errorf("took %v, want 20 ms from the first header to the delivery", slot.Took)
	}
}

// What became of a slot is what the chain says, not what the relay says.
func TestTheChainHasTheLastWord(t *testing.T) {
	for name, row := range map[string]struct {
		facts             []relay.Fact
		block             network.Slot
		winner, note      string
		delivered, landed bool
	}{
		"orphaned": {delivery(), network.Slot{}, "builder-1", "delivered, but not on the chain, refused: submission-invalid",
			true, false},
		"another block": {delivery(), network.Slot{BlockHash: phase0.Hash32{8}, Canonical: true}, "builder-1",
			"delivered, but not on the chain, refused: submission-invalid", true, false},
		"local block": {nil, network.Slot{BlockHash: phase0.Hash32{8}, Canonical: true, Txs: 5}, display.Local, "local block",
			false, false},
		"missed": {nil, network.Slot{}, "", "missed", false, false},
		"payload refused": {[]relay.Fact{relay.PayloadRefused{Slot: 2, Refusal: "payload-too-late"}}, network.Slot{}, "",
			"payload refused: payload-too-late, missed", false, false},
	} {
		t.Run(name, func(t *testing.T) {
			slot, _ := told(t, row.facts...).finish(2, row.block)
			if slot.Winner != row.winner || slot.Note != row.note || slot.Delivered != row.delivered ||
				slot.Landed != row.landed {
				t.Errorf("%+v", slot)
			}
		})
	}
}

func TestTally(t *testing.T) {
	var sum tally
	for i, slot := range []display.Slot{
		{Delivered: true, Landed: true, Took: []display.Stage{{Name: stageBid, Took: time.Hour},
			{Name: stageDelivery, Took: 3 * time.Millisecond}}},
		{Delivered: true, Landed: true, Took: []display.Stage{{Name: stageDelivery, Took: time.Millisecond}}},
		{Delivered: true, Took: []display.Stage{{Name: stageDelivery, Took: 2 * time.Millisecond}}},
		{Winner: display.Local}, {},
	} {
		sum.add(slot, uint256.NewInt(uint64(i)))
	}
	got := sum.done()
	if got.Slots != 5 || got.Delivered != 3 || got.Landed != 2 || got.Local != 1 || got.Missed != 1 ||
		got.PaidWei.Uint64() != 10 ||
		got.RoundTripMedian != 2*time.Millisecond || got.OK() {
		t.Errorf("%+v", got)
	}
}
