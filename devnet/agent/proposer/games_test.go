package proposer

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	builderv1 "github.com/attestantio/go-builder-client/api/v1"
	"github.com/attestantio/go-eth2-client/api"
	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/devnet"
	"github.com/gavel-relay/gavel/internal/clock"
	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/bls"
	"github.com/gavel-relay/gavel/relay/client"
)

// diary is an honest sidecar that writes down what it is asked, at chain time against the slot.
type diary struct {
	clock clock.Clock
	start time.Time
	good  *api.VersionedSignedBlindedBeaconBlock
	key   *bls.SecretKey
	spec  *eth.Spec

	mu    sync.Mutex // guards lines
	lines []string
}

func (d *diary) note(what string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lines = append(d.lines, fmt.Sprintf("%v %s", d.clock.Now().Sub(d.start), what))
}

func (d *diary) Register(context.Context, []*builderv1.SignedValidatorRegistration) error {
	d.note("register")
	return nil
}

func (d *diary) Header(context.Context, phase0.Slot, phase0.Hash32, phase0.BLSPubKey) (*Bid, error) {
	d.note("header")
	return &Bid{}, nil
}

func (d *diary) Submit(_ context.Context, block *api.VersionedSignedBlindedBeaconBlock) error {
	message := block.Deneb.Message
	what := "block"
	switch {
	case message.StateRoot != d.good.Deneb.Message.StateRoot:
		what = "spoiled block"
	case message.Body.Graffiti != d.good.Deneb.Message.Body.Graffiti:
		what = "second block"
	}
	root, err := message.HashTreeRoot()
	if err != nil {
		return err
	}
	if what != "block" && bls.Verify(d.key.PublicKey(), eth.SigningRoot(root, d.spec.ProposerDomain(1)),
		block.Deneb.Signature) != nil {
		what += ", signed by nobody"
	}
	d.note(what)
	return nil
}

// Each row is a conduct, and what relays are asked then, at chain time against the slot.
func TestGames(t *testing.T) {
	a := newAuction(t)
	good := blindedFor(t, &Bid{Versioned: a.offer(t, 5, a.low)})
	key := bls.Derive("validator", 0)
	for _, c := range []struct {
		name    string
		conduct Conduct
		want    string
	}{
		{"honest", Conduct{}, "0s header, 0s block"},
		{"local", Conduct{Local: true}, "0s block"}, // the validator would not have asked for it
		{"late", Conduct{RequestAt: time.Second, SubmitAt: 3 * time.Second}, "1s header, 3s block"},
		{"often", Conduct{Requests: 3}, "0s header, 100ms header, 200ms header, 200ms block"},
		{"silent", Conduct{Silent: true}, "0s header"},
		{"unbundling", Conduct{Unbundle: true}, "0s header, 0s spoiled block"},
		{"replaying", Conduct{Replay: true}, "0s header, 0s block, 0s block, 0s block"},
		{"equivocating", Conduct{Equivocate: true}, "0s header, 0s block, 0s second block"},
		{"equivocating later", Conduct{Equivocate: true, EquivocateAt: 4 * time.Second},
			"0s header, 0s block, 4s second block"},
	} {
		start := a.spec.SlotStart(1)
		d := &diary{clock: clock.NewLeap(start, start.Add(time.Hour), nil), start: start, good: good, key: key,
			spec: a.spec}
		games := &Games{
			Honest: d, Strategy: func(phase0.Slot) Conduct { return c.conduct }, Spec: a.spec, Clock: d.clock,
			Keys: map[phase0.ValidatorIndex]*bls.SecretKey{0: key},
		}
		if _, err := games.Header(t.Context(), 1, a.parent, phase0.BLSPubKey{}); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if err := games.Submit(t.Context(), good); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if got := strings.Join(d.lines, ", "); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// A storm is the same registrations again and again.
func TestRegistrationStorm(t *testing.T) {
	d := &diary{clock: clock.Real{}}
	if err := (&Games{Honest: d, Storm: 40, Log: slog.New(slog.DiscardHandler)}).Register(t.Context(), nil); err != nil ||
		len(d.lines) != 41 {
		t.Errorf("%d registrations, %v", len(d.lines), err)
	}
}

// What a witness tells of requests for headers and payloads has the moment at which they were sent,
// and what was asked and served.
func TestWitnessOfAggregator(t *testing.T) {
	a := newAuction(t)
	var told []devnet.Event
	r := &relay{name: "relay", bid: a.offer(t, 5, a.low)}
	at := clock.NewStepped(a.spec.SlotStart(1).Add(time.Second))
	c, err := client.New("http://relay", client.Options{JSON: true, HTTP: &http.Client{Transport: &Witness{
		RoundTripper: memory{r.handler()}, Relay: "relay-1", Clock: at, Tell: func(e devnet.Event) { told = append(told, e) },
	}}})
	if err != nil {
		t.Fatal(err)
	}
	s := &Aggregator{Spec: a.spec, Relays: []Relay{{Client: c, Pubkey: relayKey.PublicKey()}}}
	proposer := phase0.BLSPubKey{7}
	ask := func() *Bid {
		bid, _ := s.Header(t.Context(), 1, a.parent, proposer)
		return bid
	}
	block := blindedFor(t, ask())
	if err := s.Submit(t.Context(), block); err != nil {
		t.Error(err)
	}
	s.V1 = true
	_ = s.Submit(t.Context(), block) // it reveals nothing
	r.bid = nil
	ask()
	r.status = http.StatusServiceUnavailable
	ask()
	header := devnet.RelayRequest{Kind: "header", Slot: 1, SentAt: at.Now(), Proposer: proposer}
	served, payload := header, devnet.RelayRequest{Kind: "payload", Slot: 1, SentAt: at.Now(),
		BlockHash: a.low.Payload.BlockHash}
	served.BlockHash, served.ValueWei = a.low.Payload.BlockHash, uint256.NewInt(5)
	want := []devnet.Event{
		{Subject: "header_received", Slot: 1, Fact: served}, {Subject: "block_taken", Fact: payload},
		{Subject: "request_refused", Status: http.StatusBadRequest, Fact: payload},
		{Subject: "no_header", Slot: 1, Fact: header},
		{Subject: "request_refused", Slot: 1, Status: http.StatusServiceUnavailable, Fact: header},
	}
	for i := range want {
		want[i].At = "relay-1"
	}
	if !reflect.DeepEqual(told, want) {
		t.Errorf("told\n%+v\nwant\n%+v", told, want)
	}
}

// A witness tells what a relay answers, and leaves the answer whole.
func TestWitness(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/eth/v1/builder/header/7/0x/0x", "/eth/v1/builder/validators", "/eth/v1/builder/blinded_blocks":
		case "/eth/v1/builder/header/6/0x/0x":
			w.WriteHeader(http.StatusNoContent)
		case "/eth/v2/builder/blinded_blocks":
			w.WriteHeader(http.StatusAccepted)
		case "/eth/v1/builder/status":
			http.Error(w, "down", http.StatusInternalServerError)
		default:
			w.Header().Set("X-Refusal", "too-late")
			http.Error(w, `{"code":400,"message":"too late"}`, http.StatusBadRequest)
		}
	}))
	defer server.Close()
	var got []string
	client := &http.Client{Transport: &Witness{RoundTripper: http.DefaultTransport, Name: "proposers", Relay: "relay-1",
		Clock: clock.Real{},
		Tell: func(e devnet.Event) {
			got = append(got, strings.TrimSpace(fmt.Sprintf("%s at %s: %s %d %d %s", e.Actor, e.At, e.Subject, e.Slot,
				e.Status, e.Refusal)))
		}}}
	for _, way := range []string{"header/7/0x/0x", "header/8/0x/0x", "validators", "blinded_blocks", "status",
		"header/6/0x/0x", "../../v2/builder/blinded_blocks"} {
		response, err := client.Get(server.URL + path.Join("/eth/v1/builder", way))
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
	}
	server.Close()
	if response, err := client.Get(server.URL + "/eth/v1/builder/header/9/0x/0x"); err == nil {
		response.Body.Close()
		t.Error("a server that is gone answers")
	}
	want := []string{
		"proposers at relay-1: header_received 7 0", "proposers at relay-1: request_refused 8 400 too-late",
		"proposers at relay-1: registration_sent 0 0", "proposers at relay-1: payload_received 0 0",
		"proposers at relay-1: request_refused 0 500", "proposers at relay-1: no_header 6 0",
		"proposers at relay-1: block_taken 0 0", "proposers at relay-1: request_failed 9 0",
	}
	if !slices.Equal(got, want) {
		t.Errorf("told\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
