package serve

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"
	"time"

	"pgregory.net/rapid"
)

var limitStart = time.Unix(1_700_000_000, 0)

// naive is a bucket as one would write it on paper.
type naive struct {
	tokens float64
	last   time.Time
}

func (n *naive) allow(at time.Time, perSecond float64, burst int) bool {
	n.tokens = min(float64(burst), n.tokens+at.Sub(n.last).Seconds()*perSecond)
	n.last = at
	if n.tokens < 1-1e-6 {
		return false
	}
	n.tokens--
	return true
}

func TestLimiterAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		perSecond, burst := float64(rapid.IntRange(1, 20).Draw(t, "rate")), rapid.IntRange(1, 5).Draw(t, "burst")
		limiter, models := NewLimiter(perSecond, burst, 10), map[string]*naive{}
		at := limitStart
		for range rapid.IntRange(1, 50).Draw(t, "requests") {
			at = at.Add(time.Duration(rapid.IntRange(0, 500).Draw(t, "pause")) * time.Millisecond)
			key := rapid.SampledFrom([]string{"a", "b"}).Draw(t, "key")
			if models[key] == nil {
				models[key] = &naive{tokens: float64(burst), last: at}
			}
			want := models[key].allow(at, perSecond, burst)
			got, wait := limiter.Allow(at, key)
			if got != want || got != (wait == 0) {
				t.Fatalf("allowed %v (wait %v), want %v with %v tokens", got, wait, want, models[key].tokens)
			}
		}
	})
}

// However many clients come, memory is bounded; a client that is refused must wait as long as it was told, and no longer.
func TestLimiterIsBounded(t *testing.T) {
	limiter := NewLimiter(1, 2, 100)
	for i := range 100_000 {
		if ok, _ := limiter.Allow(limitStart, fmt.Sprint(i)); !ok {
			t.Fatal("the first request of a client is refused")
		}
	}
	if limiter.Len() != 100 {
		t.Errorf("%d keys are remembered", limiter.Len())
	}
	key := "99999"
	limiter.Allow(limitStart, key)
	ok, wait := limiter.Allow(limitStart, key)
	if ok || wait != time.Second {
		t.Errorf("third request at once: %v, come back after %v", ok, wait)
	}
	if ok, _ := limiter.Allow(limitStart.Add(wait), key); !ok {
		t.Error("refused although it waited as it was told")
	}
}

type tooMany struct{}

func (tooMany) Error() string   { return "too many requests" }
func (tooMany) HTTPStatus() int { return http.StatusTooManyRequests }

func TestLimitAnswers(t *testing.T) {
	limiter := NewLimiter(0.25, 1, 10)
	handler := Limit(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }),
		func() time.Time { return limitStart }, func(r *http.Request) (*Limiter, string) {
			if r.URL.Path == "/free" {
				return nil, ""
			}
			return limiter, "one"
		}, tooMany{})
	ask := func(path string) *httptest.ResponseRecorder {
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, path, http.NoBody))
		return answer
	}
	if first := ask("/"); first.Code != 204 {
		t.Errorf("first: %d", first.Code)
	}
	if second := ask("/"); second.Code != 429 || second.Header().Get("Retry-After") != "4" || second.Body.String() != `{"code":429,"message":"too many requests"}` {
		t.Errorf("second: %d %v %s", second.Code, second.Header(), second.Body)
	}
	if free := ask("/free"); free.Code != 204 {
		t.Errorf("without a limiter: %d", free.Code)
	}
}

func TestClientIP(t *testing.T) {
	proxies := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}
	for _, row := range []struct{ remote, forwarded, want string }{
		{"203.0.113.5:1234", "", "203.0.113.5"},
		{"203.0.113.5:1234", "198.51.100.7", "203.0.113.5"}, // no proxy of ours: anybody can write a header
		{"10.0.0.1:1234", "198.51.100.7", "198.51.100.7"},
		{"10.0.0.1:1234", "192.0.2.1, 198.51.100.7, 10.0.0.2", "198.51.100.7"}, // the first was written by the client itself
		{"10.0.0.1:1234", "", "10.0.0.1"},
		{"10.0.0.1:1234", "nonsense", "10.0.0.1"},
		{"[2001:db8:1:2:3:4:5:6]:1234", "", "2001:db8:1:2::/64"},
		{"[::ffff:203.0.113.5]:1234", "", "203.0.113.5"},
		{"pipe", "", "pipe"},
	} {
		r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
		r.RemoteAddr = row.remote
		if row.forwarded != "" {
			r.Header.Set("X-Forwarded-For", row.forwarded)
		}
		if got := ClientIP(r, proxies); got != row.want {
			t.Errorf("%s (%q): %s, want %s", row.remote, row.forwarded, got, row.want)
		}
	}
}
