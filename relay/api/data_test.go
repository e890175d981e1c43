package api_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	builderv1 "github.com/attestantio/go-builder-client/api/v1"
	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/internal/eth/bls"
	"github.com/gavel-relay/gavel/internal/projection"
	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/relay/api"
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
	builderA, builderB   = bls.Derive("builder", 0).PublicKey(), bls.Derive("builder", 1).PublicKey()
	proposerA, proposerB = bls.Derive("proposer", 0).PublicKey(), bls.Derive("proposer", 1).PublicKey()
	// infinity is a point that no secret key leads to, noPoint is on no curve.
	infinity, noPoint = phase0.BLSPubKey{0xc0}, phase0.BLSPubKey{0xba, 0xba}
)

func hash(n int) (hash phase0.Hash32) {
	for i := range hash {
		hash[i] = 0xa0 + byte(n)
	}
	return hash
}

func trace(slot phase0.Slot, block int, value string) relay.Trace {
	return relay.Trace{
		Slot: slot, ParentHash: hash(0), BlockHash: hash(block), Builder: builderA, Proposer: proposerA,
		FeeRecipient: relay.FeeRecipient{0xFE},
		GasLimit:     36_000_000, GasUsed: 21_000, ValueWei: uint256.MustFromDecimal(value), NumTx: 3, NumBlobs: 2,
		BlockNumber: 100 + uint64(slot),
	}
}

// story is four blocks that were received and delivered, one bid that was refused, one below the
// floor, and one registration.
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
				FeeRecipient: relay.FeeRecipient{0xFE, 0xED}, GasLimit: 36_000_000, Timestamp: day.Truncate(time.Second),
				Pubkey: proposerA,
			},
			Signature: phase0.BLSSignature{0xAB, 0xCD},
		}})
}

// serving is the API over a real archive with some facts.
func serving(t *testing.T, facts ...relay.Fact) http.Handler {
	t.Helper()
	a, err := archive.Open(t.Context(), "sqlite::memory:", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
	var entries []projection.Entry
	for i, fact := range facts {
		raw, err := json.Marshal(fact)
		if err != nil {
			t.Fatal(err)
		}
		entries = append(entries, projection.Entry{Seq: uint64(i + 1), Subject: "relay." + fact.Subject(), Data: raw})
	}
	if err := a.Apply(t.Context(), entries); err != nil {
		t.Fatal(err)
	}
	return mount(a)
}

func mount(a api.Archive) http.Handler {
	mux := api.NewMux()
	api.MountData(mux, api.DataConfig{Archive: a})
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

// row is one query and its answer. The clause is the one that the answer follows from, if one says
// more of it than what the query means.
type row struct {
	clause, query string
	// want is the blocks that are listed, or the status and the message of a refusal; "500" asks an
	// archive that is broken.
	want string
}

// check asks all queries of a table. Each of the clauses must be among its rows.
func check(t *testing.T, path string, table []row, clauses ...string) {
	t.Helper()
	handler, broken := serving(t, story()...), mount(brokenArchive{})
	for _, test := range table {
		t.Run(test.clause+"_"+test.query, func(t *testing.T) {
			asked := handler
			if strings.HasPrefix(test.want, "500 ") {
				asked = broken
			}
			answer := get(t, asked, path+"?"+test.query)
			if got := outcome(t, answer); got != test.want {
				t.Errorf("%s\nwant %s", got, test.want)
			}
		})
	}
	for _, clause := range clauses {
		if !slices.ContainsFunc(table, func(test row) bool { return test.clause == clause }) {
			t.Errorf("no query shows clause %s", clause)
		}
	}
}

// outcome is an answer as the tables write it.
func outcome(t *testing.T, answer *httptest.ResponseRecorder) string {
	t.Helper()
	body := answer.Body.String()
	switch {
	case answer.Code != http.StatusOK:
		var refused struct {
			Code    int
			Message string
		}
		if err := json.Unmarshal(answer.Body.Bytes(), &refused); err != nil || refused.Code != answer.Code {
			t.Fatalf("%d %s: %v", answer.Code, body, err)
		}
		return fmt.Sprintf("%d %s", refused.Code, refused.Message)
	case body == "[]":
		return ""
	case strings.HasPrefix(body, "["):
		return names(t, answer)
	}
	return body
}

// upper is a 0x text in the other letter case.
func upper(raw []byte) string { return fmt.Sprintf("0x%X", raw) }

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

func (brokenArchive) ReceivedMark(context.Context, phase0.Slot) (relay.Mark, error) {
	return relay.Mark{}, errDatabase
}

func (brokenArchive) Delivered(context.Context, relay.TraceQuery) ([]relay.DeliveredTrace, error) {
	return nil, errDatabase
}

func (brokenArchive) Received(context.Context, relay.TraceQuery) ([]relay.ReceivedTrace, error) {
	return nil, errDatabase
}

func (brokenArchive) Registration(context.Context, phase0.BLSPubKey) (*relay.SignedRegistration, error) {
	return nil, errDatabase
}

// A relay starts without its database and answers what it can: the Data API says when it cannot.
func TestArchiveUnavailable(t *testing.T) {
	// nobody has asked it yet
	a, err := archive.Open(t.Context(), "postgres://gavel:secret@127.0.0.1:1/gavel", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	for _, target := range []string{delivered, received + "?slot=1", registration + "?pubkey=" + proposerA.String()} {
		answer := get(t, mount(a), target)
		const want = `{"code":503,"message":"the archive is not available"}`
		if got := answer.Body.String(); answer.Code != http.StatusServiceUnavailable || got != want {
			t.Errorf("%s: %d %s, want 503 %s", target, answer.Code, got, want)
		}
	}
}
