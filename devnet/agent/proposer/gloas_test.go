package proposer

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/OffchainLabs/go-bitfield"
	"github.com/attestantio/go-eth2-client/spec/altair"
	"github.com/attestantio/go-eth2-client/spec/bellatrix"
	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/devnet"
	"github.com/gavel-relay/gavel/internal/clock"
	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/bls"
	"github.com/gavel-relay/gavel/internal/eth/gloas"
)

// inGloas is a validator whose beacon node is a handler, and who knows one relay.
func inGloas(t *testing.T, conduct Conduct, node http.Handler, relay BuilderAddress) *Proposer {
	t.Helper()
	server := httptest.NewServer(node)
	t.Cleanup(server.Close)
	spec := &eth.Spec{
		GenesisTime: time.Unix(1_700_000_000, 0), SlotDuration: 12 * time.Second, SlotsPerEpoch: 4,
		Forks: []eth.ForkPoint{{Fork: eth.Gloas, Version: phase0.Version{9}}},
	}
	return New(Config{
		Keys: map[phase0.ValidatorIndex]*bls.SecretKey{0: bls.Derive("validator", 0)}, Spec: spec, BeaconURL: server.URL,
		Clock: clock.NewLeap(spec.SlotStart(1), spec.SlotStart(9), nil), BuilderBoostFactor: PreferBuilder,
		Gloas: Gloas{Builders: []BuilderAddress{relay}, Conduct: func(phase0.Slot) Conduct { return conduct }},
	})
}

// Each row is a conduct, and on which terms the beacon node is to ask and compare: the data under
// which the relay is asked, what counts of its payment, the least bid, the weight, and whether the
// relay is told beforehand.
func TestTermsOfBids(t *testing.T) {
	gwei, half := phase0.Gwei(5), uint64(50)
	const all = ^phase0.Gwei(0)
	for name, c := range map[string]struct {
		conduct   Conduct
		data      string
		most, min phase0.Gwei
		boost     uint64
		told      bool
	}{
		"honest":          {Conduct{}, "relay.example", all, 0, PreferBuilder, false},
		"a cap":           {Conduct{MaxPayment: &gwei}, "relay.example", 5, 0, PreferBuilder, true},
		"a cap in secret": {Conduct{MaxPayment: &gwei, Secret: true}, "relay.example", 5, 0, PreferBuilder, false},
		"a least bid":     {Conduct{MinBid: 7}, "relay.example", all, 7, PreferBuilder, false},
		"a weight":        {Conduct{Boost: &half}, "relay.example", all, 0, 50, false},
		"of no weight":    {Conduct{Boost: new(uint64)}, "relay.example", all, 0, 0, false},
		"stale auth":      {Conduct{StaleAuth: true}, "http://relay.example:1/", all, 0, PreferBuilder, false},
	} {
		t.Run(name, func(t *testing.T) {
			p := inGloas(t, c.conduct, http.NotFoundHandler(), BuilderAddress{URL: "http://relay.example:1/"})
			config, err := p.config(t.Context(), 1, 0)
			if err != nil || len(config.Builders) != 1 {
				t.Fatalf("%+v, %v", config, err)
			}
			entry := config.Builders[0]
			if got := string(entry.Auth.Message.Data); got != c.data || entry.MaxExecutionPayment != c.most ||
				entry.MinBid != c.min || entry.BuilderBoostFactor != c.boost {
				t.Errorf("%+v, asked under %q", entry, got)
			}
			if config.MinBid != c.min || config.BuilderBoostFactor != c.boost {
				t.Errorf("bids of the network: %+v", config)
			}
			caps, err := p.appendCaps(nil, 1, 0)
			if err != nil || (len(caps) > 0) != c.told {
				t.Errorf("relays are told %s, %v", caps, err)
			}
		})
	}
}

// Who is unheard tells no preferences; everybody else does.
func TestUnheard(t *testing.T) {
	for _, unheard := range []bool{false, true} {
		told := 0
		node := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch {
			case strings.Contains(r.URL.Path, "/duties/proposer/0"):
				_, _ = io.WriteString(w, `{"dependent_root":"0x`+strings.Repeat("00", 32)+
					`","data":[{"validator_index":"0","slot":"2"}]}`)
			case strings.Contains(r.URL.Path, "/duties/proposer/"):
				_, _ = io.WriteString(w, `{"dependent_root":"0x`+strings.Repeat("00", 32)+`","data":[]}`)
			case strings.HasSuffix(r.URL.Path, "/proposer_preferences"):
				var list []json.RawMessage
				if err := json.NewDecoder(r.Body).Decode(&list); err != nil {
					t.Error(err)
				}
				told += len(list)
			}
		})
		p := inGloas(t, Conduct{Unheard: unheard}, node, BuilderAddress{URL: "http://relay.example"})
		p.FeeRecipient = payee
		if err := p.prefer(t.Context(), false); err != nil || told != map[bool]int{false: 1, true: 0}[unheard] {
			t.Errorf("unheard %v: told %d preferences, %v", unheard, told, err)
		}
	}
}

// Preferences are told again when the duties depend on another root, and only then. Who contradicts
// names another fee recipient for each.
func TestPreferencesAfterAReorganisation(t *testing.T) {
	var root byte
	var told []bellatrix.ExecutionAddress
	node := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.Contains(r.URL.Path, "/duties/proposer/0"):
			_, _ = fmt.Fprintf(w, `{"dependent_root":"0x%02x%062x","data":[{"validator_index":"0","slot":"2"}]}`,
				root, 0)
		case strings.Contains(r.URL.Path, "/duties/proposer/"):
			_, _ = fmt.Fprintf(w, `{"dependent_root":"0x%02x%062x","data":[]}`, root, 0)
		case strings.HasSuffix(r.URL.Path, "/proposer_preferences"):
			var list []struct {
				Message struct {
					Payee string `json:"fee_recipient"`
				} `json:"message"`
			}
			if err := json.NewDecoder(r.Body).Decode(&list); err != nil || len(list) != 1 {
				t.Errorf("%+v, %v", list, err)
			}
			var payee bellatrix.ExecutionAddress
			if err := eth.ParseHex(list[0].Message.Payee, payee[:]); err != nil {
				t.Error(err)
			}
			told = append(told, payee)
		}
	})
	p := inGloas(t, Conduct{Contradict: true}, node, BuilderAddress{URL: "http://relay.example"})
	p.FeeRecipient = payee
	for i, c := range []struct {
		root        byte
		onlyChanged bool
		told        int
	}{{0, true, 1}, {0, true, 1}, {0, false, 2}, {1, true, 3}, {1, true, 3}} {
		root = c.root
		if err := p.prefer(t.Context(), c.onlyChanged); err != nil || len(told) != c.told {
			t.Fatalf("call %d: told %d times, want %d, %v", i, len(told), c.told, err)
		}
	}
	if told[0] != told[1] || told[1] == told[2] {
		t.Errorf("fee recipients %x", told)
	}
}

// Who unbundles gives the network another block than the relay, both with the bid and signed. The
// relay's refusal is reported; without a relay there is nobody to be deceived.
func TestUnbundleInGloas(t *testing.T) {
	read := func(r *http.Request) *gloas.SignedBeaconBlock {
		raw, err := io.ReadAll(r.Body)
		if err != nil {
			t.Fatal(err)
		}
		block, err := gloas.Mainnet.SignedBeaconBlock.Decode(raw)
		if err != nil {
			t.Fatal(err)
		}
		return block
	}
	var gossiped, handed []*gloas.SignedBeaconBlock
	relay := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		handed = append(handed, read(r))
		w.Header().Set("X-Refusal", "payload-not-published")
		w.WriteHeader(http.StatusBadRequest)
	}))
	t.Cleanup(relay.Close)
	p := inGloas(t, Conduct{Unbundle: true}, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if url := r.Header.Get("Eth-Builder-Url"); url != "" {
			t.Errorf("the network's block goes to %s too", url)
		}
		gossiped = append(gossiped, read(r))
	}), BuilderAddress{Name: "relay-1", URL: relay.URL})
	var told []devnet.Event
	p.Gloas.Tell = func(e devnet.Event) { told = append(told, e) }
	block := &gloas.SignedBeaconBlock{Message: &gloas.BeaconBlock{Slot: 1, Body: &gloas.BeaconBlockBody{
		ETH1Data:                  &phase0.ETH1Data{BlockHash: make([]byte, 32)},
		SignedExecutionPayloadBid: &gloas.SignedExecutionPayloadBid{Message: &gloas.ExecutionPayloadBid{Slot: 1}},
		SyncAggregate:             &altair.SyncAggregate{SyncCommitteeBits: bitfield.NewBitvector512()},
		ParentExecutionRequests:   new(gloas.ExecutionRequests),
	}}}
	if err := p.unbundle(t.Context(), block, relay.URL); err != nil {
		t.Fatal(err)
	}
	if len(gossiped) != 1 || len(handed) != 1 || gossiped[0].Message.Body.Graffiti == handed[0].Message.Body.Graffiti {
		t.Fatalf("%d blocks for the network, %d for the relay, or the same", len(gossiped), len(handed))
	}
	root, err := gloas.Mainnet.BeaconBlock.Root(gossiped[0].Message)
	if err != nil {
		t.Fatal(err)
	}
	if err := bls.Verify(p.Keys[0].PublicKey(), eth.SigningRoot(root, p.Spec.ProposerDomain(1)),
		gossiped[0].Signature); err != nil {
		t.Errorf("the network's block: %v", err)
	}
	want := devnet.Event{Actor: devnet.ProposersName, At: "relay-1", Subject: devnet.RequestRefused, Slot: 1,
		Status: http.StatusBadRequest, Refusal: "payload-not-published"}
	if len(told) != 1 || told[0] != want {
		t.Errorf("told %+v, want %+v", told, want)
	}
	if err := p.unbundle(t.Context(), block, ""); err != nil || len(handed) != 1 || len(gossiped) != 2 {
		t.Errorf("without a relay: %v, %d blocks handed over", err, len(handed))
	}
}
