package top

import (
	"sync"
	"testing"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/holiman/uint256"
	"pgregory.net/rapid"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/relay"
)

// lockedFacts are what a board told, from any goroutine.
type lockedFacts struct {
	mu    sync.Mutex
	facts []relay.HeaderServed
}

func (l *lockedFacts) RecordHeader(served relay.HeaderServed) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.facts = append(l.facts, served)
}

func (l *lockedFacts) answers() (sum int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, f := range l.facts {
		sum += f.Count()
	}
	return sum
}

// The first answer is a fact at once. However often the same header is asked for after that, it is
// one more, with the number and both ends.
func TestRepeatsAreOneFact(t *testing.T) {
	spec := &eth.Spec{GenesisTime: time.Unix(1_700_000_000, 0), SlotDuration: 12 * time.Second, SlotsPerEpoch: 32}
	start, told := spec.SlotStart(10), new(recorded)
	key := relay.Key{Slot: 10, Proposer: phase0.BLSPubKey{2}}
	topBid := &Bids{Served: told}
	headers := &Headers{Bids: topBid, Spec: spec, Head: fixedHead(9)}
	topBid.Show(key, &relay.SignedBid{Key: key, BlockHash: phase0.Hash32{3}, ValueWei: uint256.NewInt(7)})
	ask := func(ms int) {
		if bid, err := headers.Header(t.Context(), start.Add(time.Duration(ms)*time.Millisecond), key,
			time.Time{}); bid == nil || err != nil {
			t.Fatal(bid, err)
		}
	}
	ask(0)
	if len(*told) != 1 || !(*told)[0].At.Equal(start) || (*told)[0].Count() != 1 {
		t.Fatalf("after the first answer: %+v", *told)
	}
	for ms := range 10_000 {
		ask(1 + (ms+5000)%10_000) // times that go back, as they do when many ask
	}
	if len(*told) != 1 {
		t.Fatalf("%d facts while the bid leads", len(*told))
	}
	topBid.RecordRepeats()
	topBid.RecordRepeats()
	if len(*told) != 2 {
		t.Fatalf("%d facts", len(*told))
	}
	sum := (*told)[1]
	if sum.Count() != 10_000 || !sum.At.Equal(start.Add(5001*time.Millisecond)) ||
		!sum.Until.Equal(start.Add(10_000*time.Millisecond)) {
		t.Errorf("%+v", sum)
	}
	if sum.Slot != 10 || sum.Proposer != key.Proposer || sum.BlockHash != (phase0.Hash32{3}) ||
		sum.ValueWei.Uint64() != 7 {
		t.Errorf("of another header: %+v", sum)
	}
	ask(11_000)
	if len(*told) != 2 {
		t.Error("a repeat after the sum is a fact of its own")
	}
	topBid.Clear(11)
	if len(*told) != 3 || (*told)[2].Count() != 1 {
		t.Errorf("the last one is not told: %+v", *told)
	}
}

// Whatever changes between answers, each of them is told exactly once, and the facts are at most
// two for each bid shown and one for each head and bid that leads.
func TestAnswersAreToldOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		told := new(lockedFacts)
		topBid := &Bids{Served: told}
		headers := &Headers{Bids: topBid, Spec: new(eth.Spec), Head: fixedHead(0)}
		served, most := 0, 0
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			slot := phase0.Slot(rapid.IntRange(0, 2).Draw(t, "slot"))
			key := relay.Key{Slot: slot}
			switch rapid.IntRange(0, 9).Draw(t, "step") {
			case 0, 1:
				topBid.Show(key, &relay.SignedBid{Key: key, ValueWei: uint256.NewInt(1)})
				most += 2
			case 2:
				topBid.Show(key, nil)
			case 3:
				topBid.RecordRepeats()
				most += 3
			case 4:
				topBid.Clear(slot)
			default:
				bid, err := headers.Header(t.Context(), time.Unix(1, 0), key, time.Time{})
				if err != nil {
					t.Fatal(err)
				}
				if bid != nil {
					served++
				}
			}
		}
		topBid.RecordRepeats()
		most += 3
		if got := told.answers(); got != served || len(told.facts) > most {
			t.Fatalf("%d answers were told as %d, in %d facts", served, got, len(told.facts))
		}
	})
}

// No answer is lost, or told twice, when bids change while they are served.
func TestAnswersOfBidsThatChange(t *testing.T) {
	told := new(lockedFacts)
	topBid := &Bids{Served: told}
	headers := &Headers{Bids: topBid, Spec: new(eth.Spec), Head: fixedHead(0)}
	key := relay.Key{Slot: 1}
	topBid.Show(key, &relay.SignedBid{Key: key})
	const clients, each, changes = 4, 2000, 300
	var asking sync.WaitGroup
	for range clients {
		asking.Go(func() {
			for range each {
				if bid, err := headers.Header(t.Context(), time.Unix(1, 0), key, time.Time{}); bid == nil || err != nil {
					t.Error(bid, err)
					return
				}
			}
		})
	}
	for range changes {
		topBid.Show(key, &relay.SignedBid{Key: key})
		topBid.RecordRepeats()
	}
	asking.Wait()
	topBid.Clear(2)
	if got := told.answers(); got != clients*each {
		t.Errorf("%d answers were told as %d", clients*each, got)
	}
}
