package beacon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	devbeacon "github.com/gavel-relay/gavel/devnet/beacon"
	"github.com/gavel-relay/gavel/devnet/chain"
	"github.com/gavel-relay/gavel/internal/clock"
	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/sse"
	"github.com/gavel-relay/gavel/relay"
)

func nodes(t *testing.T, urls ...string) *Nodes {
	t.Helper()
	n, err := New(Config{URLs: urls, Timeout: 5 * time.Second}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// answering is a node that answers every request alike.
func answering(t *testing.T, status int, body string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		fmt.Fprint(w, body)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// down is a URL that nobody listens on.
func down(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	return server.URL
}

func TestURLs(t *testing.T) {
	for _, urls := range [][]string{nil, {""}, {"localhost:1"}, {"ftp://x"}, {"http://"}} {
		if _, err := New(Config{URLs: urls}, nil); err == nil {
			t.Errorf("%q passes", urls)
		}
	}
}

// ours is the root of the block that tests publish.
var ours = phase0.Root{7}

// refusing is a node that refuses each publication in its words, and answers at the nth question
// that it has a block of a root.
func refusing(t *testing.T, status int, words string, has phase0.Root, nth int32) string {
	t.Helper()
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method == http.MethodPost && status == 0:
			panic(http.ErrAbortHandler) // the connection breaks
		case r.Method == http.MethodPost:
			w.WriteHeader(status)
			fmt.Fprintf(w, `{"code":%d,"message":%q}`, status, words)
		case r.URL.Path != fmt.Sprintf("/eth/v1/beacon/headers/%#x", ours[:]) || asked.Add(1) < nth:
			http.NotFound(w, r)
		default:
			fmt.Fprintf(w, `{"data":{"root":"%#x"}}`, has[:])
		}
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// A node that has the block already counts as one that took it, whatever it says; one that has
// another block in the slot does not.
func TestPublishAsksForTheBlockThatIsRefused(t *testing.T) {
	const prysm = "equivocation validation failed: block for slot 6 already exists in fork choice: block is equivocated"
	for name, row := range map[string]struct {
		url  string
		good bool
	}{
		"Prysm has it":                     {refusing(t, 400, prysm, ours, 1), true},
		"it is being imported":             {refusing(t, 400, prysm, ours, 3), true},
		"an error of its own, but has it":  {refusing(t, 500, "timed out", ours, 1), true},
		"the connection broke, but has it": {refusing(t, 0, "", ours, 1), true},
		"another block":                    {refusing(t, 400, prysm, phase0.Root{8}, 1), false},
		"it does not have it":              {refusing(t, 400, prysm, ours, 99), false},
	} {
		t.Run(name, func(t *testing.T) {
			if err := nodes(t, row.url).Publish(t.Context(), eth.Fulu, ours, []byte{1}); (err == nil) != row.good {
				t.Errorf("%v", err)
			}
		})
	}
}

// The verdict follows from the set of answers, whatever their order.
func TestPublishVerdicts(t *testing.T) {
	ok, accepted := answering(t, 200, ""), answering(t, 202, "")
	known, bad := answering(t, 400, `{"code":400,"message":"Block already known"}`),
		answering(t, 400, `{"code":400,"message":"no"}`)
	for name, row := range map[string]struct {
		urls []string
		good bool
	}{
		"one 200":           {[]string{ok}, true},
		"refusal, then 200": {[]string{bad, ok}, true},
		"200, then refusal": {[]string{ok, bad}, true},
		"down, 200":         {[]string{down(t), ok}, true},
		"202 alone":         {[]string{accepted}, true},
		"202, then refusal": {[]string{accepted, bad}, true},
		"refusal, then 202": {[]string{bad, accepted}, true},
		"already known":     {[]string{known}, true},
		"all refuse":        {[]string{bad, bad}, false},
		"all down":          {[]string{down(t), down(t)}, false},
	} {
		t.Run(name, func(t *testing.T) {
			err := nodes(t, row.urls...).Publish(t.Context(), eth.Fulu, ours, []byte{1})
			if (err == nil) != row.good {
				t.Errorf("%v", err)
			}
		})
	}
	err := nodes(t, bad, down(t)).Publish(t.Context(), eth.Fulu, ours, nil)
	if err == nil || !strings.Contains(err.Error(), bad) || !strings.Contains(err.Error(), "400") {
		t.Errorf("%v: want every node's answer", err)
	}
}

// The first acceptance is the answer; a node that hangs does not delay it.
func TestPublishDoesNotWaitForTheSlowest(t *testing.T) {
	hanging := make(chan struct{})
	slow := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-hanging }))
	defer slow.Close()
	defer close(hanging)
	if err := nodes(t, slow.URL, answering(t, 200, "")).Publish(t.Context(), eth.Fulu, ours, nil); err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := nodes(t, slow.URL).Publish(ctx, eth.Fulu, ours, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("%v: want the context's error", err)
	}
}

func TestPublishSaysWhatItSends(t *testing.T) {
	var got *http.Request
	var body []byte
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		got = r
		body, _ = io.ReadAll(r.Body)
	}))
	defer server.Close()
	if err := nodes(t, server.URL).Publish(t.Context(), eth.Electra, ours, []byte("block")); err != nil {
		t.Fatal(err)
	}
	if got.URL.String() != publishPath || got.Header.Get("Eth-Consensus-Version") != "electra" ||
		got.Header.Get("Content-Type") != "application/octet-stream" || string(body) != "block" {
		t.Errorf("%s %v %q", got.URL, got.Header, body)
	}
}

// emulated is the devnet's beacon node on a real chain.
func emulated(t *testing.T) (*devbeacon.Beacon, *eth.Spec, string) {
	t.Helper()
	spec := &eth.Spec{
		GenesisTime: time.Unix(1_700_000_000, 0), SlotDuration: 12 * time.Second, SlotsPerEpoch: 4,
		GenesisForkVersion:    phase0.Version{1},
		GenesisValidatorsRoot: devbeacon.GenesisValidatorsRoot(4), Blobs: []eth.BlobLimit{{Epoch: 9, MaxBlobs: 15}},
		Forks: []eth.ForkPoint{{Fork: eth.Electra, Version: phase0.Version{5}},
			{Fork: eth.Fulu, Epoch: 2, Version: phase0.Version{6}}},
	}
	node, err := chain.Open(chain.Config{Spec: spec, ChainID: 77})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := node.Close(); err != nil {
			t.Error(err)
		}
	})
	b, err := devbeacon.New(devbeacon.Config{
		Spec: spec, Clock: clock.NewStepped(spec.GenesisTime), Validators: 4, Seed: 1, Execution: node,
		GenesisHash: phase0.Hash32(node.Genesis().Hash()),
	})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(b.Handler())
	t.Cleanup(server.Close)
	return b, spec, server.URL
}

// A node that is down is passed over; the next one is asked.
func TestWhatIsLearntFromANode(t *testing.T) {
	b, want, url := emulated(t)
	n := nodes(t, down(t), url)
	spec, err := n.Spec(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !spec.GenesisTime.Equal(want.GenesisTime) || spec.GenesisValidatorsRoot != want.GenesisValidatorsRoot ||
		spec.SlotDuration != want.SlotDuration ||
		spec.SlotsPerEpoch != 4 || spec.ForkAt(7) != eth.Electra || spec.ForkAt(8) != eth.Fulu || spec.MaxBlobs(36) != 15 ||
		spec.ProposerDomain(8) != want.ProposerDomain(8) || spec.BuilderDomain() != want.BuilderDomain() {
		t.Errorf("spec %+v, want %+v", spec, want)
	}
	head, err := n.Head(t.Context())
	if err != nil || head.Slot != 0 || head.Root != b.Head().Root {
		t.Errorf("head %+v, %v", head, err)
	}
	validators, err := n.Validators(t.Context())
	if err != nil || len(validators) != 4 || validators[3].Pubkey != b.ValidatorKey(3).PublicKey() {
		t.Errorf("validators %v, %v", validators, err)
	}
	duties, _, err := n.Duties(t.Context(), 1)
	index, pubkey := b.Duty(4)
	if err != nil || len(duties) != 4 || duties[0] != (relay.Duty{Slot: 4, Index: index, Proposer: pubkey}) {
		t.Errorf("duties %v, %v", duties, err)
	}
}

// Old nodes have neither the SSZ table nor version 2 of the duties.
func TestOldNode(t *testing.T) {
	b, _, _ := emulated(t)
	old := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, "validator_identities") || strings.HasPrefix(r.URL.Path, "/eth/v2/validator") {
			http.NotFound(w, r)
			return
		}
		// The long list has exited validators, too, which may not register (REL-REG-05).
		if status := r.FormValue("status"); strings.HasSuffix(r.URL.Path, "/validators") && status != "active,pending" {
			t.Errorf("validators of status %q were asked for", status)
		}
		b.Handler().ServeHTTP(w, r)
	}))
	defer old.Close()
	n := nodes(t, old.URL)
	validators, err := n.Validators(t.Context())
	if err != nil || len(validators) != 4 || validators[2].Pubkey != b.ValidatorKey(2).PublicKey() {
		t.Errorf("validators %v, %v", validators, err)
	}
	if duties, _, err := n.Duties(t.Context(), 0); err != nil || len(duties) != 4 {
		t.Errorf("duties %v, %v", duties, err)
	}
}

const headEvent = `{"slot":"10","block":"0x%064x","state":"0x00","previous_duty_dependent_root":"0x%064x","current_duty_dependent_root":"0x%064x"}`

// streaming is a node that sends the given events and then ends the stream; the next connection
// gets the next batch.
func streaming(t *testing.T, batches ...string) string {
	t.Helper()
	var mu sync.Mutex
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		batch := ""
		if len(batches) > 0 {
			batch, batches = batches[0], batches[1:]
		}
		mu.Unlock()
		if batch == "" {
			<-r.Context().Done() // nothing more to say
			return
		}
		fmt.Fprint(w, batch)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func wireOf(topic, data string) string {
	return string(sse.Append(nil, sse.Event{Type: topic, Data: []byte(data)})) + ":\n\n"
}

// Events of all nodes are told once, and a stream that ends is opened again.
func TestFollow(t *testing.T) {
	first, second := fmt.Sprintf(headEvent, 1, 2, 3), fmt.Sprintf(headEvent, 4, 2, 3)
	attributes := `{"version":"fulu","data":{"proposal_slot":"11","parent_block_number":"9","parent_block_root":"0x` +
		strings.Repeat("0a", 32) +
		`","parent_block_hash":"0x` + strings.Repeat("0b", 32) + `","payload_attributes":{"timestamp":"7","prev_randao":"0x` +
		strings.Repeat("0c", 32) + `","withdrawals":[{"index":"5","validator_index":"1","address":"0x` +
		strings.Repeat("0d", 20) +
		`","amount":"1"}],"parent_beacon_block_root":"0x` + strings.Repeat("0a", 32) + `"}}}`
	n := nodes(t, streaming(t, wireOf("head", first), wireOf("head", first)+wireOf("payload_attributes", attributes)+
		"event: head\ndata: nonsense\n\n"+wireOf("head", second)))
	ctx, cancel := context.WithCancel(t.Context())
	var heads []relay.Head
	var seen []relay.Attributes
	err := n.Follow(ctx, Events{
		Head: func(h relay.Head) {
			if heads = append(heads, h); len(heads) == 2 {
				cancel()
			}
		},
		Attributes: func(a relay.Attributes) { seen = append(seen, a) },
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if len(heads) != 2 || heads[0].Slot != 10 || heads[0].Root[31] != 1 || heads[1].Root[31] != 4 ||
		heads[0].CurrentDependent[31] != 3 {
		t.Errorf("heads %+v", heads)
	}
	if len(seen) != 1 || seen[0].Slot != 11 || seen[0].ParentNumber != 9 || seen[0].ParentHash[0] != 0x0b ||
		seen[0].PrevRandao[0] != 0x0c ||
		seen[0].ParentRoot[0] != 0x0a || seen[0].Timestamp != 7 || len(seen[0].Withdrawals) != 1 ||
		seen[0].Withdrawals[0].Index != 5 {
		t.Errorf("attributes %+v", seen)
	}
}

func TestEventsThatCannotBeRead(t *testing.T) {
	for _, raw := range []string{"", "{}", `{"slot":"x"}`, `{"slot":"1","block":"0x00"}`, `[]`} {
		if _, err := parseHead([]byte(raw)); err == nil {
			t.Errorf("head %q passes", raw)
		}
	}
}
