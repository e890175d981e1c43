package api

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gavel-relay/gavel/internal/serve"
	"github.com/gavel-relay/gavel/relay"
)

// Each way in which a body cannot be had is a refusal of the catalogue, and none is the server's
// own fault but a lack of memory.
func TestBodyRefusals(t *testing.T) {
	for _, row := range []struct {
		name, encoding, body string
		want                 relay.Refusal
	}{
		{"too long", "", strings.Repeat("x", 101), relay.BodyTooLarge},
		{"in another encoding", "br", "x", relay.UnsupportedMediaType},
		{"not what it says", "gzip", "x", relay.BodyUnreadable},
	} {
		r := httptest.NewRequest("POST", "/", strings.NewReader(row.body))
		r.Header.Set("Content-Encoding", row.encoding)
		if _, refused := Body(httptest.NewRecorder(), r, 100); refused == nil || refused.ID != row.want.ID {
			t.Errorf("%s: %v, want %s", row.name, refused, row.want.ID)
		}
	}
}

// When the budget of bodies is spent, the next is told to come again.
func TestBodyWithoutRoomIsToldToComeAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		handler := serve.NewBodyBudget(0, time.Second).Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if _, refused := Body(w, r, 4<<20); refused != nil {
				Refuse(w, r, refused)
				return
			}
			<-release
		}))
		ask := func() *httptest.ResponseRecorder {
			answer := httptest.NewRecorder()
			handler.ServeHTTP(answer, httptest.NewRequest("POST", "/", strings.NewReader(strings.Repeat("x", 2<<20))))
			return answer
		}
		go ask() // of the 4 MiB that an address has, this takes 2, and some bytes
		synctest.Wait()
		answer := ask()
		if want := relay.Overloaded; answer.Code != Statuses[want.ID] || answer.Header().Get("Retry-After") != "1" {
			t.Errorf("%d %s, retry after %q", answer.Code, answer.Body, answer.Header().Get("Retry-After"))
		}
		close(release)
	})
}
