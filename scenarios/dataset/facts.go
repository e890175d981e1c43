package dataset

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/scenarios"
)

// RunFacts are the facts of a run folder that a scenario has written: what its relays' journals say
// of bids, refusals, leading bids, served headers and delivered payloads. Other facts are about
// something else than these tables, and are passed over.
var RunFacts = Format{
	Name: "run", Place: Line,
	Doc: "`facts.ndjson` of a run folder: what relays judged, also what they refused, leading bids, served headers and " +
		"delivered payloads",
	begins: func(head []byte) bool { return bytes.HasPrefix(head, []byte(`{"seq":`)) },
	Read:   readFacts,
}

func readFacts(in io.Reader, from Origin, to Sink) error {
	return eachLine(in, func(at int64, line string) error {
		var r scenarios.Record
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			return to.Bad(at, line, fmt.Errorf("not a fact: %w", err))
		}
		relayName := Text(cmp.Or(from.Instances[r.Actor], r.Actor, from.Relay))
		bid, delivery, err := rowOfFact(&r, relayName)
		switch {
		case err == nil && bid != nil:
			err = bid.check(from.Network)
		case err == nil && delivery != nil:
			err = delivery.check(from.Network)
		}
		switch {
		case err != nil:
			return to.Bad(at, line, err)
		case bid != nil:
			return to.Row(at, bid)
		case delivery != nil:
			return to.Row(at, delivery)
		}
		return nil
	})
}

// rowOfFact returns the row that a fact is, or none.
func rowOfFact(r *scenarios.Record, relayName Text) (bid *Bid, delivery *Delivery, err error) {
	switch r.Subject {
	case scenarios.SubmissionJudged:
		var f relay.SubmissionJudged
		if err := decodeFact(r, &f); err != nil {
			return nil, nil, err
		}
		bid, err = bidOfTrace(f.Trace, Submission, relayName)
		if err != nil {
			return nil, nil, err
		}
		bid.ReceivedAt, bid.ReceivedUnitUs, bid.EligibleAt = timeOf(f.ReceivedAt), Int{1, true}, timeOf(f.EligibleAt)
		// A block that is not verified was refused, or not executed: nobody has found it invalid.
		bid.Verified, bid.Optimistic = Bool{f.Verified, f.Verified}, Bool{f.Optimistic, true}
		bid.Cancellable, bid.Sequence = Bool{f.Cancellable, true}, Int{int64(f.Sequence), f.Sequence > 0}
		bid.Refusal = Text(f.Refusal)
		return bid, nil, checkSequence(f.Sequence)
	case scenarios.TopChanged:
		var f relay.TopChanged
		if err := decodeFact(r, &f); err != nil || f.ValueWei == nil || f.ValueWei.IsZero() {
			return nil, nil, err // no bid leads any more
		}
		if bid, err = bidOfTrace(f.Trace, TopStream, relayName); err == nil {
			bid.ObservedAt = timeOf(f.At)
		}
		return bid, nil, err
	case scenarios.HeaderServed:
		var f relay.HeaderServed
		if err := decodeFact(r, &f); err != nil {
			return nil, nil, err
		}
		bid = &Bid{
			Source: "run", Kind: HeaderPoll, Relay: relayName, Slot: Int{int64(f.Slot), true}, ObservedAt: timeOf(f.At),
			BlockHash: Hash{f.BlockHash, true}, Builder: Key{f.Builder, true}, Proposer: Key{f.Proposer, true},
			FeeRecipient: Address{f.FeeRecipient, f.FeeRecipient != relay.FeeRecipient{}},
		}
		bid.ValueWei, err = weiOf(f.ValueWei)
		return bid, nil, err
	case scenarios.PayloadDelivered:
		var f relay.PayloadDelivered
		if err := decodeFact(r, &f); err != nil {
			return nil, nil, err
		}
		delivery, err = deliveryOfFact(&f, relayName)
		return nil, delivery, err
	}
	return nil, nil, nil
}

func decodeFact(r *scenarios.Record, into any) error {
	if len(r.Fact) == 0 {
		return fmt.Errorf("%s without the relay's own fact", r.Subject)
	}
	if err := json.Unmarshal(r.Fact, into); err != nil {
		return fmt.Errorf("%s: %w", r.Subject, err)
	}
	return nil
}

func bidOfTrace(t relay.Trace, kind, relayName Text) (*Bid, error) {
	b := &Bid{
		Source: "run", Kind: kind, Relay: relayName, Slot: Int{int64(t.Slot), true},
		BlockHash: Hash{t.BlockHash, true}, ParentHash: Hash{t.ParentHash, true},
		Builder: Key{t.Builder, true}, Proposer: Key{t.Proposer, true},
		FeeRecipient: Address{t.FeeRecipient, true}, BlockNumber: Int{int64(t.BlockNumber), true},
		GasLimit: Int{int64(t.GasLimit), true}, GasUsed: Int{int64(t.GasUsed), true},
		NumTx: Int{int64(t.NumTx), true}, NumBlobs: Int{int64(t.NumBlobs), true},
	}
	var err error
	if b.ValueWei, err = weiOf(t.ValueWei); err != nil {
		return nil, err
	}
	return b, checkCounts(t)
}

func deliveryOfFact(f *relay.PayloadDelivered, relayName Text) (*Delivery, error) {
	t := f.Trace
	d := &Delivery{
		Source: "run", Relay: relayName, Slot: Int{int64(t.Slot), true}, DeliveredAt: timeOf(f.At),
		BlockHash: Hash{t.BlockHash, true}, ParentHash: Hash{t.ParentHash, true},
		Builder: Key{t.Builder, true}, Proposer: Key{t.Proposer, true}, FeeRecipient: Address{t.FeeRecipient, true},
		BlockNumber: Int{int64(t.BlockNumber), true}, GasLimit: Int{int64(t.GasLimit), true},
		GasUsed: Int{int64(t.GasUsed), true}, NumTx: Int{int64(t.NumTx), true}, NumBlobs: Int{int64(t.NumBlobs), true},
	}
	var err error
	if d.ValueWei, err = weiOf(t.ValueWei); err != nil {
		return nil, err
	}
	if f.PaidWei != nil {
		if d.PaidWei, err = weiOf(f.PaidWei); err != nil {
			return nil, fmt.Errorf("paid: %w", err)
		}
	}
	return d, checkCounts(t)
}

// checkCounts refuses counts that no column holds.
func checkCounts(t relay.Trace) error {
	p := parsing{}
	for _, n := range []struct {
		name  string
		value int64
	}{
		{"block_number", int64(t.BlockNumber)}, {"gas_limit", int64(t.GasLimit)}, {"gas_used", int64(t.GasUsed)},
		{"num_tx", int64(t.NumTx)}, {"num_blobs", int64(t.NumBlobs)}, {"slot", int64(t.Slot)},
	} {
		if n.value < 0 {
			p.fail(n.name, errNotInt)
		}
	}
	return p.err
}

func checkSequence(n uint64) error {
	if int64(n) < 0 {
		return fmt.Errorf("sequence: %w", errNotInt)
	}
	return nil
}

func weiOf(v *uint256.Int) (Wei, error) {
	if v == nil {
		return Wei{}, errNoValue
	}
	return weiOfBytes(v.Bytes())
}

// timeOf is null for a zero time. What is out of range is far from its slot, too.
func timeOf(at time.Time) Time {
	if at.IsZero() {
		return Time{}
	}
	return Time{at.UnixMicro(), true}
}

// Why it is not known when the slots of a run are.
var (
	errNoFacts    = errors.New("the run has no facts of a relay with a time")
	errOneSlot    = errors.New("the run has facts of one slot only, so that the length of a slot is not known")
	errPartSecond = errors.New("the slots of the run do not begin at whole seconds")
)

// RunNetwork is the network that a run had for itself: when its slot 0 began, and how long a slot
// is. Facts have their time, and how far into which slot that is. Without a length of slots it is
// what the facts of two slots say.
func RunNetwork(in io.Reader, slot time.Duration) (Network, error) {
	var first, last *slotStart
	err := eachLine(in, func(_ int64, line string) error {
		s := startOfFact(line)
		if s == nil {
			return nil
		}
		if first == nil {
			first = s
		}
		last = s
		if first.slot != last.slot {
			return errFound
		}
		return nil
	})
	switch {
	case err != nil && !errors.Is(err, errFound):
		return Network{}, fmt.Errorf("look for the slots of the run: %w", err)
	case first == nil:
		return Network{}, errNoFacts
	case slot == 0 && first.slot == last.slot:
		return Network{}, errOneSlot
	case slot == 0:
		apart := last.at.Sub(first.at) / time.Duration(last.slot-first.slot)
		slot = apart.Round(time.Second)
	}
	genesis := first.at.Add(-time.Duration(first.slot) * slot)
	whole := genesis.Round(time.Second)
	if off := genesis.Sub(whole).Abs(); off > time.Millisecond || slot < time.Second || slot%time.Second != 0 {
		return Network{}, errPartSecond
	}
	return Network{fmt.Sprintf("run-%d", whole.Unix()), whole.Unix(), int64(slot / time.Second)}, nil
}

var errFound = errors.New("found")

// slotStart is when a slot began, to the millisecond.
type slotStart struct {
	slot int64
	at   time.Time
}

// startOfFact is nil for facts without a time.
func startOfFact(line string) *slotStart {
	if !strings.Contains(line, `"fact":`) {
		return nil
	}
	var r struct {
		Slot    int64  `json:"slot"`
		SlotMs  int64  `json:"slot_ms"`
		Subject string `json:"subject"`
		Fact    struct {
			At         time.Time `json:"at"`
			ReceivedAt time.Time `json:"received_at"`
		} `json:"fact"`
	}
	switch err := json.Unmarshal([]byte(line), &r); {
	case err != nil:
		return nil // it is a bad row, which the import tells
	case r.Subject != scenarios.SubmissionJudged && r.Subject != scenarios.TopChanged &&
		r.Subject != scenarios.PayloadDelivered:
		return nil
	}
	at := r.Fact.ReceivedAt
	if at.IsZero() {
		at = r.Fact.At
	}
	if at.IsZero() || r.Slot < 0 || r.Slot >= maxSlot {
		return nil
	}
	return &slotStart{r.Slot, at.Truncate(time.Millisecond).Add(-time.Duration(r.SlotMs) * time.Millisecond)}
}
