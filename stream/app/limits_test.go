package app

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/gavel-relay/gavel/stream"
	"github.com/gavel-relay/gavel/stream/api"
)

// An address that asks too often is told to come again, and another one is not; a page of another
// origin may read that.
func TestRequestsOfAnAddressAreBounded(t *testing.T) {
	a, err := New(t.Context(), Config{Limits: Limits{PerSecond: 1, Burst: 2}})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	ask := func(from string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(http.MethodGet, "/api/v1/history/info", nil)
		r.RemoteAddr = from
		answer := httptest.NewRecorder()
		a.Handler().ServeHTTP(answer, r)
		return answer
	}
	refused := 0
	for range 10 {
		answer := ask("203.0.113.1:1")
		if answer.Code == http.StatusOK {
			continue
		}
		refused++
		if answer.Code != api.Statuses[stream.RateLimited.ID] || answer.Header().Get("Retry-After") == "" ||
			answer.Header().Get("Access-Control-Allow-Origin") != "*" {
			t.Errorf("%d %v", answer.Code, answer.Header())
		}
	}
	if refused < 5 {
		t.Errorf("%d of 10 are refused", refused)
	}
	if answer := ask("198.51.100.1:1"); answer.Code != http.StatusOK {
		t.Errorf("another address is answered %d", answer.Code)
	}
}
