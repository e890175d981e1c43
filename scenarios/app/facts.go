package app

import (
	"encoding/json"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/scenarios"
)

// book records the facts of a run, in the order in which they arrive. It is safe for concurrent
// use.
type book struct {
	spec  *eth.Spec
	now   func() time.Time // chain time
	began time.Time
	names map[phase0.BLSPubKey]string // builders by key
	// relayOf returns the relay of which a service is an instance.
	relayOf func(service string) string
	tell    func(scenarios.Record) // shows progress; may be nil

	mu    sync.Mutex // guards the fields below
	out   io.Writer
	facts []scenarios.Record
	err   error
}

// add records a fact. A zero at means now. If the record names no slot, its slot is the one of at.
func (b *book) add(r scenarios.Record, at time.Time, fact any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if at.IsZero() {
		at = b.now()
	}
	if r.Slot == 0 {
		r.Slot = int(b.spec.SlotAt(at)) // a run has few slots, so this fits
	}
	r.SlotMs = at.Sub(b.spec.SlotStart(phase0.Slot(r.Slot))).Milliseconds()
	r.WallNs = time.Since(b.began).Nanoseconds()
	r.Seq = len(b.facts) + 1
	if fact != nil {
		raw, err := json.Marshal(fact)
		if err != nil {
			b.fail(fmt.Errorf("encode %s: %w", r.Subject, err))
		}
		r.Fact = raw
	}
	b.facts = append(b.facts, r)
	line, err := json.Marshal(r)
	if err == nil {
		_, err = b.out.Write(append(line, '\n'))
	}
	if err != nil {
		b.fail(fmt.Errorf("write facts: %w", err))
	}
	if b.tell != nil {
		b.tell(r)
	}
}

func (b *book) fail(err error) {
	if b.err == nil {
		b.err = err
	}
}

// all returns the facts so far, and the first failure to record one.
func (b *book) all() ([]scenarios.Record, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]scenarios.Record{}, b.facts...), b.err
}

// noteFailed remembers a failure, with which the run ends.
func (b *book) noteFailed(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.fail(err)
}

// observe returns a function that records the facts of a relay's journal.
func (b *book) observe(relayName string) func(subject string, raw json.RawMessage) {
	return func(subject string, raw json.RawMessage) {
		fact, err := decodeRelay(subject, raw)
		if err != nil {
			b.noteFailed(err)
			return
		}
		r := scenarios.Record{Actor: relayName, Subject: subject}
		var at time.Time
		switch f := fact.(type) {
		case relay.SubmissionJudged:
			at, r.ID, r.Counts = f.ReceivedAt, f.Refusal, !f.EligibleAt.IsZero()
			b.trace(&r, f.Trace)
		case relay.TopChanged:
			at = f.At
			b.trace(&r, f.Trace)
		case relay.HeaderServed:
			r.Slot, r.ValueWei, r.About = int(f.Slot), decimal(f.ValueWei), b.bidder(relayName, f.Slot, f.BlockHash)
			at = f.At
			for i := range f.Count() - 1 { // one fact may stand for several answers: each becomes a record, at even times
				b.add(r, f.At.Add(f.Until.Sub(f.At)*time.Duration(i)/time.Duration(f.Count()-1)), raw)
				at = f.Until
			}
		case relay.PayloadDelivered:
			at = f.At
			b.trace(&r, f.Trace)
		case relay.PayloadRefused:
			at, r.ID, r.Slot = f.At, f.Refusal, int(f.Slot)
		case relay.PayloadWithheld:
			at, r.ID, r.Slot, r.About = f.At, f.Reason, int(f.Slot), b.names[f.Builder]
		case relay.RegistrationStored:
			at = f.At
		case relay.BuilderDemoted:
			at = f.At
			b.trace(&r, f.Trace)
			r.ID = f.Rule
		}
		b.add(r, at, raw)
	}
}

func (b *book) trace(r *scenarios.Record, t relay.Trace) {
	r.Slot, r.About, r.ValueWei, r.Fork = int(t.Slot), b.names[t.Builder], decimal(t.ValueWei),
		b.spec.ForkAt(t.Slot).String()
}

// keyOf returns the key of a builder.
func (b *book) keyOf(name string) (key phase0.BLSPubKey) {
	for one, of := range b.names {
		if of == name {
			return one
		}
	}
	return key
}

// bidder finds a block's builder among the earlier facts of the relay's instances, because the fact
// of a served header does not name it.
func (b *book) bidder(relayName string, slot phase0.Slot, hash phase0.Hash32) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	for i := len(b.facts) - 1; i >= 0; i-- {
		one := b.facts[i]
		if one.Subject != scenarios.SubmissionJudged || one.Slot != int(slot) ||
			b.relayOf(one.Actor) != b.relayOf(relayName) {
			continue
		}
		var judged relay.SubmissionJudged
		if json.Unmarshal(one.Fact, &judged) == nil && judged.BlockHash == hash {
			return one.About
		}
	}
	return ""
}

func decimal(value *uint256.Int) string {
	if value == nil {
		return ""
	}
	return value.Dec()
}
