package api

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/clock"
	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/serve"
	"github.com/gavel-relay/gavel/relay"
)

// now is what every clock of these tests reads: the start of slot 64, the first one of fulu. Slots
// 32 to 63 are electra's.
var now = time.Unix(1_700_000_000, 0)

func testSpec() *eth.Spec {
	return &eth.Spec{
		GenesisTime: now.Add(-64 * 12 * time.Second), SlotDuration: 12 * time.Second, SlotsPerEpoch: 32,
		Forks: []eth.ForkPoint{{Fork: eth.Deneb}, {Fork: eth.Electra, Epoch: 1}, {Fork: eth.Fulu, Epoch: 2}},
	}
}

// fakePorts stands for all ports behind the handlers and keeps what it was asked.
type fakePorts struct {
	unready bool

	registered []relay.SignedRegistration
	failures   []relay.RegistrationFailure

	bid      *relay.SignedBid
	asked    []relay.Key
	deadline time.Time

	contents *relay.Contents
	blocks   []*relay.BlindedBlock
	reveals  []bool

	err error // what Header and Deliver answer with
	at  time.Time
}

func (d *fakePorts) Register(_ context.Context, at time.Time,
	entries []relay.SignedRegistration) relay.RegistrationFailures {
	d.at, d.registered = at, append(d.registered, entries...)
	return relay.RegistrationFailures{First: d.failures, Count: len(d.failures)}
}

func (d *fakePorts) Header(_ context.Context, at time.Time, key relay.Key,
	clientDeadline time.Time) (*relay.SignedBid, error) {
	d.at, d.deadline, d.asked = at, clientDeadline, append(d.asked, key)
	return d.bid, d.err
}

func (d *fakePorts) Deliver(_ context.Context, at time.Time, block *relay.BlindedBlock,
	reveal bool) (*relay.Contents, error) {
	d.at, d.blocks, d.reveals = at, append(d.blocks, block), append(d.reveals, reveal)
	return d.contents, d.err
}

// untouched says whether no room was asked anything.
func (d *fakePorts) untouched() bool { return d.registered == nil && d.asked == nil && d.blocks == nil }

func (d *fakePorts) handler() *serve.Mux {
	mux := NewMux()
	MountProposer(mux, ProposerConfig{
		Spec: testSpec(), Clock: clock.NewStepped(now), Registrar: d, Headers: d, Deliverer: d, Ready: func() bool {
			return !d.unready
		},
	})
	return mux
}

// ask sends a request. Headers are lines "Name: value".
func ask(t *testing.T, d *fakePorts, request, headers string, body []byte) *httptest.ResponseRecorder {
	t.Helper()
	method, path, _ := strings.Cut(request, " ")
	r := httptest.NewRequest(method, path, bytes.NewReader(body))
	for line := range strings.Lines(headers) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		r.Header.Add(name, value)
	}
	answer := httptest.NewRecorder()
	d.handler().ServeHTTP(answer, r)
	return answer
}

// wantRefusal wants the refusal's status and text in the common form.
func wantRefusal(t *testing.T, answer *httptest.ResponseRecorder, want relay.Refusal) {
	t.Helper()
	var body struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	}
	if err := json.Unmarshal(answer.Body.Bytes(), &body); err != nil {
		t.Fatalf("the answer is no JSON: %q", answer.Body)
	}
	if answer.Code != Statuses[want.ID] || body.Code != Statuses[want.ID] ||
		!strings.HasPrefix(body.Message, want.Short) {
		t.Errorf("%d %s, want %d %s", answer.Code, answer.Body, Statuses[want.ID], want.Short)
	}
	if got := answer.Header().Get("Content-Type"); got != "application/json" {
		t.Errorf("content type %q", got)
	}
}

func gzipped(t *testing.T, plain []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := w.Write(plain); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestStatus(t *testing.T) {
	if answer := ask(t, &fakePorts{}, "GET /eth/v1/builder/status", "", nil); answer.Code != 200 ||
		answer.Body.Len() != 0 {
		t.Errorf("%d %q", answer.Code, answer.Body)
	}
	wantRefusal(t, ask(t, &fakePorts{unready: true}, "GET /eth/v1/builder/status", "", nil), relay.NotReady)
}

func TestPathsAndMethods(t *testing.T) {
	for request, want := range map[string]relay.Refusal{
		"GET /":                              relay.NotFound,
		"GET /eth/v1/builder":                relay.NotFound,
		"GET /eth/v3/builder/status":         relay.NotFound,
		"GET /eth/v1/builder/header/1/2":     relay.NotFound,
		"POST /eth/v1/builder/status":        relay.MethodNotAllowed,
		"GET /eth/v1/builder/validators":     relay.MethodNotAllowed,
		"POST /eth/v1/builder/header/1/2/3":  relay.MethodNotAllowed,
		"GET /eth/v1/builder/blinded_blocks": relay.MethodNotAllowed,
		"PUT /eth/v2/builder/blinded_blocks": relay.MethodNotAllowed,
	} {
		t.Run(request, func(t *testing.T) {
			answer := ask(t, &fakePorts{}, request, "", nil)
			wantRefusal(t, answer, want)
			if (answer.Header().Get("Allow") != "") != (Statuses[want.ID] == http.StatusMethodNotAllowed) {
				t.Errorf("Allow %q", answer.Header().Get("Allow"))
			}
		})
	}
}

func pubkey(first byte) phase0.BLSPubKey { return phase0.BLSPubKey{first, 0xab} }
