package data_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	builderv1 "github.com/attestantio/go-builder-client/api/v1"
	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/internal/golden"
	"github.com/gavel-relay/gavel/internal/serve"
	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/relay/api/data"
	"github.com/gavel-relay/gavel/relay/archive"
)

// The paths of the three operations.
const (
	delivered    = "/relay/v1/data/bidtraces/proposer_payload_delivered"
	received     = "/relay/v1/data/bidtraces/builder_blocks_received"
	registration = "/relay/v1/data/validator_registration"
)

// day is when everything happened: 2026-01-01 12:00:00.123456789 UTC.
var day = time.Date(2026, 1, 1, 12, 0, 0, 123_456_789, time.UTC)

// Two builders, two proposers, and hashes by number. All hold letters, so that letter case matters.
var (
	builderA, builderB   = key(0xba), key(0xbb)
	proposerA, proposerB = key(0xca), key(0xcb)
)

func key(b byte) (pubkey phase0.BLSPubKey) {
	for i := range pubkey {
		pubkey[i] = b
	}
	return pubkey
}

func hash(n int) (hash phase0.Hash32) {
	for i := range hash {
		hash[i] = 0xa0 + byte(n)
	}
	return hash
}

func trace(slot phase0.Slot, block int, value string) relay.Trace {
	return relay.Trace{
		Slot: slot, ParentHash: hash(0), BlockHash: hash(block), Builder: builderA, Proposer: proposerA, FeeRecipient: relay.FeeRecipient{0xFE},
		GasLimit: 36_000_000, GasUsed: 21_000, ValueWei: uint256.MustFromDecimal(value), NumTx: 3, NumBlobs: 2, BlockNumber: 100 + uint64(slot),
	}
}

// story is four blocks that were received and delivered, one bid that was refused, one below the floor, and one registration.
func story() []relay.Fact {
	third := trace(7, 3, "5")
	third.Builder, third.Proposer = builderB, proposerB
	blocks := []relay.Trace{trace(5, 1, "10"), trace(6, 2, "9"), third, trace(7, 4, "1000000000000000000000000")}
	var facts []relay.Fact
	for i, one := range blocks {
		facts = append(facts,
			relay.SubmissionJudged{Trace: one, ReceivedAt: day, EligibleAt: day, Verified: i != 2, Optimistic: i == 2},
			relay.PayloadDelivered{Trace: one, At: day})
	}
	return append(facts,
		relay.SubmissionJudged{Trace: trace(7, 5, "99"), ReceivedAt: day, Refusal: relay.SubmissionSignature.ID},
		relay.SubmissionJudged{Trace: trace(7, 6, "1"), ReceivedAt: day},
		relay.RegistrationStored{At: day, Registration: &relay.SignedRegistration{
			Message: &builderv1.ValidatorRegistration{
				FeeRecipient: relay.FeeRecipient{0xFE, 0xED}, GasLimit: 36_000_000, Timestamp: day.Truncate(time.Second), Pubkey: proposerA,
			},
			Signature: phase0.BLSSignature{0xAB, 0xCD},
		}})
}

// serving is the API over a real archive with some facts.
func serving(t *testing.T, facts ...relay.Fact) http.Handler {
	t.Helper()
	a, err := archive.Open(t.Context(), "sqlite::memory:")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
	var entries []archive.Entry
	for i, fact := range facts {
		raw, err := json.Marshal(fact)
		if err != nil {
			t.Fatal(err)
		}
		entries = append(entries, archive.Entry{Seq: uint64(i + 1), Subject: "relay." + fact.Subject(), Data: raw})
	}
	if err := a.Apply(t.Context(), entries); err != nil {
		t.Fatal(err)
	}
	return mount(a)
}

func mount(a data.Archive) http.Handler {
	mux := &serve.Mux{NotFound: relay.NotFound.Plain(), NotAllowed: relay.MethodNotAllowed.Plain()}
	data.Mount(mux, data.Config{Archive: a})
	return mux
}

func get(t *testing.T, handler http.Handler, target string) *httptest.ResponseRecorder {
	t.Helper()
	answer := httptest.NewRecorder()
	handler.ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodGet, target, nil))
	if got := answer.Header().Get("Content-Type"); got != "application/json" {
		t.Errorf("%s: content type %q", target, got)
	}
	return answer
}

// names are the blocks of a list, in its order: the last digit of their hashes.
func names(t *testing.T, answer *httptest.ResponseRecorder) string {
	t.Helper()
	var list []struct {
		BlockHash string `json:"block_hash"`
	}
	if err := json.Unmarshal(answer.Body.Bytes(), &list); err != nil || list == nil {
		t.Fatalf("%d %s: want a list", answer.Code, answer.Body)
	}
	var found []string
	for _, row := range list {
		found = append(found, row.BlockHash[len(row.BlockHash)-1:])
	}
	return strings.Join(found, " ")
}

// lists checks which blocks each query lists.
func lists(t *testing.T, path string, table []struct{ row, query, want string }) {
	t.Helper()
	handler := serving(t, story()...)
	for _, test := range table {
		t.Run(test.row+"_"+test.query, func(t *testing.T) {
			answer := get(t, handler, path+"?"+test.query)
			if answer.Code != http.StatusOK {
				t.Fatalf("%d %s", answer.Code, answer.Body)
			}
			if got := names(t, answer); got != test.want {
				t.Errorf("blocks %q, want %q", got, test.want)
			}
			if test.want == "" && answer.Body.String() != "[]" {
				t.Errorf("%s, want []", answer.Body)
			}
		})
	}
}

// refuses checks what each query is refused with: always 400, always JSON.
func refuses(t *testing.T, path string, table []struct{ row, query, want string }) {
	t.Helper()
	handler := serving(t, story()...)
	for _, test := range table {
		t.Run(test.row+"_"+test.query, func(t *testing.T) {
			answer := get(t, handler, path+"?"+test.query)
			var refused struct {
				Code    int
				Message string
			}
			if err := json.Unmarshal(answer.Body.Bytes(), &refused); err != nil {
				t.Fatalf("%s: %v", answer.Body, err)
			}
			if answer.Code != http.StatusBadRequest || refused.Code != answer.Code || refused.Message != test.want {
				t.Errorf("%d %s\nwant 400 %s", answer.Code, answer.Body, test.want)
			}
		})
	}
}

// upper is a 0x text in the other letter case.
func upper(raw []byte) string { return fmt.Sprintf("0x%X", raw) }

func indented(t *testing.T, answer *httptest.ResponseRecorder) string {
	t.Helper()
	var raw json.RawMessage = answer.Body.Bytes()
	text, err := json.MarshalIndent(raw, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text) + "\n"
}

// What clients of deployed relays parse, to the letter.
func TestAnswers(t *testing.T) {
	handler := serving(t, story()...)
	for name, target := range map[string]string{
		"delivered":    delivered + "?slot=7",
		"received":     received + "?slot=7",
		"registration": registration + "?pubkey=" + proposerA.String(),
	} {
		t.Run(name, func(t *testing.T) {
			answer := get(t, handler, target)
			if answer.Code != http.StatusOK {
				t.Fatalf("%d %s", answer.Code, answer.Body)
			}
			golden.File(t, "testdata/"+name+".json", indented(t, answer))
		})
	}
}

func TestOtherMethods(t *testing.T) {
	handler := serving(t)
	for _, path := range []string{delivered, received, registration} {
		for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodDelete, http.MethodOptions} {
			answer := httptest.NewRecorder()
			handler.ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), method, path, nil))
			if answer.Code != http.StatusMethodNotAllowed || !strings.Contains(answer.Header().Get("Allow"), http.MethodGet) {
				t.Errorf("%s %s: %d, Allow %q", method, path, answer.Code, answer.Header().Get("Allow"))
			}
		}
	}
}

// brokenArchive fails as a database does.
type brokenArchive struct{}

var errDatabase = errors.New("SELECT value FROM received: disk I/O error")

func (brokenArchive) Delivered(context.Context, relay.TraceQuery) ([]relay.Trace, error) {
	return nil, errDatabase
}

func (brokenArchive) Received(context.Context, relay.TraceQuery) ([]relay.ReceivedTrace, error) {
	return nil, errDatabase
}

func (brokenArchive) Registration(context.Context, phase0.BLSPubKey) (*relay.SignedRegistration, error) {
	return nil, errDatabase
}

// X16, Y9: what breaks behind the API is nothing for the public.
func TestNoInternalsInErrors(t *testing.T) {
	for _, target := range []string{delivered, received + "?slot=1", registration + "?pubkey=" + proposerA.String()} {
		answer := get(t, mount(brokenArchive{}), target)
		const want = `{"code":500,"message":"internal error"}`
		if got := answer.Body.String(); answer.Code != http.StatusInternalServerError || got != want {
			t.Errorf("%s: %d %s, want 500 %s", target, answer.Code, got, want)
		}
	}
}
