package jsonrpc

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"github.com/gavel-relay/gavel/internal/clock"
	"github.com/gavel-relay/gavel/internal/serve"
	"github.com/gavel-relay/gavel/rpc"
)

const small = `{"jsonrpc":"2.0","id":1,"method":"eth_null"}`

// post asks a handler, as alice unless the headers (name, value, …) say otherwise.
func post(handler http.Handler, body string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest("POST", "/", strings.NewReader(body))
	r.Header.Set("X-Flashbots-Signature", "alice")
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	return w
}

// What a method is told about its caller.
func TestCall(t *testing.T) {
	noon := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	var got *Call
	config := testConfig()
	config.Clock = clock.NewStepped(noon)
	config.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")} // httptest's clients
	config.OriginHeaders = []string{"X-House-Origin", "X-Flashbots-Origin"}
	config.Aliases = map[string][]string{"eth_": {"house_"}}
	config.Methods["eth_keep"] = func(_ context.Context, call *Call) (any, error) { got = call; return nil, nil }
	answer := post(mustServer(t, config), `{"jsonrpc":"2.0","id":1,"method":"house_keep","params":[ {"a": 1} ,"b"]}`,
		"X-Forwarded-For", "198.51.100.7", "X-Flashbots-Origin", "theirs", "X-House-Origin", "ours")
	if got == nil {
		t.Fatal(answer.Body)
	}
	if got.Method != "eth_keep" || got.Signer != alice || !got.ReceivedAt.Equal(noon) ||
		got.Client.String() != "198.51.100.7" || got.Origin != "ours" {
		t.Errorf("%+v", got)
	}
	if string(got.Params) != `[ {"a": 1} ,"b"]` {
		t.Errorf("params %s", got.Params)
	}
}

// The signature is that of the bytes of the body, decompressed and otherwise as they came, and
// asked for once for all entries.
func TestVerifiedOnceOverTheBytes(t *testing.T) {
	body := " [" + small + " ,\n" + small + "]\t"
	var packed bytes.Buffer
	writer := gzip.NewWriter(&packed)
	if _, err := writer.Write([]byte(body)); err != nil {
		t.Fatal(err)
	}
	writer.Close()
	var verified []string
	config := testConfig()
	config.Verify = func(_ http.Header, body []byte) (common.Address, error) {
		verified = append(verified, string(body))
		return alice, nil
	}
	server := mustServer(t, config)
	post(server, body)
	post(server, packed.String(), "Content-Encoding", "gzip")
	if !slices.Equal(verified, []string{body, body}) {
		t.Errorf("verified %q", verified)
	}
	verified = nil
	post(server, `[{"jsonrpc":"2.0","id":1,"method":"eth_unknown"},7]`)
	if verified != nil {
		t.Errorf("verified %q, though nothing can be called", verified)
	}
}

// Who observes hears of each request once, by names that nobody outside can choose.
func TestObserve(t *testing.T) {
	for name, row := range map[string]struct {
		body string
		want []string
	}{
		"a result":     {small, []string{"eth_null "}},
		"an alias":     {`{"jsonrpc":"2.0","id":1,"method":"vendor_open"}`, []string{"flashbots_open "}},
		"a refusal":    {`{"jsonrpc":"2.0","id":1,"method":"eth_refuse"}`, []string{"eth_refuse bundle-empty"}},
		"a crash":      {`{"jsonrpc":"2.0","id":1,"method":"eth_crash"}`, []string{"eth_crash internal"}},
		"unknown":      {`{"jsonrpc":"2.0","id":1,"method":"eth_x"}`, []string{" method-not-found"}},
		"wrong params": {`{"jsonrpc":"2.0","id":1,"method":"eth_null","params":1}`, []string{"eth_null invalid-params"}},
		"no JSON":      {`{`, []string{" parse-error"}},
		"notification": {`{"jsonrpc":"2.0","method":"eth_null"}`, []string{"eth_null "}},
		"a batch": {"[" + small + `,{"jsonrpc":"2.0","id":1,"method":"eth_refuse"}]`,
			[]string{"eth_null ", "eth_refuse bundle-empty"}},
		"an empty list": {"[]", []string{" invalid-request"}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			config := testConfig()
			config.Aliases = map[string][]string{"flashbots_": {"vendor_"}}
			config.Observe = func(method, refusalID string, _ time.Duration) { got = append(got, method+" "+refusalID) }
			post(mustServer(t, config), row.body)
			if !slices.Equal(got, row.want) {
				t.Errorf("heard %q, want %q", got, row.want)
			}
		})
	}
}

func TestObserveHearsTheMethodsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got time.Duration
		config := testConfig()
		config.Methods["eth_slow"] = func(context.Context, *Call) (any, error) { time.Sleep(time.Second); return nil, nil }
		config.Observe = func(_, _ string, took time.Duration) { got = took }
		post(mustServer(t, config), `{"jsonrpc":"2.0","id":1,"method":"eth_slow"}`)
		if got != time.Second {
			t.Errorf("took %v", got)
		}
	})
}

// The cause of an internal error is in the log, beside the request's id, and never in the answer.
func TestCausesAreLogged(t *testing.T) {
	for _, method := range []string{"eth_fail", "eth_crash", "eth_unwritable", "eth_badData"} {
		var log bytes.Buffer
		handler := serve.Wrap(mustServer(t, testConfig()), slog.New(slog.NewTextHandler(&log, nil)))
		answer := post(handler, `{"jsonrpc":"2.0","id":1,"method":"`+method+`"}`, "X-Request-Id", "ours-1")
		if !strings.Contains(log.String(), "ours-1") || !strings.Contains(log.String(), "cause=") {
			t.Errorf("%s: the log has %s", method, &log)
		}
		if strings.Contains(answer.Body.String(), "secret") || !strings.Contains(answer.Body.String(), "-32603") {
			t.Errorf("%s: the answer has %s", method, answer.Body)
		}
	}
}

// When there is no room for bodies, the caller is told to come again.
func TestOverloaded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		config := testConfig()
		config.Methods["eth_wait"] = func(context.Context, *Call) (any, error) { <-release; return nil, nil }
		handler := serve.NewBodyBudget(0, time.Second).Wrap(mustServer(t, config))
		body := `{"jsonrpc":"2.0","id":1,"method":"eth_wait"` + strings.Repeat(" ", 2<<20) + `}` // an address has 4 MiB
		var answers [2]*httptest.ResponseRecorder
		done := make(chan int)
		for i := range answers {
			go func() { answers[i] = post(handler, body); done <- i }()
		}
		late := answers[<-done]
		close(release)
		for range len(answers) - 1 {
			<-done
		}
		if late.Code != 503 || late.Header().Get("Retry-After") != "1" || !strings.Contains(late.Body.String(), "-32005") {
			t.Errorf("%d %v %s", late.Code, late.Header(), late.Body)
		}
	})
}

// A client's bucket fills up again; another's is its own.
func TestLimitsFillUpAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		config := testConfig()
		config.Limits = Limits{Client: Rate{PerSecond: 2}, Signer: Rate{PerSecond: 100}}
		config.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}
		server := mustServer(t, config)
		for i, row := range []struct {
			wait   time.Duration
			client string
			status int
			retry  string
			left   string
		}{
			{0, "198.51.100.1", 200, "", "1"},
			{0, "198.51.100.1", 200, "", "0"},
			{0, "198.51.100.1", 429, "1", "0"},
			{0, "198.51.100.2", 200, "", "1"},
			{499 * time.Millisecond, "198.51.100.1", 429, "1", "0"},
			{time.Millisecond, "198.51.100.1", 200, "", "0"},
			{0, "2001:db8::1", 200, "", "1"},
			{0, "2001:db8::2", 200, "", "0"}, // the same network
			{0, "2001:db8::3", 429, "1", "0"},
			{time.Hour, "198.51.100.1", 200, "", "1"},
		} {
			time.Sleep(row.wait)
			answer := post(server, small, "X-Forwarded-For", row.client)
			header := answer.Header()
			if answer.Code != row.status || header.Get("Retry-After") != row.retry ||
				header.Get("X-RateLimit-Remaining") != row.left {
				t.Errorf("row %d: %d %v", i, answer.Code, header)
			}
		}
	})
}

// A client that asks too often is not read any further, except to find the id of a small request.
func TestLimitedBodiesAreNotRead(t *testing.T) {
	config := testConfig()
	config.Limits.Client = Rate{PerSecond: 0.001, Burst: 1}
	server := mustServer(t, config)
	post(server, small)
	for size, want := range map[int]string{worthReading: `"id":1,`, worthReading + 1: `"id":null,`} {
		answer := post(server, small+strings.Repeat(" ", size-len(small)))
		if answer.Code != 429 || !strings.Contains(answer.Body.String(), want) {
			t.Errorf("%d bytes: %d %s, want %s", size, answer.Code, answer.Body, want)
		}
	}
	r := httptest.NewRequest("POST", "/", failing{t})
	w := httptest.NewRecorder()
	server.ServeHTTP(w, r)
	if w.Code != 429 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// failing is a body that nobody may read.
type failing struct{ t *testing.T }

func (f failing) Read([]byte) (int, error) {
	f.t.Error("the body was read")
	return 0, errors.New("read")
}

func TestUnlimited(t *testing.T) {
	config := testConfig()
	config.Limits.Client = Rate{PerSecond: -1}
	answer := post(mustServer(t, config), small)
	if answer.Code != 200 || answer.Header().Get("X-RateLimit-Limit") != "" {
		t.Errorf("%d %v", answer.Code, answer.Header())
	}
	if answer := post(mustServer(t, testConfig()), small); answer.Header().Get("X-RateLimit-Limit") != "10000" ||
		answer.Header().Get("X-RateLimit-Remaining") != "9999" {
		t.Errorf("by default %v", answer.Header())
	}
}

func TestNewRefuses(t *testing.T) {
	for name, row := range map[string]struct {
		set  func(*Config)
		want string
	}{
		"no verifier": {func(c *Config) { c.Verify = nil }, "nobody verifies signatures"},
		"no method without signature": {func(c *Config) {
			c.Unsigned = []string{"eth_x"}
		}, `unknown method "eth_x" needs no signature`},
		"no method with a limit": {
			func(c *Config) {
				c.Limits.Methods = map[string]Rate{"eth_x": {PerSecond: 1}}
			}, `unknown method "eth_x" has a rate limit`,
		},
		"two methods of one name": {func(c *Config) {
			c.Methods["flashbots_null"] = echo
			c.Aliases = map[string][]string{"eth_": {"x_"}, "flashbots_": {"x_"}}
		}, `"x_null" would be both`},
	} {
		config := testConfig()
		row.set(&config)
		if _, err := New(config); err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: %v, want %s", name, err, row.want)
		}
	}
}

// Documents may lie beside the requests.
func TestHandle(t *testing.T) {
	server := mustServer(t, testConfig())
	server.Handle("GET", "/livez", serve.Livez)
	w := httptest.NewRecorder()
	server.ServeHTTP(w, httptest.NewRequest("GET", "/livez", nil))
	if w.Code != 200 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	w = httptest.NewRecorder()
	server.ServeHTTP(w, httptest.NewRequest("POST", "/livez", nil))
	if w.Code != 405 || w.Header().Get("Allow") != "GET, HEAD" ||
		!strings.Contains(w.Body.String(), rpc.MethodNotAllowed.Short) {
		t.Errorf("%d %v %s", w.Code, w.Header(), w.Body)
	}
}

func TestNames(t *testing.T) {
	config := testConfig()
	config.Methods = map[string]Method{"flashbots_b": echo, "eth_a": echo}
	config.Unsigned = nil
	config.Aliases = map[string][]string{"flashbots_": {"vendor_"}}
	if got := mustServer(t, config).Names(); !slices.Equal(got, []string{"eth_a", "flashbots_b", "vendor_b"}) {
		t.Errorf("%q", got)
	}
}
