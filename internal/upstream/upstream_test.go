package upstream_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gavel-relay/gavel/internal/serve/servetest"
	"github.com/gavel-relay/gavel/internal/upstream"
)

// Both ways of ranking keep the contract.
func TestContract(t *testing.T) {
	good := servetest.NodeRole(func(r *http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: http.StatusNoContent, Body: http.NoBody, Request: r}, nil
	})
	for name, cfg := range map[string]upstream.Config{
		"failed nodes pause":         {Timeout: time.Second, PauseFailed: true},
		"the last one is asked next": {Timeout: time.Second, StayWithLast: true},
	} {
		t.Run(name, func(t *testing.T) {
			servetest.PoolContract(t, good, func(t *testing.T, urls []string, client *http.Client) servetest.PoolQuestion {
				pool := upstream.NewPool(len(urls), cfg)
				return func(ctx context.Context) error {
					return pool.Ask(ctx, func(ctx context.Context, node int) error {
						request, err := http.NewRequestWithContext(ctx, http.MethodGet, urls[node], http.NoBody)
						if err != nil {
							return err
						}
						response, err := client.Do(request)
						if err != nil {
							return err
						}
						return response.Body.Close()
					}, func(int, error) {})
				}
			})
		})
	}
}

func TestParse(t *testing.T) {
	for _, urls := range [][]string{nil, {""}, {"node:8545"}, {"ftp://node"}, {"http://good", "http://"},
		{"http://user:secret@node:port"}} {
		if _, err := upstream.Parse("node", urls, "http", "https"); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v", urls, err)
		}
	}
	got, err := upstream.Parse("node", []string{"http://user:secret@a:1/x", "wss://b"}, "http", "wss")
	want := []upstream.Endpoint{{Name: "a:1", URL: "http://user:secret@a:1/x", Scheme: "http"},
		{Name: "b", URL: "wss://b", Scheme: "wss"}}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v, want %v", got, err, want)
	}
}

// Two endpoints may share host and port: then both must be well.
func TestByName(t *testing.T) {
	endpoints := []upstream.Endpoint{{Name: "a"}, {Name: "b"}, {Name: "a"}, {Name: "c"}}
	for bad, want := range map[int]map[string]bool{
		0: {"a": false, "b": true, "c": true}, 2: {"a": false, "b": true, "c": true}, 3: {"a": true, "b": true, "c": false},
	} {
		if got := upstream.ByName(endpoints, func(i int) bool { return i != bad }); !maps.Equal(got, want) {
			t.Errorf("%d is bad: %v, want %v", bad, got, want)
		}
	}
}

// Pauses double up to 30 s; tries that fail within a pause do not make it longer, and an answer
// ends all that.
func TestHealth(t *testing.T) {
	var h upstream.Health
	at := time.Unix(0, 0)
	for i, pause := range []time.Duration{250, 500, 1000, 2000, 4000, 8000, 16000, 30_000, 30_000} {
		pause *= time.Millisecond
		if !h.Ready(at) || h.Failures() != i || h.Healthy() != (i == 0) {
			t.Errorf("after %d failures: ready %t, %d failures, healthy %t", i, h.Ready(at), h.Failures(), h.Healthy())
		}
		h.Fail(at)
		h.Fail(at.Add(pause / 2))
		if at = at.Add(pause); h.Pause() != pause || h.Ready(at.Add(-1)) {
			t.Errorf("failure %d: a pause of %s, want %s", i+1, h.Pause(), pause)
		}
	}
	if h.Succeed(); !h.Healthy() || !h.Ready(time.Unix(0, 0)) {
		t.Errorf("it answered, but has %d failures", h.Failures())
	}
}

// Nodes that are held back come last, among equals those whose pause ends first come first, and the
// rest is in the order of the list, or begins with the node that answered last.
func TestRank(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		heldBack := map[int]bool{}
		pausing := upstream.NewPool(3, upstream.Config{Timeout: time.Second, PauseFailed: true,
			HeldBack: func() map[int]bool { return heldBack }})
		staying := upstream.NewPool(3, upstream.Config{Timeout: time.Second, StayWithLast: true,
			HeldBack: func() map[int]bool { return heldBack }})
		fail := func(pool *upstream.Pool, node int) {
			if err := pool.Try(t.Context(), node, func(context.Context, int) error { return errors.New("failed") }); err == nil {
				t.Error("no error")
			}
		}
		want := func(what string, pool *upstream.Pool, order ...int) {
			t.Helper()
			if got := pool.Rank(time.Now()); !slices.Equal(got, order) {
				t.Errorf("%s: %v, want %v", what, got, order)
			}
		}
		want("nothing is known", pausing, 0, 1, 2)
		fail(pausing, 0)
		want("one has failed", pausing, 1, 2, 0)
		<-time.After(time.Millisecond)
		fail(pausing, 1)
		want("two have failed", pausing, 2, 0, 1)
		heldBack[2] = true
		want("the third is held back", pausing, 0, 1, 2)
		delete(heldBack, 2)
		<-time.After(upstream.FirstPause)
		want("all pauses are over", pausing, 0, 1, 2)

		answeredBy := func(node int) {
			err := staying.Ask(t.Context(), func(_ context.Context, n int) error {
				if n != node {
					return fmt.Errorf("node %d failed", n)
				}
				return nil
			}, func(int, error) {})
			if err != nil {
				t.Error(err)
			}
		}
		answeredBy(1)
		want("the second has answered", staying, 1, 2, 0)
		heldBack[1] = true
		want("it is held back", staying, 2, 0, 1)
	})
}

// An error that is an answer blames nobody; all errors are told, in the order of the tries.
func TestAskTellsFailures(t *testing.T) {
	unknown := errors.New("unknown block")
	pool := upstream.NewPool(2, upstream.Config{
		Timeout: time.Second, PauseFailed: true, Answered: func(err error) bool { return errors.Is(err, unknown) },
	})
	var told []string
	err := pool.Ask(t.Context(), func(context.Context, int) error { return unknown },
		func(node int, err error) { told = append(told, fmt.Sprint(node, " ", err)) })
	if !errors.Is(err, upstream.ErrNoAnswer) || !slices.Equal(told, []string{"0 unknown block", "1 unknown block"}) {
		t.Errorf("%v, told %q", err, told)
	}
	if got := pool.Rank(time.Now()); !slices.Equal(got, []int{0, 1}) {
		t.Errorf("ranked %v: a node is blamed for an answer", got)
	}
}

// A caller who leaves gets the cause, and no node is blamed for it.
func TestAskWhoLeaves(t *testing.T) {
	pool := upstream.NewPool(2, upstream.Config{Timeout: time.Second, PauseFailed: true})
	enough := errors.New("enough")
	ctx, leave := context.WithCancelCause(t.Context())
	err := pool.Ask(ctx, func(ctx context.Context, _ int) error {
		leave(enough)
		return ctx.Err()
	}, func(int, error) { t.Error("a failure is told") })
	if !errors.Is(err, enough) {
		t.Errorf("%v, want %v", err, enough)
	}
	if got := pool.Rank(time.Now()); !slices.Equal(got, []int{0, 1}) {
		t.Errorf("ranked %v: a node is blamed", got)
	}
}

func TestWithoutURL(t *testing.T) {
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://node/secret", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	refused := errors.New("connection refused")
	client := http.Client{Transport: servetest.NodeRole(func(*http.Request) (*http.Response, error) {
		return nil, refused
	})}
	_, err = client.Do(request) //nolint:bodyclose // there is none
	if got := upstream.WithoutURL(err); !errors.Is(got, refused) || strings.Contains(got.Error(), "secret") {
		t.Errorf("%v", got)
	}
	if got := upstream.WithoutURL(refused); !errors.Is(got, refused) {
		t.Errorf("%v", got)
	}
}
