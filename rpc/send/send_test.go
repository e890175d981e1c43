package send

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/google/uuid"

	"github.com/gavel-relay/gavel/rpc"
)

const taken = `{"jsonrpc":"2.0","id":1,"result":null}`

// world is an in-memory transport: each builder by its host, and what it was sent, in order.
type world struct {
	builders map[string]func(ctx context.Context, attempt int) (status int, answer string, err error)

	mu    sync.Mutex // guards heard
	heard map[string][]string
}

func (w *world) RoundTrip(r *http.Request) (*http.Response, error) {
	body, _ := io.ReadAll(r.Body)
	host := r.URL.Host
	w.mu.Lock()
	if w.heard == nil {
		w.heard = map[string][]string{}
	}
	w.heard[host] = append(w.heard[host], nameOf(body))
	attempt := len(w.heard[host])
	w.mu.Unlock()
	answer := w.builders[host]
	if answer == nil {
		answer = func(context.Context, int) (int, string, error) { return 200, taken, nil }
	}
	status, text, err := answer(r.Context(), attempt)
	if err != nil {
		return nil, err
	}
	return &http.Response{StatusCode: status, Body: io.NopCloser(strings.NewReader(text)), Request: r}, nil
}

// nameOf is what the tests call a request: its block, or "cancel".
func nameOf(body []byte) string {
	var r struct {
		Method string
		Params []struct{ BlockNumber string }
	}
	if err := json.Unmarshal(body, &r); err != nil {
		return err.Error()
	}
	if r.Method == "eth_cancelBundle" {
		return "cancel"
	}
	return cmp.Or(r.Params[0].BlockNumber, r.Method)
}

func (w *world) said(host string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return strings.Join(w.heard[host], " ")
}

// after takes its time; the end of the request comes first if it does.
func after(wait time.Duration) func(context.Context, int) (int, string, error) {
	return func(ctx context.Context, _ int) (int, string, error) {
		select {
		case <-time.After(wait):
			return 200, taken, nil
		case <-ctx.Done():
			return 0, "", ctx.Err()
		}
	}
}

// diary takes deliveries, each as a queue.
type diary struct {
	mu    sync.Mutex // guards lines
	lines []string
}

func (d *diary) told(delivery rpc.Delivery) {
	d.mu.Lock()
	defer d.mu.Unlock()
	how := cmp.Or(delivery.Error, "taken")
	d.lines = append(d.lines, fmt.Sprintf("%s %d %d ms: %s", delivery.Builder, delivery.Block, delivery.TookMs, how))
}

func (d *diary) check(t *testing.T, want ...string) {
	t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	if !slices.Equal(d.lines, want) {
		t.Errorf("deliveries:\n  %s\nwant:\n  %s", strings.Join(d.lines, "\n  "), strings.Join(want, "\n  "))
	}
}

// order is one for blocks 1 to 100, with a replacementUuid if version is not 0.
func order(id uint64, version byte) *rpc.Order {
	o := &rpc.Order{ID: id, Kind: rpc.KindBundle, Signer: common.Address{1}, Bundle: rpc.Bundle{
		Elements: []rpc.Element{{Tx: &rpc.Transaction{Raw: []byte{2}, Hash: common.Hash{3}}}},
		Window:   rpc.Window{FirstBlock: 1, LastBlock: 100},
	}}
	if version != 0 {
		o.Replacement = uuid.UUID{15: version}
	}
	return o
}

// own are the operator's own builders, which all understand cancellations.
func own(names ...string) (r Registry) {
	for _, name := range names {
		r = append(r, Builder{Name: name, URL: "http://" + name, APIs: []string{APIBundle, APICancel}, Own: true})
	}
	return r
}

// start runs a sender; the function that it returns ends it and waits until it has ended.
func start(t *testing.T, cfg Config) (*Sender, func()) {
	t.Helper()
	s := New(cfg)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := s.Run(ctx); err != nil {
			t.Error(err)
		}
	}()
	return s, func() { cancel(); <-done }
}

func TestDeliveries(t *testing.T) {
	refused := errors.New("connection refused")
	for name, c := range map[string]struct {
		builder func(context.Context, int) (int, string, error)
		want    string
		heard   string
	}{
		"taken": {after(20 * time.Millisecond), "a 7 20 ms: taken", "0x7"},
		"the network fails once": {func(_ context.Context, attempt int) (int, string, error) {
			if attempt == 1 {
				return 0, "", refused
			}
			return 200, taken, nil
		}, "a 7 50 ms: taken", "0x7 0x7"},
		"the network fails always": {func(context.Context, int) (int, string, error) { return 0, "", refused },
			"a 7 150 ms: post: connection refused", "0x7 0x7 0x7"},
		"busy twice": {func(_ context.Context, attempt int) (int, string, error) {
			if attempt <= 2 {
				return 503, "busy", nil
			}
			return 200, taken, nil
		}, "a 7 150 ms: taken", "0x7 0x7 0x7"},
		"no answer": {after(time.Hour), "a 7 3150 ms: post: no answer in 1s", "0x7 0x7 0x7"},
		"refused": {fixed(200, `{"error":{"code":-32000,"message":"bad nonce"}}`),
			`a 7 0 ms: refused: -32000 "bad nonce"`, "0x7"},
		"refused, 500": {fixed(500, `{"error":{"code":-32000,"message":"bad nonce"}}`),
			`a 7 0 ms: refused: -32000 "bad nonce"`, "0x7"},
		"not allowed": {fixed(403, `forbidden`), "a 7 0 ms: status 403", "0x7"},
		"elsewhere":   {fixed(307, ``), "a 7 0 ms: status 307", "0x7"},
		"no JSON": {fixed(200, `ok`), "a 7 0 ms: read answer: invalid character 'o' looking for beginning of value",
			"0x7"},
		"no result": {fixed(200, `{}`), "a 7 0 ms: the answer has neither result nor error", "0x7"},
		"endless": {fixed(200, strings.Repeat(" ", maxAnswer+1)), "a 7 0 ms: the answer is longer than 65536 bytes",
			"0x7"},
		"error is null": {fixed(200, `{"result":{"bundleHash":"0x1"},"error":null}`), "a 7 0 ms: taken", "0x7"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := &world{builders: map[string]func(context.Context, int) (int, string, error){"a": c.builder}}
				s, end := start(t, Config{Builders: own("a"), Client: w})
				var d diary
				s.Send(order(1, 0), 7, d.told)
				end()
				d.check(t, c.want)
				if got := w.said("a"); got != c.heard {
					t.Errorf("builder heard %q, want %q", got, c.heard)
				}
			})
		})
	}
}

func fixed(status int, answer string) func(context.Context, int) (int, string, error) {
	return func(context.Context, int) (int, string, error) { return status, answer, nil }
}

func TestNothingIsSentThatABuilderCannotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{}
		s, end := start(t, Config{Client: w, Builders: Registry{{Name: "plain", URL: "http://plain", Own: true}}})
		var d diary
		s.Send(order(1, 5), 7, d.told)
		s.Send(order(2, 0), 101, d.told)
		end()
		d.check(t,
			"plain 7 0 ms: the order has a replacementUuid, and the builder takes none",
			"plain 101 0 ms: convert to eth_sendBundle: order cannot be converted: block 101 is not in 1 to 100")
		if got := w.said("plain"); got != "" {
			t.Errorf("builder heard %q, want nothing", got)
		}
	})
}

func TestSlowBuilderDelaysNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{builders: map[string]func(context.Context, int) (int, string, error){
			"slow": after(900 * time.Millisecond), "quick": after(time.Millisecond),
		}}
		s, end := start(t, Config{Builders: own("slow", "quick"), Client: w})
		var d diary
		for block := uint64(1); block <= 3; block++ {
			s.Send(order(block, 0), block, d.told)
		}
		time.Sleep(10 * time.Millisecond)
		d.check(t, "quick 1 1 ms: taken", "quick 2 1 ms: taken", "quick 3 1 ms: taken")
		end()
		d.check(t, "quick 1 1 ms: taken", "quick 2 1 ms: taken", "quick 3 1 ms: taken",
			"slow 1 900 ms: taken", "slow 2 900 ms: taken", "slow 3 900 ms: taken")
	})
}

func TestParallelRequestsKeepTheOrderOfAReplacement(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{builders: map[string]func(context.Context, int) (int, string, error){"a": after(100 * time.Millisecond)}}
		s, end := start(t, Config{Builders: own("a"), Client: w, Parallel: 3})
		var d diary
		s.Send(order(1, 5), 1, d.told)
		s.Send(order(2, 5), 2, d.told) // replaces the first: it must come after it
		synctest.Wait()
		s.Send(order(3, 6), 3, d.told)
		time.Sleep(50 * time.Millisecond)
		if got := w.said("a"); got != "0x1 0x3" {
			t.Errorf("after 50 ms the builder heard %q, want 0x1 0x3: 0x2 waits for 0x1 and holds up nobody else", got)
		}
		end()
		if got := w.said("a"); got != "0x1 0x3 0x2" {
			t.Errorf("builder heard %q, want 0x1 0x3 0x2", got)
		}
	})
}

func TestFullLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{builders: map[string]func(context.Context, int) (int, string, error){"a": after(time.Second / 2)}}
		s, end := start(t, Config{Builders: own("a"), Client: w, Queue: 2})
		var d diary
		for block := uint64(1); block <= 4; block++ {
			s.Send(order(block, 0), block, d.told)
			synctest.Wait()
		}
		d.check(t, "a 2 0 ms: given up: too many newer orders wait for the builder")
		if got := s.Queues()[0]; got != (QueueLength{Builder: "a", Waiting: 2, Dropped: 1}) {
			t.Errorf("line is %+v, want two that wait and one that was dropped", got)
		}
		end()
		if got := w.said("a"); got != "0x1 0x3 0x4" {
			t.Errorf("builder heard %q, want 0x1 0x3 0x4", got)
		}
	})
}

func TestCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{builders: map[string]func(context.Context, int) (int, string,
			error){"busy": after(300 * time.Millisecond)}}
		s, end := start(t,
			Config{Client: w, Builders: append(own("busy", "has", "never"), Builder{Name: "deaf", URL: "http://deaf",
				Own: true})})
		var d, other diary
		s.Send(order(1, 5), 1, d.told)
		synctest.Wait()
		s.Send(order(2, 6), 2, other.told)
		s.Send(order(1, 5), 3, func(delivery rpc.Delivery) {
			if delivery.Builder == "busy" {
				d.told(delivery)
			}
		})
		synctest.Wait()
		// busy is being sent block 1, and block 3 waits for it; HAS is known to have it, and so is deaf,
		// which understands no cancellation.
		s.Cancel(order(1, 5), []string{"HAS", "deaf"})
		s.Cancel(order(9, 0), []string{"has"}) // nothing that a builder could know it by
		end()
		for host, want := range map[string]string{"busy": "0x1 0x2 cancel", "has": "0x1 0x2 0x3 cancel",
			"never": "0x1 0x2 0x3", "deaf": ""} {
			if got := w.said(host); got != want {
				t.Errorf("%s heard %q, want %q", host, got, want)
			}
		}
		if got := d.lines[len(d.lines)-1]; !slices.Contains(d.lines, "busy 3 0 ms: cancelled before it was sent") {
			t.Errorf("deliveries end with %q, want that block 3 was cancelled for busy", got)
		}
	})
}

func TestDrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{builders: map[string]func(context.Context, int) (int, string, error){"a": after(700 * time.Millisecond)}}
		s, end := start(t, Config{Builders: own("a"), Client: w, Drain: time.Second})
		var d diary
		for block := uint64(1); block <= 3; block++ {
			s.Send(order(block, 0), block, d.told)
		}
		synctest.Wait()
		end()
		s.Send(order(4, 0), 4, d.told)
		synctest.Wait()
		d.check(t, "a 1 700 ms: taken", "a 2 300 ms: post: the service stops", "a 3 0 ms: post: the service stops",
			"a 4 0 ms: the service stops")
	})
}

func TestUnknownNamesAreCounted(t *testing.T) {
	s := New(Config{Builders: own("a"), Client: &world{}})
	o := order(1, 0)
	o.Builders = []string{"nobody", "a", "default", "nowhere"}
	s.Send(o, 1, func(rpc.Delivery) {})
	s.Send(o, 2, func(rpc.Delivery) {})
	if got := s.Unknown(); got != 4 {
		t.Errorf("%d unknown names, want 2 for each time that the order was sent", got)
	}
}
