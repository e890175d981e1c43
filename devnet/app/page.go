package app

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/devnet/browser"
	"github.com/gavel-relay/gavel/devnet/display"
	"github.com/gavel-relay/gavel/devnet/timeline"
	"github.com/gavel-relay/gavel/internal/clock"
	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/serve"
	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/rpc"
)

// page shows the run to browsers. A nil page shows nothing.
type page struct {
	listener net.Listener
	board    *browser.Board
	spec     *eth.Spec
	clock    clock.Clock
	builders map[phase0.BLSPubKey]string // names by public key
}

// openPage opens the page's port. The board says where the parts of the network are.
func (l *lab) openPage() (*page, error) {
	listener, err := serve.Listen(net.JoinHostPort(host, strconv.Itoa(l.cfg.WebPort)))
	if err != nil {
		return nil, fmt.Errorf("web-port: %w", err)
	}
	about := timeline.About{Title: "gavel devnet", SlotMs: l.cfg.SlotDuration.Milliseconds(),
		Why: fmt.Sprintf("A network of %d validators and %d builders, %g times as fast as the wall at most. "+
			"Seed %d gives it again.", l.cfg.Validators, l.cfg.Builders, l.cfg.Speed, l.cfg.Seed)}
	for _, one := range l.endpoints() {
		about.Fields = append(about.Fields, timeline.Field{Name: one.Name, Text: one.URL, Link: one.URL})
	}
	return &page{listener: listener, board: browser.New(about), spec: l.network.Spec, clock: l.network.Clock,
		builders: l.builderNames()}, nil
}

func (p *page) url() string { return "http://" + p.listener.Addr().String() + "/" }

// serve answers browsers until the context ends. The caller must wait for that with over.
func (p *page) serve(ctx context.Context, log *slog.Logger) (over func()) {
	serving, stop := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := serve.Serve(serving, p.listener, p.board.Handler(), serve.Options{Log: log}); err != nil {
			log.Error("serve the page", "error", err)
		}
	}()
	return func() {
		stop()
		<-done
	}
}

// end says how the run ended.
func (p *page) end(sum display.Summary) { p.board.End("The run is over: " + sum.Verdict()) }

// miss counts a fact that could not be shown.
func (p *page) miss() {
	if p != nil {
		p.board.Miss()
	}
}

// relayFact shows a fact of the relay.
func (p *page) relayFact(fact relay.Fact) {
	if p == nil {
		return
	}
	f := timeline.Fact{Actor: "relay", Subject: fact.Subject(), Text: textOf(fact)}
	at := p.clock.Now()
	switch x := fact.(type) {
	case relay.SubmissionJudged:
		at, f.ID, f.Counts = x.ReceivedAt, x.Refusal, !x.EligibleAt.IsZero()
		p.trace(&f, &x.Trace)
	case relay.TopChanged:
		at = x.At
		p.trace(&f, &x.Trace)
	case relay.HeaderServed:
		at = x.At
		p.trace(&f, &relay.Trace{Slot: x.Slot, Builder: x.Builder, ValueWei: x.ValueWei})
	case relay.PayloadDelivered:
		at = x.At
		p.trace(&f, &x.Trace)
	case relay.PayloadRefused:
		at, f.Slot, f.ID = x.At, int(x.Slot), x.Refusal
	case relay.PayloadWithheld:
		at, f.Slot, f.ID = x.At, int(x.Slot), x.Reason
	case relay.BuilderDemoted:
		at, f.ID = x.At, x.Rule
		p.trace(&f, &x.Trace)
	}
	p.add(f, at)
}

func (p *page) trace(f *timeline.Fact, t *relay.Trace) {
	f.Slot, f.About, f.ValueWei = int(t.Slot), p.builders[t.Builder], decimal(t.ValueWei)
	f.Fork = p.spec.ForkAt(t.Slot).String()
}

// orderFact shows a fact of the bundle RPC.
func (p *page) orderFact(fact rpc.Fact) {
	if p == nil {
		return
	}
	f, at := timeline.Fact{Actor: "rpc", Subject: fact.Subject(), Text: textOf(fact)}, p.clock.Now()
	switch x := fact.(type) {
	case rpc.OrderAccepted:
		at = x.At
		if f.About = "user"; x.Order.Follows != 0 {
			f.About = "searcher"
		}
	case rpc.OrderEnded:
		at, f.ID, f.ValueWei = x.At, fmt.Sprint(x.State), decimal(x.ValueWei)
	case rpc.RefundCredited:
		at, f.ValueWei = x.At, decimal(x.AmountWei)
	case rpc.RefundPaid:
		at = x.At
	}
	p.add(f, at)
}

// finished shows how a slot ended.
func (p *page) finished(s display.Slot) {
	if p == nil {
		return
	}
	f := timeline.Fact{Slot: int(s.Number), Actor: "chain", Subject: timeline.SlotFinished, ID: "landed", About: s.Winner,
		ValueWei: decimal(s.TopWei), Fork: s.Fork.String(), Note: s.Note}
	if s.Payload != nil {
		f.Note = timeline.Votes(s.Payload.Full, s.Payload.Votes, s.Payload.Members)
	}
	switch {
	case s.Winner == "":
		f.ID = "missed"
	case s.Winner == display.Local:
		f.ID = "local"
	case s.Landed:
	case s.Delivered:
		f.ID = "orphaned"
	default:
		f.ID = "undelivered"
	}
	slot := phase0.Slot(s.Number)
	p.add(f, p.spec.SlotStart(slot+1).Add(p.spec.SlotDuration/2))
}

// add places a fact in its slot; one without is of the slot of its time.
func (p *page) add(f timeline.Fact, at time.Time) {
	if f.Slot == 0 {
		f.Slot = int(p.spec.SlotAt(at)) // a run has few slots, so this fits
	}
	f.SlotMs = at.Sub(p.spec.SlotStart(phase0.Slot(f.Slot))).Milliseconds()
	p.board.Add(f)
}

// textOf is a fact as its service writes it.
func textOf(fact any) string {
	raw, err := json.Marshal(fact)
	if err != nil {
		return err.Error() // the page goes on without it
	}
	return string(raw)
}

func decimal(value *uint256.Int) string {
	if value == nil {
		return ""
	}
	return value.Dec()
}
