package api

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
)

// factLines has three facts, and breaks after some of them.
type factLines struct{ breaks int }

// WriteFacts implements FactLog.
func (f factLines) WriteFacts(_ context.Context, after uint64, out io.Writer) error {
	for n := after + 1; n <= 3; n++ {
		if int(n) == f.breaks {
			return errors.New("the journal is away")
		}
		if _, err := fmt.Fprintf(out, "{\"seq\":%d}\n", n); err != nil {
			return err
		}
	}
	return nil
}

// Facts come from a number on. What breaks before the first one is an error, later the answer is
// cut off.
func TestFacts(t *testing.T) {
	h := newAdminAPI(t)
	for path, want := range map[string]string{
		"/admin/v1/facts":          "200 {\"seq\":1}\n{\"seq\":2}\n{\"seq\":3}\n",
		"/admin/v1/facts?after=2":  "200 {\"seq\":3}\n",
		"/admin/v1/facts?after=3":  "200 ",
		"/admin/v1/facts?after=99": "200 ",
	} {
		answer := h.ask("GET", path, "Bearer "+token, "")
		if got := fmt.Sprintf("%d %s", answer.Code, answer.Body); got != want ||
			answer.Header().Get("Content-Type") != "application/x-ndjson" {
			t.Errorf("%s: %q of %q, not %q", path, got, answer.Header().Get("Content-Type"), want)
		}
	}
	for _, path := range []string{"/admin/v1/facts?after=-1", "/admin/v1/facts?after=x", "/admin/v1/facts?after=%"} {
		if answer := h.ask("GET", path, "Bearer "+token, ""); answer.Code != 400 {
			t.Errorf("%s: %d %s", path, answer.Code, answer.Body)
		}
	}
	if answer := h.ask("GET", "/admin/v1/facts", "", ""); answer.Code != 401 {
		t.Errorf("without a token: %d", answer.Code)
	}
	h.facts.breaks = 1
	if answer := h.ask("GET", "/admin/v1/facts", "Bearer "+token, ""); answer.Code != 500 {
		t.Errorf("before the first fact: %d %s", answer.Code, answer.Body)
	}
	h.facts.breaks = 3
	server := httptest.NewServer(h.handler)
	defer server.Close()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+"/admin/v1/facts", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+token)
	answer, err := server.Client().Do(request)
	if err == nil {
		defer answer.Body.Close()
		_, err = io.ReadAll(answer.Body)
	}
	if err == nil {
		t.Error("half of the facts look like all of them")
	}
}
