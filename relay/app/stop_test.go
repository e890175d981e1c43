package app_test

import (
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/relay/app"
)

// A proposer who has signed a block when the relay is told to stop still gets its payload, and the
// stores that this needs close only then.
//
//	getPayload ─▶ published, the nodes hang      ┌─▶ accepted ─▶ v1 waits its delay ─▶ answered ─▶ stores close
//	                    stop ─▶ /readyz 503 ─▶ closed to new requests
func TestStopDrainsGetPayload(t *testing.T) {
	for _, path := range []string{v1Path, v2Path} {
		t.Run(strings.TrimPrefix(path, "/eth/"), func(t *testing.T) {
			folder := t.TempDir() // before the relay, which is closed before it is removed
			h := newRelay(t, eth.Fulu, relayOptions{configure: func(cfg *app.Config) {
				cfg.DataDir, cfg.RevealDelay, cfg.Limits.Linger = folder, time.Second, 300*time.Millisecond
			}})
			s := h.good(t)
			b := h.offered(t, s)
			arrived, accept := make(chan struct{}, 2), make(chan struct{})
			h.allAnswer(func(w http.ResponseWriter, _ *http.Request) {
				arrived <- struct{}{}
				<-accept
				w.WriteHeader(http.StatusOK)
			})
			defer h.passOn()
			release := sync.OnceFunc(func() { close(accept) })
			defer release()
			asked := h.goReveal(t, path, b)
			<-arrived

			stopped := make(chan error, 1)
			go func() { stopped <- h.stopRelay() }()
			poll(t, "balancers are told to leave", func() bool {
				return h.get(t, "/readyz", nil).status == http.StatusServiceUnavailable
			})
			h.wantTop(t, s) // whoever has not left yet is served
			poll(t, "the relay takes no more requests", func() bool {
				_, header := h.try(t.Context(), http.MethodGet, h.headerPath(), nil, nil)
				_, submission := h.try(t.Context(), http.MethodPost, submitPath, sszHeader(h.fork), s.ssz(t))
				return header != nil && submission != nil
			})
			select {
			case got := <-asked:
				t.Fatalf("answered before a node has taken the block: %s", got)
			case err := <-stopped:
				t.Fatalf("stopped before the payload was handed out: %v", err)
			default:
			}

			release()
			if path == v1Path {
				waiting := make(chan struct{})
				go func() { h.clock.waiters(h.spec.SlotStart(h.slot).Add(time.Second)); close(waiting) }()
				select {
				case <-waiting:
					h.into(time.Second)
				case got := <-asked:
					t.Fatalf("answered before its delay was over: %s", got)
				}
			}
			h.wantRevealed(t, path, <-asked, s)
			if err := <-stopped; err != nil {
				t.Errorf("stop: %v", err)
			}
			h.wantKept(t, s)
		})
	}
}

// wantKept starts the relay again and wants it to know that the block was delivered: the journal
// was open until all was said.
func (h *relayUnderTest) wantKept(t *testing.T, s *submission) {
	t.Helper()
	h.startRelay(t)
	poll(t, "the delivery is listed", func() bool { return h.deliveries(t) == 1 })
	poll(t, "the relay knows the slot's attributes", func() bool {
		return h.submit(t, s).status != http.StatusServiceUnavailable
	})
	h.submit(t, s).wantRefusal(t, relay.SubmissionDelivered, "")
}
