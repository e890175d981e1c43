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

// RunFacts are the facts of a run folder that a scenario has written: what its relays, proposers,
// builders, the chain and the bundle RPC tell that these tables are about. Other facts are passed
// over.
var RunFacts = Format{
	Name: "run", Place: Line,
	Doc: "`facts.ndjson` of a run folder: what relays judged, also what they refused, and how long it took; leading " +
		"bids, served headers and delivered payloads; requests, as relays and proposers tell them; what the chain has; " +
		"and orders",
	begins: func(head []byte) bool { return bytes.HasPrefix(head, []byte(`{"seq":`)) },
	Read:   readFacts,
}

// factReader makes rows of facts. It remembers what later facts need.
type factReader struct {
	from   Origin
	worths worths
	orders orderBook
}

// readersOf are for subjects the rows that a fact is, or that it only leaves something behind for
// later rows.
var readersOf = map[string]func(*factReader, *scenarios.Record) ([]any, error){
	scenarios.SubmissionJudged: (*factReader).submission,
	scenarios.TopChanged:       (*factReader).top,
	scenarios.HeaderServed:     (*factReader).header,
	scenarios.PayloadDelivered: (*factReader).delivered,
	scenarios.PayloadRefused:   (*factReader).payloadRefused,
	scenarios.HeaderReceived:   (*factReader).request,
	scenarios.NoHeader:         (*factReader).request,
	scenarios.PayloadReceived:  (*factReader).request,
	scenarios.BlockTaken:       (*factReader).request,
	scenarios.RequestRefused:   (*factReader).request,
	scenarios.RequestFailed:    (*factReader).request,
	scenarios.SlotFinished:     (*factReader).slot,
	scenarios.BidMade:          (*factReader).made,
	scenarios.OrderAccepted:    (*factReader).orderAccepted,
	scenarios.OrderSimulated:   (*factReader).orderSimulated,
	scenarios.HintSeen:         (*factReader).orderShared,
	scenarios.OrderSent:        (*factReader).orderSent,
	scenarios.OrderReturned:    (*factReader).orderReturned,
	scenarios.OrderEnded:       (*factReader).orderEnded,
	scenarios.OrderCancelled:   (*factReader).orderEnded,
	scenarios.BundleLanded:     (*factReader).orderEnded,
	scenarios.BackrunLanded:    (*factReader).orderEnded,
	scenarios.PrivateLanded:    (*factReader).orderEnded,
	scenarios.RefundCredited:   (*factReader).refundCredited,
	scenarios.RefundPaid:       (*factReader).refundPaid,
	scenarios.BlockReverted:    (*factReader).blockReverted,
}

// checked is a row that can say why it cannot be one.
type checked interface{ check(n Network) error }

func readFacts(in io.Reader, from Origin, to Sink) error {
	r, last := factReader{from: from}, int64(0)
	err := eachLine(in, func(at int64, line string) error {
		last = at
		rows, err := r.rows(line)
		if err != nil {
			return to.Bad(at, line, err)
		}
		for _, row := range rows {
			if err := to.Row(at, row); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return r.orders.put(last, from.Network, to)
}

// rows are the rows that a line is: all of them, or an error.
func (r *factReader) rows(line string) ([]any, error) {
	var record scenarios.Record
	if err := json.Unmarshal([]byte(line), &record); err != nil {
		return nil, fmt.Errorf("not a fact: %w", err)
	}
	read := readersOf[record.Subject]
	if read == nil {
		return nil, nil
	}
	rows, err := read(r, &record)
	for _, row := range rows {
		if err == nil {
			err = row.(checked).check(r.from.Network)
		}
	}
	return rows, err
}

// relayOf is the relay of which a service is an instance.
func (r *factReader) relayOf(service string) Text {
	return Text(cmp.Or(r.from.Instances[service], service, r.from.Relay))
}

func (r *factReader) submission(record *scenarios.Record) ([]any, error) {
	var f relay.SubmissionJudged
	if err := decodeFact(record, &f); err != nil {
		return nil, err
	}
	bid, err := bidOfTrace(f.Trace, Submission, r.relayOf(record.Actor))
	if err != nil {
		return nil, err
	}
	bid.ReceivedAt, bid.ReceivedUnitUs, bid.EligibleAt = timeOf(f.ReceivedAt), Int{1, true}, timeOf(f.EligibleAt)
	// A block that is not verified was refused, or not executed: nobody has found it invalid.
	bid.Verified, bid.Optimistic = Bool{f.Verified, f.Verified}, Bool{f.Optimistic, true}
	bid.Cancellable, bid.Sequence = Bool{f.Cancellable, true}, Int{int64(f.Sequence), f.Sequence > 0}
	bid.Refusal, bid.WorthWei = Text(f.Refusal), r.worths.of(madeBlock{f.BlockHash, f.Builder})
	if err := checkSequence(f.Sequence); err != nil {
		return nil, err
	}
	return append([]any{bid}, stagesOf(&f.Stages, Stage{
		Slot: bid.Slot, BeganAt: bid.ReceivedAt, Source: "run", Relay: bid.Relay, Request: SubmissionStages,
		BlockHash: bid.BlockHash, Builder: bid.Builder,
	})...), nil
}

func (r *factReader) top(record *scenarios.Record) ([]any, error) {
	var f relay.TopChanged
	if err := decodeFact(record, &f); err != nil || f.ValueWei == nil || f.ValueWei.IsZero() {
		return nil, err // no bid leads any more
	}
	bid, err := bidOfTrace(f.Trace, TopStream, r.relayOf(record.Actor))
	if err != nil {
		return nil, err
	}
	bid.ObservedAt = timeOf(f.At)
	return []any{bid}, nil
}

// header is a bid that was served, and the request that it was the answer to.
func (r *factReader) header(record *scenarios.Record) ([]any, error) {
	var f relay.HeaderServed
	if err := decodeFact(record, &f); err != nil {
		return nil, err
	}
	value, err := weiOf(f.ValueWei)
	if err != nil {
		return nil, err
	}
	bid := &Bid{
		Source: "run", Kind: HeaderPoll, Relay: r.relayOf(record.Actor), Slot: Int{int64(f.Slot), true},
		ObservedAt: timeOf(f.At), BlockHash: Hash{f.BlockHash, true}, Builder: Key{f.Builder, true},
		Proposer: Key{f.Proposer, true}, FeeRecipient: Address{f.FeeRecipient, f.FeeRecipient != relay.FeeRecipient{}},
		ValueWei: value,
	}
	return []any{bid, &Request{
		Slot: bid.Slot, ReceivedAt: bid.ObservedAt, Source: "run", Kind: HeaderRequest, Relay: bid.Relay,
		Proposer: bid.Proposer, Outcome: Served, BlockHash: bid.BlockHash, Builder: bid.Builder, ValueWei: value,
		Times: Int{int64(f.Count()), true},
	}}, nil
}

// deliveredAt tells whether a fact says when the request came.
type deliveredAt struct {
	relay.PayloadDelivered

	MsIntoSlot *int64 `json:"ms_into_slot"`
}

// delivered is a delivered payload, the request for it, and the stages of that.
func (r *factReader) delivered(record *scenarios.Record) ([]any, error) {
	var f deliveredAt
	if err := decodeFact(record, &f); err != nil {
		return nil, err
	}
	d, err := deliveryOfFact(&f.PayloadDelivered, r.relayOf(record.Actor))
	if err != nil || f.MsIntoSlot == nil {
		return []any{d}, err
	}
	came, err := r.from.Network.momentIn(int64(f.Slot), *f.MsIntoSlot)
	if err != nil {
		return nil, fmt.Errorf("ms_into_slot: %w", err)
	}
	rows := []any{d, &Request{
		Slot: d.Slot, ReceivedAt: came, Source: "run", Kind: PayloadRequest, Relay: d.Relay, Proposer: d.Proposer,
		Outcome: Served, BlockHash: d.BlockHash, Builder: d.Builder, ValueWei: d.ValueWei, Times: Int{1, true},
	}}
	return append(rows, stagesOf(&f.Stages, Stage{
		Slot: d.Slot, BeganAt: came, Source: "run", Relay: d.Relay, Request: PayloadStages, BlockHash: d.BlockHash,
		Builder: d.Builder,
	})...), nil
}

func decodeFact(r *scenarios.Record, into any) error {
	if len(r.Fact) == 0 {
		return fmt.Errorf("%s without what its actor wrote", r.Subject)
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
