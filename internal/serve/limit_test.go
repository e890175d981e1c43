package serve

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"
)

func TestLimitRefusesWithTheWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		keyOf := func(r *http.Request) string { return r.Header.Get("Key") }
		handler := Limit(testMux(), NewLimiter(0.4, 1, 10), keyOf, no(429))
		for i, row := range []struct {
			later  time.Duration
			key    string
			status int
			retry  string
		}{
			{0, "a", 200, ""},
			{0, "a", 429, "3"}, // 2.5 s, rounded up
			{0, "", 200, ""},   // nobody's requests are not limited
			{0, "", 200, ""},
			{0, "b", 200, ""},
			{2400 * time.Millisecond, "a", 429, "1"}, // a tenth of a second, but never 0
			{time.Second, "a", 200, ""},
		} {
			time.Sleep(row.later)
			r := httptest.NewRequest("GET", "/read", nil)
			r.Header.Set("Key", row.key)
			answer := httptest.NewRecorder()
			handler.ServeHTTP(answer, r)
			if answer.Code != row.status || answer.Header().Get("Retry-After") != row.retry {
				t.Errorf("row %d: %d, retry after %q, want %d, %q", i, answer.Code, answer.Header().Get("Retry-After"),
					row.status, row.retry)
			}
			if body := `{"code":429,"message":"no Too Many Requests"}`; row.status == 429 && answer.Body.String() != body {
				t.Errorf("row %d: body %s", i, answer.Body)
			}
		}
	})
}

func TestNoLimiterLimitsNothing(t *testing.T) {
	mux := testMux()
	if handler := Limit(mux, nil, nil, no(429)); handler != http.Handler(mux) {
		t.Error("something stands before the mux")
	}
}
