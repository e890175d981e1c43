package app

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"slices"
	"testing"
	"time"

	builderv1 "github.com/attestantio/go-builder-client/api/v1"
	"golang.org/x/sync/errgroup"

	"github.com/gavel-relay/gavel/internal/clock"
	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/bls"
	"github.com/gavel-relay/gavel/internal/serve/servetest"
	"github.com/gavel-relay/gavel/relay"
)

const (
	registeringValidators = 16_000 // nearly as many as may wait to be verified
	registrationsARequest = 500
	registrationClients   = 4
)

// BenchmarkRegistrations is how many registrations a second a whole relay takes over loopback, in
// JSON, 500 a request, beside a bare handler that reads the body, in turn. Keys and signatures are
// real and made beforehand.
//
//   - unchanged: what is held, byte for byte, again and again.
//   - renewed: what is held, with a newer timestamp and signature, of each validator once, as
//     clients do that sign anew each epoch. They are answered
//     at once and verified behind that, on half of the processors: verified/s is to the end of it.
func BenchmarkRegistrations(b *testing.B) {
	h := registering(b)
	b.Run("unchanged", h.unchanged)
	b.Run("renewed", h.renewed)
}

// registeringRelay is a relay that answers over loopback, and validators that have registered with
// it.
type registeringRelay struct {
	app       *App
	ours      string // address
	keys      []*bls.SecretKey
	timestamp time.Time // of what is held
	requests  [][]byte  // of what is held
}

func registering(b *testing.B) *registeringRelay {
	b.Helper()
	h := &registeringRelay{keys: make([]*bls.SecretKey, registeringValidators), timestamp: benchGenesis}
	identities := slices.Clone(manyIdentities)
	for i := range h.keys {
		h.keys[i] = bls.Derive("registering", uint64(i))
		identities = appendIdentity(identities, emulatedValidators+benchRegistrations+i, h.keys[i].PublicKey())
	}
	var err error
	h.app, err = New(b.Context(), Config{
		BeaconURLs: []string{emulated(b, identities)}, Key: bls.Derive("relay", 0), Validator: nobodyExecutes{},
		Limits: Limits{PerSecond: -1}, Clock: clock.NewStepped(benchGenesis.Add(6 * time.Second)),
	})
	if err != nil {
		b.Fatal(err)
	}
	listener := listening(b)
	h.ours = listener.Addr().String()
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- h.app.Serve(ctx, listener) }()
	b.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			b.Error(err)
		}
		if err := h.app.Close(); err != nil {
			b.Error(err)
		}
	})
	h.requests = h.signed(b, h.timestamp)
	servetest.Send(b, h.ours, registrationClients, "", servetest.Each(h.requests))
	h.await(b)
	return h
}

// signed are the requests of all validators, signed at a time.
func (h *registeringRelay) signed(b *testing.B, at time.Time) [][]byte {
	b.Helper()
	requests := make([][]byte, len(h.keys)/registrationsARequest)
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i := range requests {
		group.Go(func() error {
			list := make([]*relay.SignedRegistration, registrationsARequest)
			for j := range list {
				key := h.keys[i*registrationsARequest+j]
				message := &builderv1.ValidatorRegistration{
					FeeRecipient: benchRecipient, GasLimit: 60_000_000, Timestamp: at, Pubkey: key.PublicKey(),
				}
				root, err := message.HashTreeRoot()
				if err != nil {
					return err
				}
				list[j] = &relay.SignedRegistration{Message: message,
					Signature: key.Sign(eth.SigningRoot(root, h.app.Spec().BuilderDomain()))}
			}
			body, err := json.Marshal(list)
			requests[i] = append(fmt.Appendf(nil,
				"POST /eth/v1/builder/validators HTTP/1.1\r\nHost: relay\r\nContent-Type: application/json\r\n"+
					"User-Agent: mev-boost/v1.9\r\nContent-Length: %d\r\n\r\n", len(body)), body...)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		b.Fatal(err)
	}
	return requests
}

// await waits until the relay shows what was signed last.
func (h *registeringRelay) await(b *testing.B) {
	b.Helper()
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for deadline := time.Now().Add(time.Minute); ; <-ticker.C {
		if !slices.ContainsFunc(h.keys, func(key *bls.SecretKey) bool {
			held := h.app.registry.Newest(key.PublicKey())
			return held == nil || !held.Message.Timestamp.Equal(h.timestamp)
		}) {
			return
		}
		if time.Now().After(deadline) {
			b.Fatal("not all registrations are held")
		}
	}
}

func (h *registeringRelay) unchanged(b *testing.B) {
	const rounds = 10
	requests := slices.Repeat(h.requests, max(1, b.N/rounds/len(h.requests)))
	h.compare(b, rounds, requests)
}

func (h *registeringRelay) renewed(b *testing.B) {
	h.timestamp = h.timestamp.Add(time.Second)
	renewals := h.signed(b, h.timestamp)
	began := time.Now()
	h.compare(b, 1, renewals)
	h.await(b)
	b.ReportMetric(registeringValidators/time.Since(began).Seconds(), "verified/s")
}

// compare sends the requests of each round to the relay and to the bare handler in turn, over
// connections that have been used before.
func (h *registeringRelay) compare(b *testing.B, rounds int, requests [][]byte) {
	bare := serving(b, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.ReadFull(r.Body, make([]byte, r.ContentLength)); err != nil {
			w.WriteHeader(http.StatusBadRequest)
		}
	}))
	ours, theirs := h.spend(b, h.ours), h.spend(b, bare)
	for range rounds {
		theirs.add(b, requests)
		ours.add(b, requests)
	}
	entries := float64(rounds * len(requests) * registrationsARequest)
	b.ReportMetric(entries/ours.wall.Seconds(), "entries/s")
	b.ReportMetric(float64(theirs.wall)/float64(ours.wall), "of-bare")
	b.ReportMetric(float64(ours.processor.Nanoseconds())/entries, "cpu-ns/entry") // of client and relay
	b.ReportMetric(0, "ns/op")                                                    // says nothing
}

// spent is what requests to one address have taken.
type spent struct {
	clients         servetest.Clients
	wall, processor time.Duration
}

// spend opens connections and sends over them what is held.
func (h *registeringRelay) spend(b *testing.B, address string) *spent {
	b.Helper()
	s := &spent{clients: servetest.Dial(b, address, registrationClients)}
	b.Cleanup(s.clients.Close)
	s.clients.Send(b, "", servetest.Each(h.requests))
	return s
}

func (s *spent) add(b *testing.B, requests [][]byte) {
	b.Helper()
	before := processorTime(b)
	s.wall += s.clients.Send(b, "", servetest.Each(requests))
	s.processor += processorTime(b) - before
}
