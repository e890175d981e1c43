package auction

import (
	"slices"
	"testing"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/holiman/uint256"
	"pgregory.net/rapid"

	"github.com/gavel-relay/gavel/relay"
)

// model keeps every bid ever made in a list and works out the top from scratch: slow and plain, so
// that it can be believed.
type model struct{ bids []relay.Bid }

func (m *model) submit(bid relay.Bid) (taken bool) {
	if bid.Cancellable || bid.Sequence > 0 {
		for _, i := range m.inForce() {
			other := m.bids[i]
			if other.Builder != bid.Builder || isFinal(other) {
				continue
			}
			if other.Sequence > 0 || bid.Sequence > 0 {
				if bid.Sequence <= other.Sequence {
					return false
				}
			} else if bid.ReceivedAt.Before(other.ReceivedAt) {
				return false
			}
		}
	}
	m.bids = append(m.bids, bid)
	return true
}

// inForce are the places of all final bids and of each builder's last replaceable one.
func (m *model) inForce() (places []int) {
	last := map[phase0.BLSPubKey]int{}
	for i, bid := range m.bids {
		if isFinal(bid) {
			places = append(places, i)
		} else {
			last[bid.Builder] = i
		}
	}
	for _, i := range last {
		places = append(places, i)
	}
	return places
}

func (m *model) top() *relay.Bid { return m.best(func(relay.Bid) bool { return true }) }

// runnerUp is the best bid of another builder than the top's.
func (m *model) runnerUp() *relay.Bid {
	top := m.top()
	return m.best(func(bid relay.Bid) bool { return top != nil && bid.Builder != top.Builder })
}

// best is the best bid in force of those that match.
func (m *model) best(match func(relay.Bid) bool) *relay.Bid {
	best := -1
	for _, i := range m.inForce() {
		value := m.bids[i].ValueWei
		if value.IsZero() || isUncounted(m.bids[i]) || !match(m.bids[i]) {
			continue
		}
		if best < 0 || value.Gt(m.bids[best].ValueWei) || (value.Eq(m.bids[best].ValueWei) && i < best) {
			best = i
		}
	}
	if best < 0 {
		return nil
	}
	return &m.bids[best]
}

// floor is the best value of all final bids.
func (m *model) floor() *uint256.Int {
	floor := new(uint256.Int)
	for _, bid := range m.bids {
		if isFinal(bid) && bid.ValueWei.Gt(floor) {
			floor = bid.ValueWei
		}
	}
	return floor
}

// uncounted marks a bid of a model that must not lead, in a byte of the recipient that the tests do
// not use.
func uncounted(bid relay.Bid) relay.Bid {
	bid.FeeRecipient[19] = 1
	return bid
}

func isUncounted(bid relay.Bid) bool { return bid.FeeRecipient[19] == 1 }

func (m *model) withdraw(builder phase0.BLSPubKey) {
	kept := m.bids[:0]
	for _, bid := range m.bids {
		if bid.Builder != builder {
			kept = append(kept, bid)
		}
	}
	m.bids = kept
}

// exclude takes bids in force away that match; what they have replaced does not come back.
func (m *model) exclude(match func(relay.Bid) bool) {
	places := m.inForce()
	slices.Sort(places)
	var kept []relay.Bid
	for _, i := range places {
		if !match(m.bids[i]) {
			kept = append(kept, m.bids[i])
		}
	}
	m.bids = kept
}

// TestBookAgainstModel plays random interleavings of submissions, replacements, cancellations and
// withdrawals and compares the top after each of them.
func TestBookAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var book Book
		var naive model
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			builder := phase0.BLSPubKey{rapid.ByteRange('a', 'd').Draw(t, "builder")}
			recipient := relay.FeeRecipient{rapid.ByteRange(1, 2).Draw(t, "recipient")}
			action := rapid.IntRange(0, 19).Draw(t, "action")
			if action == 1 {
				before := describeTop(book.Top())
				match := func(bid relay.Bid) bool { return bid.FeeRecipient == recipient }
				outcome := book.Exclude(match)
				naive.exclude(match)
				compare(t, &book, &naive, before, outcome)
				continue
			}
			if action == 2 {
				before := describeTop(book.Top())
				outcome := book.Withdraw(builder, func(bid relay.Bid) bool { return bid.FeeRecipient == recipient })
				naive.exclude(func(bid relay.Bid) bool { return bid.Builder == builder && bid.FeeRecipient == recipient })
				compare(t, &book, &naive, before, outcome)
				continue
			}
			if action == 0 {
				before := describeTop(book.Top())
				outcome := book.Withdraw(builder, nil)
				naive.withdraw(builder)
				compare(t, &book, &naive, before, outcome)
				continue
			}
			bid := relay.Bid{
				Builder: builder, ValueWei: uint256.NewInt(rapid.Uint64Range(0, 9).Draw(t, "value")),
				FeeRecipient: recipient, ReceivedAt: time.Unix(rapid.Int64Range(0, 9).Draw(t, "received"), 0),
				Cancellable: rapid.Bool().Draw(t, "cancellable"),
				Sequence:    rapid.SampledFrom([]uint64{0, 0, 0, 1, 2, 3, 4}).Draw(t, "sequence"),
				BlockHash:   phase0.Hash32(rapid.SliceOfN(rapid.Byte(), 32, 32).Draw(t, "hash")),
			}
			before := describeTop(book.Top())
			outcome := book.Submit(bid)
			if taken := naive.submit(bid); taken == (outcome.Result == Outdated) {
				t.Fatalf("result %v, but the model's answer to taking it is %v", outcome.Result, taken)
			}
			compare(t, &book, &naive, before, outcome)
		}
	})
}

func compare(t *rapid.T, book *Book, naive *model, before string, outcome Outcome) {
	got, want := describeTop(book.Top()), describeTop(naive.top())
	if got != want {
		t.Fatalf("top is %s, want %s", got, want)
	}
	if outcome.Changed != (got != before) {
		t.Fatalf("changed is %v from %s to %s", outcome.Changed, before, got)
	}
	if got, want := describeTop(book.RunnerUp()), describeTop(naive.runnerUp()); got != want {
		t.Fatalf("the runner-up is %s, want %s", got, want)
	}
	floor := naive.floor()
	if !book.Floor().Eq(floor) {
		t.Fatalf("floor is %s, want %s", book.Floor().Dec(), floor.Dec())
	}
	for value := range uint64(10) {
		if at := book.AtFloor(uint256.NewInt(value)); at != (!floor.IsZero() && value <= floor.Uint64()) {
			t.Fatalf("a bid of %d with the floor at %s: at the floor is %v", value, floor.Dec(), at)
		}
	}
}

func describeTop(bid *relay.Bid) string {
	if bid == nil {
		return "nobody"
	}
	return string(bid.Builder[:1]) + " " + bid.ValueWei.Dec() + " " + bid.BlockHash.String()
}

func TestBooksCloseForgetsPastSlots(t *testing.T) {
	var books Books
	key := func(slot phase0.Slot) relay.Key { return relay.Key{Slot: slot} }
	books.Of(key(1)).Submit(relay.Bid{ValueWei: uint256.NewInt(1)})
	books.Of(key(2)).Submit(relay.Bid{ValueWei: uint256.NewInt(2)})
	books.Close(2)
	if books.Open() != 1 || books.Of(key(2)).Top() == nil || books.Of(key(1)).Top() != nil {
		t.Error("closing forgets exactly the auctions before the slot")
	}
}
