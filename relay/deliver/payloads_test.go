package deliver

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/relay/slots"
)

// escrow keeps payloads in memory, until it is gone, as no real one is on command. One goroutine
// uses it.
type escrow struct {
	gone bool
	kept map[relay.PayloadID]*relay.Contents
}

var errGone = errors.New("the escrow is gone")

func (e *escrow) Put(_ context.Context, contents *relay.Contents) error {
	e.kept[contents.ID()] = contents
	return nil
}

func (e *escrow) Get(_ context.Context, id relay.PayloadID) (*relay.Contents, error) {
	if e.gone {
		return nil, errGone
	}
	return e.kept[id], nil
}

func (e *escrow) Builders(_ context.Context, slot phase0.Slot, hash phase0.Hash32) (list []phase0.BLSPubKey, _ error) {
	if e.gone {
		return nil, errGone
	}
	for id := range e.kept {
		if id.Slot == slot && id.BlockHash == hash {
			list = append(list, id.Builder)
		}
	}
	return list, nil
}

func (e *escrow) Drop(context.Context, relay.PayloadID) error { return nil }

// newPayloads are the payloads that a relay has at hand, with an escrow behind them.
func newPayloads() (*slots.Payloads, *escrow) {
	behind := &escrow{kept: map[relay.PayloadID]*relay.Contents{}}
	return &slots.Payloads{Escrow: behind, Log: slog.New(slog.DiscardHandler)}, behind
}

func put(t *testing.T, s *slots.Payloads, contents *relay.Contents) {
	t.Helper()
	if err := s.Put(t.Context(), contents); err != nil {
		t.Fatal(err)
	}
}

// The escrow is gone after the header was served: the payload is delivered all the same, with the
// guard alone.
func TestDeliveryNeedsTheGuardAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newDeliverer(t)
		s, escrow := newPayloads()
		put(t, s, h.contents)
		s.Show(relay.Key{Slot: slot}, h.contents.Payload.BlockHash, h.contents.Trace.BuilderPubkey)
		s.Header(h.contents.ID())
		escrow.gone = true
		h.deliverer.Payloads = s
		contents, err := h.deliverer.Deliver(t.Context(), h.at(0), h.block(proposerKey, nil), true)
		if err != nil || contents == nil || len(h.published) != 1 {
			t.Errorf("%v, %d published", err, len(h.published))
		}
	})
}

// Several builders have put something under one block hash: what was signed is found, whether it is
// in memory or in the escrow; if it is not there, the answer says what is different.
func TestPayloadIsFoundByItsHeader(t *testing.T) {
	for name, memory := range map[string]bool{"in memory": true, "in the escrow": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newDeliverer(t)
				s, escrow := newPayloads()
				h.deliverer.Payloads = s
				impostor := func(builder byte) *relay.Contents {
					fake, trace, body := *h.contents, *h.contents.Trace, *h.contents.Payload
					trace.BuilderPubkey, body.StateRoot = phase0.BLSPubKey{builder}, [32]byte{builder}
					fake.Trace, fake.Payload = &trace, &body
					return &fake
				}
				all := []*relay.Contents{impostor(1), h.contents, impostor(2)}
				for _, contents := range all {
					put(t, s, contents)
					s.Header(contents.ID())
				}
				if !memory {
					s.Close(slot + 1)
				}
				contents, err := h.deliverer.Deliver(t.Context(), h.at(0), h.block(proposerKey, nil), true)
				if err != nil || contents == nil || contents.Payload.StateRoot != h.contents.Payload.StateRoot {
					t.Errorf("%v, %v", contents, err)
				}
				s.Close(slot + 1)
				delete(escrow.kept, h.contents.ID())
				_, err = h.deliverer.Deliver(t.Context(), h.at(0), h.block(proposerKey, nil), true)
				if refused := (*relay.Refused)(nil); !errors.As(err, &refused) || refused.ID != relay.PayloadHeaderMismatch.ID {
					t.Errorf("%v, want %s", err, relay.PayloadHeaderMismatch.ID)
				}
			})
		})
	}
}
