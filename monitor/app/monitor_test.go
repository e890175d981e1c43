package app

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/attestantio/go-builder-client/api/deneb"
	builderv1 "github.com/attestantio/go-builder-client/api/v1"
	"github.com/attestantio/go-eth2-client/spec/bellatrix"
	denebspec "github.com/attestantio/go-eth2-client/spec/deneb"
	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/internal/clock"
	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/bls"
	"github.com/gavel-relay/gavel/monitor"
)

// The network of these tests: deneb, four slots an epoch, one validator that always proposes. Every
// slot's block has the hash that hashOf says, but slot missed has none.
var (
	genesis   = time.Unix(1_700_000_000, 0)
	validator = bls.Derive("validator", 1)
	network   = &eth.Spec{
		GenesisTime: genesis, SlotDuration: 12 * time.Second, SlotsPerEpoch: 4,
		Forks: []eth.ForkPoint{{Fork: eth.Deneb, Version: phase0.Version{4}}},
	}
)

const gasLimit = 30_000_000

// number reads what the monitor itself has written; anything else is 0.
func number(text string) uint64 {
	n, _ := strconv.ParseUint(text, 10, 64) // as above
	return n
}

func hashOf(slot phase0.Slot) phase0.Hash32 { return phase0.Hash32{byte(slot), 0xb1} }

// beaconNode is a chain on which the clock's slot is the head; missed has no block.
func beaconNode(t *testing.T, clock *clock.Leap, missed phase0.Slot) string {
	block := func(w http.ResponseWriter, slot phase0.Slot) {
		if slot == missed || slot == 0 {
			http.Error(w, `{"code":404,"message":"no block"}`, http.StatusNotFound)
			return
		}
		hash := hashOf(slot)
		fmt.Fprintf(w,
			`{"version":"deneb","data":{"message":{"slot":"%d","body":{"execution_payload":{"block_hash":"%#x","gas_limit":"%d"}}}}}`,
			slot, hash[:], gasLimit)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /eth/v1/beacon/genesis", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"data":{"genesis_time":"%d","genesis_validators_root":"%#x","genesis_fork_version":"0x00000000"}}`,
			genesis.Unix(), make([]byte, 32))
	})
	mux.HandleFunc("GET /eth/v1/config/spec", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w,
			`{"data":{"SECONDS_PER_SLOT":"12","SLOTS_PER_EPOCH":"4","DENEB_FORK_EPOCH":"0","DENEB_FORK_VERSION":"0x04000000"}}`)
	})
	mux.HandleFunc("GET /eth/v1/validator/duties/proposer/{epoch}", func(w http.ResponseWriter, r *http.Request) {
		epoch := number(r.PathValue("epoch"))
		key, duties := validator.PublicKey(), []string{}
		for slot := epoch * 4; slot < epoch*4+4; slot++ {
			duties = append(duties, fmt.Sprintf(`{"pubkey":"%#x","validator_index":"1","slot":"%d"}`, key[:], slot))
		}
		fmt.Fprintf(w, `{"dependent_root":"%#x","data":[%s]}`, make([]byte, 32), strings.Join(duties, ","))
	})
	mux.HandleFunc("GET /eth/v2/beacon/blocks/{id}", func(w http.ResponseWriter, r *http.Request) {
		if r.PathValue("id") != "head" {
			block(w, phase0.Slot(number(r.PathValue("id"))))
			return
		}
		head := network.SlotAt(clock.Now())
		if head == missed {
			head--
		}
		block(w, head)
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server.URL
}

// relay is a good relay that sells every slot's block; a test changes what it says.
type relay struct {
	key          *bls.SecretKey
	clock        *clock.Leap
	header       func(*deneb.BuilderBid)  // changes a bid before it is signed
	delivered    func(phase0.Slot) string // the list's JSON
	registration func() (int, any)        // status and answer
	status       int                      // of headers, 0 is a good one
}

func (s *relay) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch path := r.URL.Path; {
	case strings.HasPrefix(path, "/eth/v1/builder/header/"):
		parts := strings.Split(path, "/")
		slot := phase0.Slot(number(parts[5]))
		if s.status != 0 {
			w.WriteHeader(s.status)
			return
		}
		var parent phase0.Hash32
		if err := eth.ParseHex(parts[6], parent[:]); err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		s.bid(w, slot, parent)
	case strings.HasSuffix(path, "/proposer_payload_delivered"):
		slot := phase0.Slot(number(r.URL.Query().Get("slot")))
		fmt.Fprint(w, s.delivered(slot))
	case strings.HasSuffix(path, "/validator_registration"):
		status, answer := s.registration()
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(answer)
	}
}

func (s *relay) bid(w http.ResponseWriter, slot phase0.Slot, parent phase0.Hash32) {
	message := &deneb.BuilderBid{
		Header: &denebspec.ExecutionPayloadHeader{
			ParentHash: parent, BlockHash: hashOf(slot), Timestamp: network.Timestamp(slot), GasLimit: gasLimit,
			BaseFeePerGas: uint256.NewInt(7), ExtraData: []byte{},
		},
		BlobKZGCommitments: []denebspec.KZGCommitment{}, Value: uint256.NewInt(9), Pubkey: s.key.PublicKey(),
	}
	s.header(message)
	root, err := message.HashTreeRoot()
	if err != nil {
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"version": "deneb", "data": &deneb.SignedBuilderBid{
		Message: message, Signature: s.key.Sign(eth.SigningRoot(root, network.BuilderDomain())),
	}})
}

func registered(t *testing.T, key *bls.SecretKey) *builderv1.SignedValidatorRegistration {
	t.Helper()
	message := &builderv1.ValidatorRegistration{
		FeeRecipient: bellatrix.ExecutionAddress{1}, GasLimit: gasLimit, Timestamp: genesis, Pubkey: validator.PublicKey(),
	}
	root, err := message.HashTreeRoot()
	if err != nil {
		t.Fatal(err)
	}
	return &builderv1.SignedValidatorRegistration{Message: message,
		Signature: key.Sign(eth.SigningRoot(root, network.BuilderDomain()))}
}

func listOf(slot phase0.Slot, hash phase0.Hash32, value string) string {
	return fmt.Sprintf(`[{"slot":"%d","block_hash":"%#x","value":"%s"}]`, slot, hash[:], value)
}

// watch lets a monitor watch one relay for the slots 2 to 5, and returns it. Slot missed has no
// block.
func watch(t *testing.T, missed phase0.Slot, change func(*relay)) *Monitor {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	clock := clock.NewLeap(network.SlotStart(1).Add(time.Second), network.SlotStart(6).Add(7*time.Second), cancel)
	s := &relay{
		key: bls.Derive("relay", 1), clock: clock, header: func(*deneb.BuilderBid) {},
		delivered:    func(slot phase0.Slot) string { return listOf(slot, hashOf(slot), "9") },
		registration: func() (int, any) { return http.StatusOK, registered(t, validator) },
	}
	if missed != 0 {
		s.delivered = func(slot phase0.Slot) string {
			if slot == missed {
				return "[]"
			}
			return listOf(slot, hashOf(slot), "9")
		}
	}
	change(s)
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	key := bls.Derive("relay", 1).PublicKey()
	m, err := New(Config{
		Relays:     []string{fmt.Sprintf("http://%#x@%s", key[:], strings.TrimPrefix(server.URL, "http://"))},
		Names:      []string{"tested"},
		BeaconURLs: []string{beaconNode(t, clock, missed)}, Clock: clock, Patience: time.Minute,
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Run(ctx); err != nil {
		t.Fatal(err)
	}
	return m
}

func TestGoodRelay(t *testing.T) {
	m := watch(t, 0, func(*relay) {})
	if found := m.Findings(); len(found) > 0 {
		t.Errorf("found %+v", found)
	}
	got := m.Relays()[0]
	if got.Asked < 4 || got.Answered != got.Asked || got.Bids != got.Asked || got.Slots < 4 ||
		got.Landed != got.Delivered || got.Delivered != got.Slots {
		t.Errorf("%+v", got)
	}
}

// A relay that misbehaves in one way is found out, and for nothing else.
func TestEachClassIsFound(t *testing.T) {
	other := phase0.Hash32{0xff}
	for class, change := range map[monitor.Class]func(*relay){
		monitor.Signature:  func(s *relay) { s.key = bls.Derive("another relay", 1) },
		monitor.ParentHash: func(s *relay) { s.header = func(b *deneb.BuilderBid) { b.Header.ParentHash[9] ^= 1 } },
		monitor.Timestamp:  func(s *relay) { s.header = func(b *deneb.BuilderBid) { b.Header.Timestamp++ } },
		monitor.GasLimit:   func(s *relay) { s.header = func(b *deneb.BuilderBid) { b.Header.GasLimit++ } },
		monitor.Value: func(s *relay) {
			s.delivered = func(slot phase0.Slot) string {
				return listOf(slot, hashOf(slot), "8")
			}
		},
		monitor.Unlisted:    func(s *relay) { s.delivered = func(phase0.Slot) string { return "[]" } },
		monitor.Unavailable: func(s *relay) { s.status = http.StatusServiceUnavailable },
		monitor.ListedUnlanded: func(s *relay) {
			s.status = http.StatusNoContent
			s.delivered = func(slot phase0.Slot) string { return listOf(slot, other, "9") }
		},
		monitor.Registrations: func(s *relay) {
			s.registration = func() (int, any) { return http.StatusOK, registered(t, bls.Derive("forger", 1)) }
		},
	} {
		t.Run(string(class), func(t *testing.T) { wantOnly(t, watch(t, 0, change), class) })
	}
	t.Run("withheld", func(t *testing.T) { wantOnly(t, watch(t, 4, func(*relay) {}), monitor.Withheld) })
}

func wantOnly(t *testing.T, m *Monitor, class monitor.Class) {
	t.Helper()
	var classes []monitor.Class
	for _, one := range m.Findings() {
		if one.Relay != "tested" || one.Slot == 0 || one.Detail == "" || one.At.IsZero() {
			t.Errorf("%+v", one)
		}
		classes = append(classes, one.Class)
	}
	slices.Sort(classes)
	if classes = slices.Compact(classes); len(classes) != 1 || classes[0] != class {
		t.Errorf("found %v, want %s", m.Findings(), class)
	}
	if m.Relays()[0].Faults[class] == 0 {
		t.Errorf("not counted: %+v", m.Relays()[0])
	}
}

// The reports are JSON, and Prometheus' text with a line for each class.
func TestReports(t *testing.T) {
	m := watch(t, 4, func(*relay) {})
	get := func(path string) string {
		w := httptest.NewRecorder()
		m.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, http.NoBody))
		if w.Code != http.StatusOK {
			t.Errorf("%s: status %d", path, w.Code)
		}
		return w.Body.String()
	}
	if got := get("/v1/relays"); !strings.HasPrefix(got, `{"relays":[{"relay":"tested","asked":`) ||
		!strings.Contains(got, `"faults":{"withheld":1}`) {
		t.Error(got)
	}
	if got := get("/v1/findings"); !strings.Contains(got,
		`{"relay":"tested","slot":"4","class":"withheld","detail":"1 headers were served`) {
		t.Error(got)
	}
	metrics := get("/metrics")
	for _, want := range []string{
		`gavel_monitor_faults_total{class="withheld",relay="tested"} 1`,
		`gavel_monitor_faults_total{class="slow",relay="tested"} 0`,
		`gavel_monitor_headers_total{relay="tested",result="bid"}`,
		`gavel_monitor_delivered_total{landed="yes",relay="tested"}`,
	} {
		if !strings.Contains(metrics, want) {
			t.Errorf("no %s in the metrics", want)
		}
	}
	get("/livez")
}
