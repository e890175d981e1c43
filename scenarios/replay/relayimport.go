package replay

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/gavel-relay/gavel/internal/clock"
	"github.com/gavel-relay/gavel/internal/run"
	"github.com/gavel-relay/gavel/scenarios/dataset"
)

// The lists of a relay, and how many rows they have at most by relay-specs and deployed relays.
const (
	deliveredList = "proposer_payload_delivered"
	receivedList  = "builder_blocks_received"
	maxDelivered  = 200
	maxReceived   = 500
	// manyPayloads are more of one slot than a relay delivers: some relays give fewer rows than are
	// asked for, and a slot that fills an answer may go on.
	manyPayloads = 20
	// maxRows bounds the rows of an answer in memory.
	maxRows = 20_000
)

// commitAnswers is after how many answers an import from a relay is committed at the latest, since
// they come slowly.
const commitAnswers = 100

// Why a relay's answers cannot be what was asked for.
var (
	errNotAsked  = errors.New("the answer has rows that were not asked for")
	errFullSlot  = errors.New("one slot fills the answer, so that it may have more payloads")
	errManyRows  = fmt.Errorf("the answer has more than %d rows", maxRows)
	errMayBeMore = fmt.Errorf("the relay lists %d bids of the slot, the most of an answer: there may be more",
		maxReceived)
	errNotOver    = errors.New("the last slot is not over")
	errNoSlots    = errors.New("a relay's lists are long: give --slots FROM-TO")
	errNoAddress  = errors.New("give the address of the relay, such as https://relay.example")
	errNoDuration = errors.New("the time between two requests is less than 0")
)

// FromRelay says what to ask relays for.
type FromRelay struct {
	// From and To are the first and the last slot. If To is less than From nothing was said.
	From, To int64
	// Pace is the least time from one request to the next.
	Pace  time.Duration
	Clock clock.Clock
}

// IsRelay tells whether an argument of an import is the address of a relay.
func IsRelay(path string) bool {
	return strings.HasPrefix(path, "http://") || strings.HasPrefix(path, "https://")
}

// CheckRelay says what is wrong with the address of a relay, or with what it is to be asked for.
func CheckRelay(path string, n dataset.Network, f FromRelay) error {
	address, err := url.Parse(path)
	switch {
	case err != nil || address.Host == "" || address.RawQuery != "" || address.Fragment != "" ||
		strings.Contains(address.Path, "/relay/v1"):
		return run.Usage(fmt.Errorf("import %q: %w", path, errNoAddress))
	case f.To < f.From || f.From < 0 || f.Clock == nil:
		return run.Usage(fmt.Errorf("import %q: %w", path, errNoSlots))
	case f.Pace < 0:
		return run.Usage(errNoDuration)
	}
	end := time.Unix(n.GenesisTime, 0).Add(time.Duration(f.To+1) * time.Duration(n.SlotSeconds) * time.Second)
	if f.To > maxRelaySlot || end.After(f.Clock.Now()) {
		return run.Usage(fmt.Errorf("import slot %d of %s: %w", f.To, n.Name, errNotOver))
	}
	return nil
}

// maxRelaySlot keeps the arithmetic of times from overflow.
const maxRelaySlot = 1 << 28

// ParseSlots reads FROM-TO, or one slot.
func ParseSlots(text string) (from, to int64, err error) {
	first, last, isRange := strings.Cut(text, "-")
	if !isRange {
		last = first
	}
	from, err1 := strconv.ParseInt(first, 10, 64)
	to, err2 := strconv.ParseInt(last, 10, 64)
	if err1 != nil || err2 != nil || from < 0 || to < from {
		return 0, 0, fmt.Errorf("slots %q: write them as FROM-TO, such as 7567001-7567100", text)
	}
	return from, to, nil
}

// relayImport imports a relay's lists. Its place in them is a number, so that a killed import goes
// on: first come the delivered payloads from the last slot down to the first, then the received
// bids from the first slot up.
type relayImport struct {
	*importing
	asker *asker
	batch *batch
	name  string // of the relay, for its rows
	// answers were read since the last commit.
	answers int
}

// relay imports from a relay. What is wrong with the relay is a result.
func (i *importing) relay(path string) error {
	f := i.options.FromRelay
	if err := CheckRelay(path, i.options.Network, f); err != nil {
		return err
	}
	address, err := url.Parse(path)
	if err != nil {
		return run.Usage(fmt.Errorf("import %q: %w", path, errNoAddress))
	}
	address.User = nil
	base := strings.TrimSuffix(address.String(), "/")
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %d %d", base, f.From, f.To))
	in := i.catalogue.input(hex.EncodeToString(sum[:8]), fmt.Sprintf("%s slots %d-%d", base, f.From, f.To))
	if in.Done {
		i.results = append(i.results, Result{Input: in, Before: true})
		return nil
	}
	failureBefore := in.Failure
	in.Format, in.Failure, in.Relay = dataset.DataAPI.Name, "", i.options.Relay
	r := &relayImport{importing: i, asker: newAsker(address, f.Clock, f.Pace), name: i.options.Relay}
	if r.name == "" {
		r.name = address.Hostname()
	}
	r.batch = &batch{
		catalogue: i.catalogue, input: in, place: "answer", limit: i.options.BatchRows, from: in.At, told: i.printRows,
		stopped: i.ctx.Err, held: true, at: in.At,
	}
	failure, err := r.all(in.At)
	if err = errors.Join(err, r.batch.settle()); err != nil {
		return err
	}
	stopped := i.ctx.Err()
	switch {
	case stopped != nil: // what has come is kept
	case failure != nil:
		in.Failure = failure.Error()
	default:
		in.Done = true
	}
	i.results = append(i.results, Result{Input: in})
	if in.At == r.batch.at && in.Failure == failureBefore && !in.Done { // it fails where it failed before
		return stopped
	}
	return errors.Join(r.batch.commit(), stopped)
}

// all asks for everything from a place on. Failure is the relay's, err the data set's.
func (r *relayImport) all(place int64) (failure, err error) {
	f := r.options.FromRelay
	slots := f.To - f.From + 1
	for place < slots {
		place, failure, err = r.delivered(place)
		if failure != nil || err != nil {
			return failure, err
		}
	}
	for ; place < 2*slots; place++ {
		if failure, err = r.received(f.From+place-slots, place+1); failure != nil || err != nil {
			return failure, err
		}
	}
	return nil, nil
}

// delivered asks for one page of delivered payloads, and returns the next place.
func (r *relayImport) delivered(place int64) (next int64, failure, err error) {
	f := r.options.FromRelay
	cursor := f.To - place
	a, failure := r.list(deliveredList, url.Values{
		"cursor": {strconv.FormatInt(cursor, 10)}, "limit": {strconv.Itoa(maxDelivered)},
	})
	if failure != nil {
		return place, failure, nil
	}
	lowest, rows := cursor, len(a.deliveries)
	for _, row := range a.deliveries { // they go down, by relay-specs
		if row.Slot.V > lowest {
			return place, fmt.Errorf("%s: %w: slot %d after slot %d", a.asked, errNotAsked, row.Slot.V, lowest), nil
		}
		lowest = row.Slot.V
	}
	switch {
	case len(a.bids) > 0:
		return place, fmt.Errorf("%s: %w: received bids", a.asked, errNotAsked), nil
	case rows == 0, lowest < f.From:
		next = f.To - f.From + 1
	case lowest == cursor && rows >= manyPayloads:
		return place, fmt.Errorf("%s: %w", a.asked, errFullSlot), nil
	case lowest == cursor:
		next = place + 1
	default: // a page may end within a slot, which is asked for again
		next = f.To - lowest
	}
	a.keep(func(slot int64) bool { return slot >= f.From })
	return next, nil, r.add(a, next)
}

// received asks for the bids of one slot.
func (r *relayImport) received(slot, next int64) (failure, err error) {
	a, failure := r.list(receivedList, url.Values{
		"slot": {strconv.FormatInt(slot, 10)}, "limit": {strconv.Itoa(maxReceived)},
	})
	if failure != nil {
		return failure, nil
	}
	for _, row := range a.bids {
		if row.Slot.V != slot {
			return fmt.Errorf("%s: %w: slot %d", a.asked, errNotAsked, row.Slot.V), nil
		}
	}
	if len(a.deliveries) > 0 {
		return fmt.Errorf("%s: %w: delivered payloads, or bids without a time", a.asked, errNotAsked), nil
	}
	if len(a.bids)+len(a.bad) == maxReceived {
		a.bad = append(a.bad, badRow{a.asked, errMayBeMore})
	}
	return nil, r.add(a, next)
}

// page is what an answer has, and what was asked.
type page struct {
	asked      string
	bids       []*dataset.Bid
	deliveries []*dataset.Delivery
	bad        []badRow
}

type badRow struct {
	text string
	why  error
}

// Row implements dataset.Sink.
func (a *page) Row(_ int64, row any) error {
	switch row := row.(type) {
	case *dataset.Bid:
		a.bids = append(a.bids, row)
	case *dataset.Delivery:
		a.deliveries = append(a.deliveries, row)
	default:
		return errNotAsked // these lists have nothing else
	}
	return a.checkSize()
}

// Bad implements dataset.Sink.
func (a *page) Bad(at int64, text string, why error) error {
	a.bad = append(a.bad, badRow{text, fmt.Errorf("%s: row %d: %w", a.asked, at, why)})
	return a.checkSize()
}

// Note implements dataset.Sink. Answers have none.
func (a *page) Note(string) error { return nil }

func (a *page) checkSize() error {
	if len(a.bids)+len(a.deliveries)+len(a.bad) > maxRows {
		return errManyRows
	}
	return nil
}

// keep leaves deliveries of other slots away.
func (a *page) keep(wanted func(slot int64) bool) {
	kept := a.deliveries[:0]
	for _, row := range a.deliveries {
		if wanted(row.Slot.V) {
			kept = append(kept, row)
		}
	}
	a.deliveries = kept
}

// list asks for a list and reads it.
func (r *relayImport) list(name string, query url.Values) (*page, error) {
	a := &page{asked: name + "?" + query.Encode()}
	raw, err := r.asker.ask(r.ctx, name, query)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", a.asked, err)
	}
	origin := dataset.Origin{Network: r.options.Network, Relay: r.name}
	if err := dataset.DataAPI.Read(bytes.NewReader(raw), origin, a); err != nil {
		return nil, fmt.Errorf("%s: %w: %w", a.asked, errNoList, err)
	}
	return a, nil
}

// add puts the rows of an answer into the batch, and says where the import goes on.
func (r *relayImport) add(a *page, next int64) error {
	for _, row := range a.bids {
		if err := r.batch.Row(next, row); err != nil {
			return err
		}
	}
	for _, row := range a.deliveries {
		if err := r.batch.Row(next, row); err != nil {
			return err
		}
	}
	for _, bad := range a.bad {
		if err := r.batch.Bad(next, bad.text, bad.why); err != nil {
			return err
		}
	}
	r.answers++
	r.batch.at = next
	if r.answers < commitAnswers && r.batch.rows < int64(r.batch.limit) && r.batch.bad.Len() < maxBadBytes {
		return nil
	}
	r.answers = 0
	if err := r.batch.handOver(); err != nil {
		return err
	}
	return r.ctx.Err()
}
