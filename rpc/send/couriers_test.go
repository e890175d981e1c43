package send

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gavel-relay/gavel/rpc"
)

// transport answers in memory, so that time in a test is the test's own.
type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func answer(status int, body string) (*http.Response, error) {
	return &http.Response{StatusCode: status, Body: io.NopCloser(strings.NewReader(body)), Header: make(http.Header)}, nil
}

const yes = `{"jsonrpc":"2.0","id":1,"result":null}`

type fixedSigner struct{}

func (fixedSigner) Sign(body []byte) (string, error) {
	return fmt.Sprintf("signed %d bytes", len(body)), nil
}

// told keeps how requests ended: "builder:order error after ms".
type told struct {
	mu    sync.Mutex
	lines []string
}

func (t *told) done(request Request, d rpc.Delivery) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lines = append(t.lines, strings.TrimRight(fmt.Sprintf("%s:%d after %d ms %s", d.Builder, request.Order, d.TookMs, d.Error), " "))
}

func (t *told) all() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.lines)
}

func (t *told) expect(test *testing.T, want ...string) {
	test.Helper()
	if got := t.all(); !slices.Equal(got, want) {
		test.Errorf("told\n%s\nnot\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func couriers(told *told, config Config, builder transport) *Couriers {
	config.Signer, config.Done, config.Client = fixedSigner{}, told.done, &http.Client{Transport: builder}
	return New(config)
}

func mustSend(t *testing.T, c *Couriers, builder string, request Request) {
	t.Helper()
	if err := c.Send(Builder{Name: builder, URL: "http://" + builder + "/secret"}, request); err != nil {
		t.Fatal(err)
	}
}

func mustClose(t *testing.T, c *Couriers) {
	t.Helper()
	if err := c.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// TestAnswers: what a builder answers, how often it is asked, and what is told of it. The pauses are 50 and 100 ms.
func TestAnswers(t *testing.T) {
	broken := func(*http.Request) (*http.Response, error) { return nil, errors.New("connection refused") }
	silent := func(r *http.Request) (*http.Response, error) { <-r.Context().Done(); return nil, r.Context().Err() }
	says := func(status int, body string) transport {
		return func(*http.Request) (*http.Response, error) { return answer(status, body) }
	}
	for _, row := range []struct {
		name    string
		answers []transport
		want    string
	}{
		{"yes", []transport{says(200, yes)}, "b:1 after 0 ms"},
		{
			"a JSON-RPC error is a no", []transport{says(200, `{"id":1,"error":{"code":-32000,"message":"bundle too late"}}`)},
			"b:1 after 0 ms builder refused: bundle too late",
		},
		{
			"in the legacy dialect too", []transport{says(400, `{"error":"block param must be a hex int"}`)},
			"b:1 after 0 ms builder refused: block param must be a hex int",
		},
		{"an error object without a message", []transport{says(200, `{"error":{"code":7}}`)}, `b:1 after 0 ms builder refused: {"code":7}`},
		{"error null is none", []transport{says(200, `{"error":null,"result":{}}`)}, "b:1 after 0 ms"},
		{"a status below 500 is a no", []transport{says(429, "slow down")}, "b:1 after 0 ms builder answered 429"},
		{"no JSON", []transport{says(200, "<html>")}, "b:1 after 0 ms builder's answer is not JSON-RPC"},
		{"yes the second time", []transport{broken, says(200, yes)}, "b:1 after 50 ms"},
		{"yes the third time", []transport{says(502, ""), broken, says(200, yes)}, "b:1 after 150 ms"},
		{"no the second time", []transport{says(503, ""), says(200, `{"error":"no"}`)}, "b:1 after 50 ms builder refused: no"},
		{"there is no fourth time", []transport{broken, broken, broken}, `b:1 after 150 ms post "builder": connection refused`},
		{"always 500", []transport{says(500, ""), says(500, ""), says(500, yes)}, "b:1 after 150 ms builder answered 500"},
		{"no answer within a second", []transport{silent, says(200, yes)}, "b:1 after 1050 ms"},
		{"never an answer", []transport{silent, silent, silent}, `b:1 after 3150 ms post "builder": context deadline exceeded`},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var told told
				asked := 0
				c := couriers(&told, Config{}, func(r *http.Request) (*http.Response, error) {
					asked++
					if asked > len(row.answers) {
						return nil, errors.New("asked too often")
					}
					return row.answers[asked-1](r)
				})
				mustSend(t, c, "b", Request{Order: 1, Body: []byte("{}")})
				mustClose(t, c)
				told.expect(t, row.want)
				if asked != len(row.answers) {
					t.Errorf("asked %d times, not %d", asked, len(row.answers))
				}
			})
		})
	}
}

// TestSlowBuilderDelaysNobody: a builder that takes 900 ms for each request has them one after another, while another one's are through at once.
func TestSlowBuilderDelaysNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told told
		c := couriers(&told, Config{}, func(r *http.Request) (*http.Response, error) {
			if r.URL.Host == "slow" {
				time.Sleep(900 * time.Millisecond)
			}
			return answer(200, yes)
		})
		mustSend(t, c, "slow", Request{Order: 1})
		mustSend(t, c, "slow", Request{Order: 2})
		mustSend(t, c, "fast", Request{Order: 1})
		mustSend(t, c, "fast", Request{Order: 2})
		synctest.Wait()
		told.expect(t, "fast:1 after 0 ms", "fast:2 after 0 ms")
		mustClose(t, c)
		told.expect(t, "fast:1 after 0 ms", "fast:2 after 0 ms", "slow:1 after 900 ms", "slow:2 after 900 ms")
	})
}

// TestFullQueue: the oldest requests make room, cancels last, and it is counted and told.
func TestFullQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told told
		c := couriers(&told, Config{Queue: 2}, func(*http.Request) (*http.Response, error) {
			time.Sleep(100 * time.Millisecond)
			return answer(200, yes)
		})
		mustSend(t, c, "b", Request{Order: 1})
		synctest.Wait() // it is on its way, and the queue is empty
		mustSend(t, c, "b", Request{Order: 2, Cancel: true})
		for order := range uint64(3) {
			mustSend(t, c, "b", Request{Order: 3 + order})
		}
		mustClose(t, c)
		lost := " after 0 ms " + ErrDropped.Error()
		told.expect(t, "b:1 after 100 ms", "b:3"+lost, "b:4"+lost, "b:2 after 100 ms", "b:5 after 100 ms")
		if c.Dropped() != 2 {
			t.Errorf("%d dropped", c.Dropped())
		}
	})
}

// TestLanes: with more than one on their way, those of one lane still arrive one after the other.
func TestLanes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told told
		c := couriers(&told, Config{Parallel: 2}, func(*http.Request) (*http.Response, error) {
			time.Sleep(100 * time.Millisecond)
			return answer(200, yes)
		})
		mustSend(t, c, "b", Request{Order: 1, Lane: 4})
		mustSend(t, c, "b", Request{Order: 2, Lane: 4})
		mustSend(t, c, "b", Request{Order: 3, Lane: 4})
		time.Sleep(10 * time.Millisecond)
		mustSend(t, c, "b", Request{Order: 4, Lane: 7})
		mustClose(t, c)
		told.expect(t, "b:1 after 100 ms", "b:4 after 100 ms", "b:2 after 100 ms", "b:3 after 100 ms")
	})
}

// TestClose: what waits is delivered, nothing more is taken; and when there is no time for that, what is left is told as failed.
func TestClose(t *testing.T) {
	slow := func(r *http.Request) (*http.Response, error) {
		select {
		case <-time.After(400 * time.Millisecond):
			return answer(200, yes)
		case <-r.Context().Done():
			return nil, r.Context().Err()
		}
	}
	synctest.Test(t, func(t *testing.T) {
		var told told
		c := couriers(&told, Config{}, slow)
		for order := range uint64(3) {
			mustSend(t, c, "b", Request{Order: order})
		}
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		if err := c.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("closed with %v", err)
		}
		told.expect(t, "b:0 after 400 ms", `b:1 after 100 ms post "builder": context canceled`, `b:2 after 0 ms post "builder": context canceled`)
		if err := c.Send(Builder{Name: "b"}, Request{}); !errors.Is(err, ErrClosed) {
			t.Errorf("sent after the end: %v", err)
		}
		mustClose(t, c) // a second time is no mistake
	})
}

// TestWire: over a real connection, what a builder sees: a POST of exactly the body, with the signature of it; redirects are not followed.
func TestWire(t *testing.T) {
	seen := make(chan string, 10)
	builder := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		seen <- fmt.Sprintf("%s %s %s %q %s %v", r.Method, r.URL.Path, r.Header.Get("Content-Type"), r.Header.Get("X-Test-Signature"), body, err)
		if r.URL.Path == "/moved" {
			http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
			return
		}
		fmt.Fprint(w, yes)
	}))
	defer builder.Close()
	var told told
	c := New(Config{Signer: fixedSigner{}, Header: "X-Test-Signature", Done: told.done, Timeout: time.Minute})
	for order, path := range []string{"/rpc", "/moved"} {
		if err := c.Send(Builder{Name: "b", URL: builder.URL + path}, Request{Order: uint64(order), Body: []byte(`{"id":1}`)}); err != nil {
			t.Fatal(err)
		}
	}
	mustClose(t, c)
	close(seen)
	var got []string
	for line := range seen {
		got = append(got, line)
	}
	want := []string{
		`POST /rpc application/json "signed 8 bytes" {"id":1} <nil>`,
		`POST /moved application/json "signed 8 bytes" {"id":1} <nil>`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("the builder saw\n%s", strings.Join(got, "\n"))
	}
	if lines := told.all(); len(lines) != 2 || !strings.HasSuffix(lines[1], "builder answered 307") {
		t.Errorf("told %q", lines)
	}
}

// TestManyAtOnce: every request is told exactly once, one builder's in their order, whoever hands them over.
func TestManyAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told told
		c := couriers(&told, Config{}, func(*http.Request) (*http.Response, error) { return answer(200, yes) })
		var senders sync.WaitGroup
		for b := range 8 {
			senders.Go(func() {
				for order := range uint64(100) {
					mustSend(t, c, fmt.Sprint("b", b), Request{Order: order})
				}
			})
		}
		senders.Wait()
		mustClose(t, c)
		next := make(map[string]int)
		for _, line := range told.all() {
			builder, rest, _ := strings.Cut(line, ":")
			if want := fmt.Sprintf("%d after 0 ms", next[builder]); rest != want {
				t.Fatalf("%s: told %q, not %q", builder, rest, want)
			}
			next[builder]++
		}
		if len(next) != 8 || len(told.all()) != 800 {
			t.Errorf("%d builders, %d told", len(next), len(told.all()))
		}
	})
}
