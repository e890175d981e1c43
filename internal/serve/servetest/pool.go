package servetest

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// longestPause is the longest pause of a node that failed.
const longestPause = 30 * time.Second

// PoolQuestion puts a question to a pool. It returns nil if a node answered.
type PoolQuestion func(ctx context.Context) error

// PoolContract checks a pool that open opens with URLs of nodes and a client without a network.
// good answers the pool's question as a node does. The pool's tries must take at most a minute.
func PoolContract(t *testing.T, good http.RoundTripper, open func(t *testing.T, urls []string,
	client *http.Client) PoolQuestion) {
	t.Helper()
	for name, check := range map[string]func(t *testing.T, nodes *poolNodes, ask PoolQuestion){
		"the first of the list is asked":       checkFirstIsAsked,
		"a node that fails is passed over":     checkFailedIsPassedOver,
		"a node that hangs costs its try once": checkHangingCostsOnce,
		"without an answer there is an error":  checkNoAnswer,
		"a node that is back is asked again":   checkBack,
		"who leaves does not wait":             checkLeaving,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				world := &poolNodes{roles: map[string]http.RoundTripper{"first": good, "second": good}, good: good}
				urls := []string{"http://user:secret@first", "http://user:secret@second"}
				check(t, world, open(t, urls, &http.Client{Transport: world}))
			})
		})
	}
}

func checkFirstIsAsked(t *testing.T, world *poolNodes, ask PoolQuestion) {
	for range 3 {
		if err := ask(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if hosts := world.asked(); slices.Contains(hosts, "second") || len(hosts) == 0 {
		t.Errorf("asked %q", hosts)
	}
}

func checkFailedIsPassedOver(t *testing.T, world *poolNodes, ask PoolQuestion) {
	world.play("first", dead)
	if err := ask(t.Context()); err != nil {
		t.Errorf("the second node has the answer: %v", err)
	}
	if hosts := world.asked(); !slices.Contains(hosts, "first") || !slices.Contains(hosts, "second") {
		t.Errorf("asked %q", hosts)
	}
	if err := ask(t.Context()); err != nil {
		t.Error(err)
	}
	if hosts := world.asked(); slices.Contains(hosts, "first") {
		t.Errorf("a node that failed just now is asked again: %q", hosts)
	}
}

func checkHangingCostsOnce(t *testing.T, world *poolNodes, ask PoolQuestion) {
	world.play("first", hanging)
	for i := range 3 {
		began := time.Now()
		if err := ask(t.Context()); err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took > time.Minute || (i == 0) != (took > 0) {
			t.Errorf("question %d took %s", i, took)
		}
	}
}

func checkNoAnswer(t *testing.T, world *poolNodes, ask PoolQuestion) {
	world.play("first", dead)
	world.play("second", hanging)
	err := ask(t.Context())
	if err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("%v: want an error that tells no password", err)
	}
	if hosts := world.asked(); !slices.Contains(hosts, "first") || !slices.Contains(hosts, "second") {
		t.Errorf("asked %q", hosts)
	}
}

func checkBack(t *testing.T, world *poolNodes, ask PoolQuestion) {
	world.play("first", dead)
	world.play("second", dead)
	for range 20 { // so often that the pause reaches its longest
		if err := ask(t.Context()); err == nil {
			t.Fatal("answered by nobody")
		}
		<-time.After(longestPause)
	}
	world.play("first", world.good)
	if err := ask(t.Context()); err != nil {
		t.Errorf("the first node is back: %v", err)
	}
	world.play("first", dead)
	world.play("second", world.good)
	<-time.After(longestPause)
	if err := ask(t.Context()); err != nil {
		t.Errorf("the second node is back: %v", err)
	}
}

func checkLeaving(t *testing.T, world *poolNodes, ask PoolQuestion) {
	world.play("first", hanging)
	ctx, leave := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- ask(ctx) }()
	synctest.Wait()
	began := time.Now()
	leave()
	if err := <-ended; err == nil {
		t.Error("no error")
	}
	if took := time.Since(began); took != 0 {
		t.Errorf("who left had to wait for %s", took)
	}
	<-time.After(2 * time.Minute) // a request that several callers share goes on
}

// poolNodes are nodes without a network. They record which of them was asked.
type poolNodes struct {
	good http.RoundTripper

	mu    sync.Mutex // guards what follows
	roles map[string]http.RoundTripper
	hosts []string
}

// RoundTrip implements http.RoundTripper.
func (n *poolNodes) RoundTrip(r *http.Request) (*http.Response, error) {
	n.mu.Lock()
	role := n.roles[r.URL.Host]
	n.hosts = append(n.hosts, r.URL.Host)
	n.mu.Unlock()
	return role.RoundTrip(r)
}

func (n *poolNodes) play(host string, role http.RoundTripper) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.roles[host] = role
}

// asked lists the hosts that were asked since the last call.
func (n *poolNodes) asked() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	hosts := n.hosts
	n.hosts = nil
	return hosts
}

// NodeRole is how a node answers.
type NodeRole func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (r NodeRole) RoundTrip(request *http.Request) (*http.Response, error) { return r(request) }

var (
	dead    = NodeRole(func(*http.Request) (*http.Response, error) { return nil, errors.New("connection refused") })
	hanging = NodeRole(func(r *http.Request) (*http.Response, error) {
		<-r.Context().Done()
		return nil, r.Context().Err()
	})
)
