package app_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/relay/api"
)

const (
	deliveredPath    = "/relay/v1/data/bidtraces/proposer_payload_delivered"
	receivedPath     = "/relay/v1/data/bidtraces/builder_blocks_received"
	registrationPath = "/relay/v1/data/validator_registration"
)

// listed is a list of the Data API.
func (h *relayUnderTest) listed(t testing.TB, path string) []map[string]any {
	t.Helper()
	got := h.get(t, path, nil)
	var rows []map[string]any
	if err := json.Unmarshal(got.body, &rows); err != nil || got.status != http.StatusOK || rows == nil {
		t.Fatalf("%s: %v, %s", path, err, got)
	}
	return rows
}

// answer is what came back, whole.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// String is for messages of tests.
func (a answer) String() string { return fmt.Sprintf("%d %.300s", a.status, a.body) }

func jsonHeader() http.Header { return http.Header{"Content-Type": {"application/json"}} }

func (h *relayUnderTest) get(t testing.TB, path string, header http.Header) answer {
	t.Helper()
	return h.do(t, http.MethodGet, path, header, nil)
}

func (h *relayUnderTest) post(t testing.TB, path string, header http.Header, body []byte) answer {
	t.Helper()
	return h.do(t, http.MethodPost, path, header, body)
}

func (h *relayUnderTest) do(t testing.TB, method, path string, header http.Header, body []byte) answer {
	t.Helper()
	// Cleanups send requests too, when the test's context has ended.
	got, err := h.try(context.WithoutCancel(t.Context()), method, path, header, body)
	must(t, err)
	return got
}

// try is for goroutines, where a test cannot be ended.
func (h *relayUnderTest) try(ctx context.Context, method, path string, header http.Header,
	body []byte) (answer, error) {
	request, err := http.NewRequestWithContext(ctx, method, h.relayURL+path, bytes.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	for name, values := range header {
		request.Header[name] = values
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return answer{}, err
	}
	defer response.Body.Close()
	raw, err := io.ReadAll(response.Body)
	return answer{response.StatusCode, response.Header, raw}, err
}

// wantStatus checks the status, and the common error body of a refusal.
func (a answer) wantStatus(t testing.TB, status int) {
	t.Helper()
	if a.status != status {
		t.Errorf("got %s, want status %d", a, status)
		return
	}
	if status >= 400 {
		a.wantErrorBody(t)
	}
}

// wantErrorBody wants the common error body and returns its message.
func (a answer) wantErrorBody(t testing.TB) string {
	t.Helper()
	message, err := a.errorMessage()
	if err != nil {
		t.Error(err)
	}
	return message
}

// errorMessage reads the common error body: one JSON document with code and message (builder-specs,
// "ErrorMessage").
func (a answer) errorMessage() (string, error) {
	var document struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	}
	err := json.Unmarshal(a.body, &document) // fails at a second document
	if err != nil || document.Code != a.status || document.Message == "" ||
		a.header.Get("Content-Type") != "application/json" {
		return "", fmt.Errorf("got %s as %q, want one JSON document with code and message", a, a.header.Get("Content-Type"))
	}
	return document.Message, nil
}

// wantRefusal checks status, id, message and what the message goes on to say.
func (a answer) wantRefusal(t testing.TB, refusal relay.Refusal, detail string) {
	t.Helper()
	if id := a.header.Get("X-Refusal"); a.status != api.Statuses[refusal.ID] || id != refusal.ID {
		t.Errorf("got %s named %q, want %d %s", a, id, api.Statuses[refusal.ID], refusal.ID)
		return
	}
	message := a.wantErrorBody(t)
	if rest, found := strings.CutPrefix(message, refusal.Short); !found || !strings.Contains(rest, detail) {
		t.Errorf("got %q, want %q with %q", message, refusal.Short, detail)
	}
}

func zip(t testing.TB, raw []byte) []byte {
	t.Helper()
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, err := w.Write(raw)
	must(t, err)
	must(t, w.Close())
	return packed.Bytes()
}
