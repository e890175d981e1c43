package app

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/devnet"
	"github.com/gavel-relay/gavel/devnet/chain"
	"github.com/gavel-relay/gavel/devnet/display"
	"github.com/gavel-relay/gavel/internal/eth"
)

// watched collects what a viewer is told.
type watched struct {
	mu     sync.Mutex // guards all below
	run    display.Run
	slots  []display.Slot // finished ones
	notes  []string
	onSlot func(display.Slot)
	done   display.Summary
}

func (w *watched) Start(run display.Run) { w.mu.Lock(); defer w.mu.Unlock(); w.run = run }
func (w *watched) Note(note string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.notes = append(w.notes, note)
}
func (w *watched) Flow(display.Flow) {}

func (w *watched) Done(s display.Summary) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.done = s
}

func (w *watched) Slot(s display.Slot) {
	if s.Open {
		return
	}
	w.mu.Lock()
	w.slots = append(w.slots, s)
	w.mu.Unlock()
	if w.onSlot != nil {
		w.onSlot(s)
	}
}

// testConfig is a small network whose slots are long enough for the race detector.
func testConfig(slots int) devnet.Config {
	return devnet.Config{
		Slots: slots, SlotDuration: 12 * time.Second, Speed: 5, Validators: 8, Builders: 2, TxsPerSlot: 10,
		SlotsPerEpoch: 2, Seed: 7,
	}
}

// runWell runs a network in which every payload must be delivered and land. out watches the run.
func runWell(t *testing.T, cfg devnet.Config, out *watched) display.Summary {
	t.Helper()
	sum, err := Run(t.Context(), cfg, nil, out)
	if err != nil {
		t.Fatal(err)
	}
	if !sum.OK() {
		t.Fatalf("%s: %+v\n%s", sum.Verdict(), sum, strings.Join(out.notes, "\n"))
	}
	return sum
}

// The main job, on real input, across every fork boundary: each slot's payload is built, sold
// blind, delivered, and on the chain.
func TestEverySlotIsDeliveredAcrossAllForks(t *testing.T) {
	cfg := testConfig(11)
	cfg.BlobEvery = 1
	for i := range chain.FixedBlobs { // their proofs take seconds under the race detector; the slots would be over
		chain.Sidecar(eth.Fulu, i)
	}
	for i, fork := range eth.Forks() {
		cfg.Forks = append(cfg.Forks, eth.ForkPoint{Fork: fork, Epoch: phase0.Epoch(i)})
	}
	out := new(watched)
	sum := runWell(t, cfg, out)
	if sum.Slots != 11 || sum.PaidWei.IsZero() || sum.FirstDelivery == 0 || sum.RoundTripMedian == 0 {
		t.Errorf("%s: %+v", sum.Verdict(), sum)
	}
	blobs := 0
	for _, slot := range out.slots {
		if want := eth.Forks()[min(slot.Number/2, 4)]; slot.Fork != want || !strings.HasPrefix(slot.Winner, "builder-") {
			t.Errorf("slot %d: fork %s, want %s; winner %q", slot.Number, slot.Fork, want, slot.Winner)
		}
		blobs += slot.Blobs
	}
	if blobs == 0 {
		t.Error("no blob landed")
	}
}

// From gloas on relays bid, and payloads come in envelopes: at genesis, and at a fork in the middle
// of a run, each payload is delivered and on the chain, the committee has seen it, and its proposer
// was paid.
func TestEveryPayloadIsDeliveredInGloas(t *testing.T) {
	for _, forks := range []string{"gloas@0", "fulu@0,gloas@2"} {
		t.Run(forks, func(t *testing.T) {
			cfg := testConfig(7)
			cfg.BlobEvery = 2
			var err error
			if cfg.Forks, err = devnet.ParseForks(forks); err != nil {
				t.Fatal(err)
			}
			out := new(watched)
			if sum := runWell(t, cfg, out); sum.PaidWei.IsZero() {
				t.Errorf("%s: %+v", sum.Verdict(), sum)
			}
			for _, slot := range out.slots {
				p := slot.Payload
				if !strings.HasPrefix(slot.Winner, "builder-") || (p != nil) != (slot.Fork == eth.Gloas) {
					t.Errorf("slot %d of %s: winner %q, payload %+v", slot.Number, slot.Fork, slot.Winner, p)
				}
				if p != nil && (!p.Full || p.Votes != p.Members || p.PaymentGwei == 0) {
					t.Errorf("slot %d: payload %+v", slot.Number, p)
				}
			}
		})
	}
}

// A share of what is bid is paid from the relay's stake, and the beacon node finds it covered; the
// rest is paid within the payload.
func TestShareIsPaidFromTheStake(t *testing.T) {
	cfg := testConfig(8)
	cfg.ValueShare = 10
	var err error
	if cfg.Forks, err = devnet.ParseForks("gloas@0"); err != nil {
		t.Fatal(err)
	}
	var paid phase0.Gwei
	out := new(watched)
	out.onSlot = func(s display.Slot) {
		paid += phase0.Gwei(s.Payload.ValueGwei)
		if total := s.Payload.ValueGwei + s.Payload.PaymentGwei; s.Payload.ValueGwei != total/10 || total == 0 {
			t.Errorf("slot %d: %+v, want a tenth from the stake", s.Number, s.Payload)
		}
	}
	runWell(t, cfg, out)
	if paid == 0 {
		t.Error("nothing was paid from the stake")
	}
}

// A malformed, oversized, mislabelled or wrong-fork request to any endpoint gets a 4xx as
// {code,message}, and the auction goes on untouched.
func TestBadRequestsChangeNothing(t *testing.T) {
	out := new(watched)
	out.onSlot = func(s display.Slot) {
		if s.Number == 1 {
			for _, endpoint := range out.run.Endpoints[:2] {
				attack(t, endpoint)
			}
		}
	}
	cfg := testConfig(3)
	cfg.DataDir = t.TempDir() // as of a network that is kept
	runWell(t, cfg, out)
}

var posts = map[string][]string{
	"relay": {"/eth/v1/builder/validators", "/eth/v1/builder/blinded_blocks", "/eth/v2/builder/blinded_blocks",
		"/relay/v1/builder/blocks"},
	"beacon node": {
		"/eth/v2/beacon/blocks", "/eth/v1/beacon/states/head/validator_identities",
		"/eth/v1/validator/prepare_beacon_proposer",
	},
}

var gets = map[string][]string{
	"relay": {
		"/eth/v1/builder/header/x/0x00/0x00", "/relay/v1/data/bidtraces/builder_blocks_received",
		"/relay/v1/data/validator_registration?pubkey=1",
		"/relay/v1/data/bidtraces/proposer_payload_delivered?limit=-1", "/no/such/path",
	},
	"beacon node": {
		"/eth/v1/beacon/headers/x", "/eth/v1/validator/duties/proposer/99999", "/eth/v3/validator/blocks/1?randao_reveal=x",
		"/eth/v1/events",
		"/eth/v1/events?topics=x", "/eth/v2/beacon/blocks/none", "/no/such/path",
	},
}

func attack(t *testing.T, endpoint display.Endpoint) {
	for _, path := range posts[endpoint.Name] {
		for name, r := range map[string]struct{ contentType, encoding, version, body string }{
			"not JSON":          {"application/json", "", "fulu", "{"},
			"an empty object":   {"application/json", "", "fulu", "{}"},
			"null":              {"application/json", "", "fulu", `{"message":null}`},
			"nothing":           {"application/json", "", "fulu", ""},
			"not SSZ":           {"application/octet-stream", "", "fulu", strings.Repeat("\xff", 179)},
			"another type":      {"text/plain", "", "fulu", "[]"},
			"another encoding":  {"application/json", "br", "fulu", "[]"},
			"not gzip":          {"application/json", "gzip", "fulu", "[]"},
			"an unknown fork":   {"application/octet-stream", "", "phase0", strings.Repeat("\x00", 400)},
			"a later fork":      {"application/octet-stream", "", "gloas", strings.Repeat("\x00", 400)},
			"another fork":      {"application/octet-stream", "", "deneb", strings.Repeat("\x00", 400)},
			"a list of numbers": {"application/json", "", "fulu", `[1,2,3]`},
		} {
			request, err := http.NewRequest(http.MethodPost, endpoint.URL+path, strings.NewReader(r.body))
			if err != nil {
				t.Fatal(err)
			}
			request.Header.Set("Content-Type", r.contentType)
			request.Header.Set("Eth-Consensus-Version", r.version)
			if r.encoding != "" {
				request.Header.Set("Content-Encoding", r.encoding)
			}
			wantRefusal(t, endpoint.Name+" "+path+" "+name, request)
		}
	}
	for _, path := range gets[endpoint.Name] {
		request, err := http.NewRequest(http.MethodGet, endpoint.URL+path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		wantRefusal(t, endpoint.Name+" "+path, request)
	}
}

func wantRefusal(t *testing.T, name string, request *http.Request) {
	t.Helper()
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return
	}
	defer response.Body.Close()
	var body struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	}
	raw, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode < 400 || response.StatusCode > 499 {
		t.Errorf("%s: status %d, %v, %.100s", name, response.StatusCode, err, raw)
		return
	}
	if json.Unmarshal(raw, &body) != nil || body.Code != response.StatusCode || body.Message == "" {
		t.Errorf("%s: %d with body %.200s", name, response.StatusCode, raw)
	}
}

// Ctrl-C ends a run in order and still sums up.
func TestInterruptedRunEndsCleanly(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	out := new(watched)
	out.onSlot = func(s display.Slot) {
		if s.Number == 2 {
			cancel()
		}
	}
	cfg := testConfig(0)
	cfg.Speed = 24
	sum, err := Run(ctx, cfg, nil, out)
	if err != nil || sum.Slots < 2 {
		t.Errorf("%v, %+v", err, sum)
	}
}

func TestBusyPortSaysWhatToDo(t *testing.T) {
	listener, err := net.Listen("tcp", host+":0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	cfg := testConfig(1)
	cfg.RelayPort = listener.Addr().(*net.TCPAddr).Port
	_, err = Run(t.Context(), cfg, nil, new(watched))
	if err == nil || !strings.Contains(err.Error(), "relay-port") || !strings.Contains(err.Error(), "in use") ||
		strings.Contains(err.Error(), "\n") {
		t.Errorf("%v: want one line that names relay-port and says what to do", err)
	}
}

// A mistake in what the configuration names on disk is one line that says what to do.
func TestPlacesThatWillNotDo(t *testing.T) {
	full := t.TempDir()
	if err := os.WriteFile(filepath.Join(full, "x"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*devnet.Config){
		"a folder that is in use": func(c *devnet.Config) { c.DataDir = full },
		"a file for a folder":     func(c *devnet.Config) { c.DataDir = filepath.Join(full, "x") },
		"no such mev-boost":       func(c *devnet.Config) { c.MevBoost, c.Speed = filepath.Join(full, "none"), 1 },
	} {
		cfg := testConfig(1)
		change(&cfg)
		if _, err := Run(t.Context(), cfg, nil, new(watched)); err == nil || strings.Contains(err.Error(), "\n") ||
			!strings.Contains(err.Error(), "give ") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A builder with stake of its own sells blocks by the relay under its own signature: the beacon
// chain takes its bids and envelopes, and its stake pays a part.
func TestStakedBuilderSellsByTheRelay(t *testing.T) {
	cfg := testConfig(6)
	cfg.BlobEvery, cfg.StakedBuilder = 2, true
	var err error
	if cfg.Forks, err = devnet.ParseForks("gloas@0"); err != nil {
		t.Fatal(err)
	}
	out := new(watched)
	runWell(t, cfg, out)
	own := 0
	for _, slot := range out.slots {
		if slot.Winner != stakedName {
			continue
		}
		own++
		if p := slot.Payload; p == nil || !p.Full || p.ValueGwei != stakedValue || p.PaymentGwei == 0 {
			t.Errorf("slot %d: payload %+v", slot.Number, p)
		}
	}
	if own < 4 {
		t.Errorf("%d of %d slots are the staked builder's", own, len(out.slots))
	}
}
