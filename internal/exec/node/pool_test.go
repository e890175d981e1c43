package node

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/exec"
	"github.com/gavel-relay/gavel/internal/upstream"
)

// behaviour is how a node answers one request: with a body, or not at all.
type behaviour func(*http.Request) (body string, err error)

const goodBody = `{"jsonrpc":"2.0","id":1,"result":null}`

func errorBody(message string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":%q}}`, message)
}

func says(body string) behaviour { return func(*http.Request) (string, error) { return body, nil } }

var (
	nothing           = says(goodBody)
	lost              = says(errorBody("unknown ancestor"))
	dead    behaviour = func(*http.Request) (string, error) { return "", errors.New("connection refused") }
	hanging behaviour = func(r *http.Request) (string, error) {
		<-r.Context().Done()
		return "", r.Context().Err()
	}
)

// asked are nodes without a network, and the record of who was asked.
type asked struct {
	mu    sync.Mutex // guards all
	nodes map[string]behaviour
	hosts []string
	high  []bool
}

func (a *asked) RoundTrip(r *http.Request) (*http.Response, error) {
	a.mu.Lock()
	act := a.nodes[r.URL.Host]
	a.hosts, a.high = append(a.hosts, r.URL.Host), append(a.high, r.Header.Get("X-High-Priority") == "true")
	a.mu.Unlock()
	body, err := act(r)
	if err != nil {
		return nil, err
	}
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
}

func (a *asked) count() int { return len(a.take(false)) }

// take returns who was asked, in order; with forget, the record begins anew.
func (a *asked) take(forget bool) []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	hosts := slices.Clone(a.hosts)
	if forget {
		a.hosts = nil
	}
	return hosts
}

func (a *asked) turn(host string, into behaviour) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.nodes[host] = into
}

// poolOf is a pool of nodes a, b, c, … that behave as told.
func poolOf(t *testing.T, cfg Config, nodes ...behaviour) (*Pool, *asked) {
	t.Helper()
	world := &asked{nodes: map[string]behaviour{}}
	for i, each := range nodes {
		host := string(rune('a' + i))
		cfg.URLs = append(cfg.URLs, "http://user:secret@"+host+"/secret")
		world.nodes[host] = each
	}
	cfg.HTTP = &http.Client{Transport: world}
	p, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return p, world
}

func expect(t *testing.T, got exec.Verdict, class exec.Class, rule exec.Rule) {
	t.Helper()
	if got.Class != class || got.Rule != rule {
		t.Errorf("%+v, want class %d, rule %q", got, class, rule)
	}
	if strings.Contains(got.Detail, "secret") {
		t.Errorf("%q tells a secret", got.Detail)
	}
}

// What each kind of trouble comes to, with one node and with a good one behind it.
func TestTroubleAndFailOver(t *testing.T) {
	for name, row := range map[string]struct {
		first behaviour
		rule  exec.Rule // of a pool that has this node only
		live  bool      // and whether it is usable afterwards
	}{
		"connection refused": {dead, exec.RuleUnavailable, false},
		"hanging":            {hanging, exec.RuleUnavailable, false},
		"garbage":            {says("<html>busy</html>"), exec.RuleUnavailable, false},
		"endless":            {says(`{"result":"` + strings.Repeat("x", 1<<20)), exec.RuleUnavailable, false},
		"method not found":   {says(`{"error":{"code":-32601,"message":"Method not found"}}`), exec.RuleUnsupported, false},
		"syncing":            {says(errorBody("syncing")), exec.RuleUnavailable, false},
		"parent missing":     {lost, exec.RuleParent, true},
		"state missing":      {says(errorBody("missing trie node")), exec.RuleMissingState, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				block := filled(eth.Fulu, 0, 0)
				p, _ := poolOf(t, Config{}, row.first)
				expect(t, p.Validate(t.Context(), block), exec.Infrastructure, row.rule)
				if p.Live() != row.live {
					t.Errorf("live: %t", p.Live())
				}
				p, world := poolOf(t, Config{}, row.first, nothing)
				expect(t, p.Validate(t.Context(), block), exec.Valid, "")
				if got := world.take(false); !slices.Equal(got, []string{"a", "b"}) || !p.Live() {
					t.Errorf("asked %v, live %t", got, p.Live())
				}
				if got := p.Works(); !maps.Equal(got, map[string]bool{"a": row.live, "b": true}) {
					t.Errorf("working nodes: %v", got)
				}
			})
		})
	}
}

// A verdict against the block is final: no second node is asked.
func TestInvalidIsFinal(t *testing.T) {
	p, world := poolOf(t, Config{}, says(errorBody("could not verify proposer payment")), nothing)
	expect(t, p.Validate(t.Context(), filled(eth.Fulu, 0, 0)), exec.Invalid, exec.RulePayment)
	if world.count() != 1 || !p.Live() {
		t.Errorf("asked %v, live %t", world.hosts, p.Live())
	}
}

// One block is not carried to more than three nodes.
func TestTriesAreBounded(t *testing.T) {
	p, world := poolOf(t, Config{}, dead, dead, dead, nothing)
	expect(t, p.Validate(t.Context(), filled(eth.Fulu, 0, 0)), exec.Infrastructure, exec.RuleUnavailable)
	if world.count() != maxTries || !p.Live() {
		t.Errorf("asked %v, live %t", world.hosts, p.Live())
	}
}

// A node that fails is left aside for 250 ms, then twice as long each time up to 30 s, and is asked
// once after each pause. An answer makes all good.
func TestPausesGrow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		block := filled(eth.Fulu, 0, 0)
		p, world := poolOf(t, Config{}, dead)
		want := 250 * time.Millisecond
		for range 10 {
			world.take(true)
			expect(t, p.Validate(t.Context(), block), exec.Infrastructure, exec.RuleUnavailable)
			time.Sleep(want - 1) // of the test's own clock
			expect(t, p.Validate(t.Context(), block), exec.Infrastructure, exec.RuleUnavailable)
			if world.count() != 1 {
				t.Fatalf("asked %d times within a pause of %s", world.count(), want)
			}
			time.Sleep(time.Nanosecond)
			want = min(2*want, 30*time.Second)
		}
		world.turn("a", nothing)
		if p.Live() {
			t.Error("live before it answered")
		}
		expect(t, p.Validate(t.Context(), block), exec.Valid, "")
		if !p.Live() {
			t.Error("not live although it answered")
		}
		world.turn("a", dead)
		p.Validate(t.Context(), block)
		time.Sleep(upstream.FirstPause)
		world.turn("a", nothing)
		expect(t, p.Validate(t.Context(), block), exec.Valid, "") // the pause was the first again
	})
}

// After a pause one block tries the node; others wait for how it goes, and go to proven nodes when
// they are of high priority.
func TestTrialIsOneBlock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		block := filled(eth.Fulu, 0, 0)
		p, world := poolOf(t, Config{PerNode: 1}, dead, nothing)
		p.Validate(t.Context(), block)
		time.Sleep(upstream.FirstPause)
		world.take(true)
		high := *block
		high.Priority = exec.High
		expect(t, p.Validate(t.Context(), &high), exec.Valid, "")
		expect(t, p.Validate(t.Context(), block), exec.Valid, "")
		if got := world.take(true); !slices.Equal(got, []string{"b", "a", "b"}) {
			t.Errorf("asked %v, want the high block at the proven node and the normal one to try the other first", got)
		}

		alone, world := poolOf(t, Config{}, dead)
		alone.Validate(t.Context(), block)
		time.Sleep(upstream.FirstPause)
		world.take(true)
		world.turn("a", func(*http.Request) (string, error) {
			time.Sleep(time.Second)
			return goodBody, nil
		})
		var group sync.WaitGroup
		for range 3 {
			group.Go(func() { expect(t, alone.Validate(t.Context(), block), exec.Valid, "") })
		}
		synctest.Wait()
		if world.count() != 1 {
			t.Errorf("%d blocks try the node", world.count())
		}
		group.Wait()
	})
}

// Failures that were under way together are one failure.
func TestFailuresTogetherCountOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		block := filled(eth.Fulu, 0, 0)
		block.Priority = exec.Known // strangers never have all places of a node
		p, world := poolOf(t, Config{PerNode: 4, Timeout: time.Second}, hanging)
		var group sync.WaitGroup
		for range 8 { // four are asked for, four wait in the queue
			group.Go(func() { expect(t, p.Validate(t.Context(), block), exec.Infrastructure, exec.RuleUnavailable) })
		}
		group.Wait()
		if world.count() != 4 {
			t.Errorf("asked %d times", world.count())
		}
		time.Sleep(upstream.FirstPause)
		world.turn("a", nothing)
		expect(t, p.Validate(t.Context(), block), exec.Valid, "")
	})
}

// A block that takes too long does not speak against a node that meanwhile judges others.
func TestSlowBlockIsNotTheNodesFault(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, world := poolOf(t, Config{Timeout: time.Second}, hanging)
		slowly := make(chan exec.Verdict)
		go func() { slowly <- p.Validate(t.Context(), filled(eth.Fulu, 0, 0)) }()
		synctest.Wait()
		world.turn("a", nothing)
		expect(t, p.Validate(t.Context(), filled(eth.Fulu, 0, 0)), exec.Valid, "")
		expect(t, <-slowly, exec.Infrastructure, exec.RuleUnavailable)
		if !p.Live() {
			t.Error("the node was blamed")
		}
	})
}

// A node that lacks the parents of two slots without judging anything has stopped following; any
// number of bad blocks of one slot has not that effect, nor have two slots with a judgement in
// between.
func TestNodeThatStoppedFollowing(t *testing.T) {
	p, world := poolOf(t, Config{}, lost)
	on := func(parent byte) *exec.Block {
		b := filled(eth.Fulu, 0, 0)
		b.Payload.ParentHash = phase0.Hash32{parent}
		return b
	}
	for range 10 {
		expect(t, p.Validate(t.Context(), on(1)), exec.Infrastructure, exec.RuleParent)
	}
	world.turn("a", nothing)
	expect(t, p.Validate(t.Context(), on(1)), exec.Valid, "")
	world.turn("a", lost)
	expect(t, p.Validate(t.Context(), on(2)), exec.Infrastructure, exec.RuleParent)
	if !p.Live() {
		t.Fatal("left aside too early")
	}
	expect(t, p.Validate(t.Context(), on(3)), exec.Infrastructure, exec.RuleParent)
	if p.Live() {
		t.Error("still used")
	}
	expect(t, p.Validate(t.Context(), on(3)), exec.Infrastructure, exec.RuleUnavailable)
}

// Nodes take PerNode at once; who waits is served high before normal and by arrival within one.
func TestQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const perNode = 2
		var mu sync.Mutex
		inFlight, most := map[string]int{}, 0
		count := func(r *http.Request) (string, error) {
			mu.Lock()
			inFlight[r.URL.Host]++
			most = max(most, inFlight[r.URL.Host])
			mu.Unlock()
			time.Sleep(time.Second)
			mu.Lock()
			inFlight[r.URL.Host]--
			mu.Unlock()
			return goodBody, nil
		}
		p, world := poolOf(t, Config{PerNode: perNode}, count, count)
		var group sync.WaitGroup
		var done []string
		send := func(name string, priority exec.Priority) {
			group.Go(func() {
				b := filled(eth.Fulu, 0, 0)
				b.Priority = priority
				expect(t, p.Validate(t.Context(), b), exec.Valid, "")
				mu.Lock()
				done = append(done, name)
				mu.Unlock()
			})
			synctest.Wait()
			time.Sleep(time.Millisecond) // so that places come free one by one
		}
		for i := range 4 {
			send(fmt.Sprint("first", i), exec.Known)
		}
		if spread := world.take(false); !slices.Equal(spread, []string{"a", "b", "a", "b"}) {
			t.Errorf("%v, want least in flight", spread)
		}
		for _, name := range []string{"n1", "n2", "h1", "n3", "h2"} {
			priority := exec.Normal
			if name[0] == 'h' {
				priority = exec.High
			}
			send(name, priority)
		}
		group.Wait()
		if want := []string{"first0", "first1", "first2", "first3", "h1", "h2", "n1", "n2", "n3"}; !slices.Equal(done, want) {
			t.Errorf("done in order %v, want %v", done, want)
		}
		if most != perNode {
			t.Errorf("%d at once at one node", most)
		}
		if want := []bool{false, false, false, false, true, true, false, false, false}; !slices.Equal(world.high, want) {
			t.Errorf("marked as high: %v", world.high)
		}
	})
}

// A block that lost its node is served before those that came after it.
func TestFailOverKeepsThePlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, world := poolOf(t, Config{PerNode: 1}, func(*http.Request) (string, error) {
			time.Sleep(500 * time.Millisecond)
			return "", errors.New("died")
		}, func(*http.Request) (string, error) {
			time.Sleep(time.Second)
			return goodBody, nil
		})
		var group sync.WaitGroup
		var mu sync.Mutex // guards done
		var done []int
		for i := range 3 { // 0 is on a, 1 on b, 2 waits
			group.Go(func() {
				expect(t, p.Validate(t.Context(), filled(eth.Fulu, 0, 0)), exec.Valid, "")
				mu.Lock()
				done = append(done, i)
				mu.Unlock()
			})
			synctest.Wait()
		}
		group.Wait()
		if !slices.Equal(done, []int{1, 0, 2}) {
			t.Errorf("done in order %v, asked %v", done, world.hosts)
		}
	})
}

// The caller's deadline ends waiting and asking, blames nobody, and leaves no place taken.
func TestInterrupted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		why := errors.New("the slot is over")
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, why)
		defer cancel()
		p, world := poolOf(t, Config{PerNode: 1, Timeout: time.Minute}, hanging)
		var group sync.WaitGroup
		for range 2 { // one is asked for, one waits
			group.Go(func() {
				got := p.Validate(ctx, filled(eth.Fulu, 0, 0))
				expect(t, got, exec.Infrastructure, exec.RuleInterrupted)
				if got.Detail != why.Error() {
					t.Errorf("%q", got.Detail)
				}
			})
		}
		group.Wait()
		expect(t, p.Validate(ctx, filled(eth.Fulu, 0, 0)), exec.Infrastructure, exec.RuleInterrupted)
		if world.count() != 1 || !p.Live() || len(p.waiting) != 0 {
			t.Errorf("asked %d times, live %t, %d waiting", world.count(), p.Live(), len(p.waiting))
		}
		world.turn("a", nothing)
		expect(t, p.Validate(t.Context(), filled(eth.Fulu, 0, 0)), exec.Valid, "")
	})
}

func TestConfig(t *testing.T) {
	for _, urls := range [][]string{nil, {""}, {"localhost:8545"}, {"ftp://a"}, {"http://"},
		{"http://a", "http://user:secret@a:b:c"}} {
		if _, err := New(Config{URLs: urls}); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v", urls, err)
		}
	}
}
