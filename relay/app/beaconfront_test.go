package app_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
)

// front stands before the beacon node. Publications are counted, and answered by a test if it wants
// to.
type front struct {
	url    string
	beacon http.Handler

	mu        sync.Mutex // guards all below
	published int
	publish   http.HandlerFunc // nil passes on
	down      bool
	running   map[int]context.CancelFunc // requests that are not answered yet, events among them
	admitted  int                        // requests so far
	asked     []string                   // their paths
}

// take takes the node off the network, in the midst of its events; bring brings it back.
func (f *front) take() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.down = true
	for _, end := range f.running {
		end()
	}
}

func (f *front) isDown() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.down
}

func (f *front) bring() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.down = false
}

// questions is how many requests have been answered whose path has a part.
func (f *front) questions(part string) (n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, path := range f.asked {
		if strings.Contains(path, part) {
			n++
		}
	}
	return n
}

// admit lets a request in unless the node is off the network. The request it returns ends when the
// node goes; leave says that it has been answered.
func (f *front) admit(r *http.Request) (admitted *http.Request, leave func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.down {
		return nil, nil
	}
	f.asked = append(f.asked, r.URL.Path)
	ctx, end := context.WithCancel(r.Context())
	f.admitted++
	id := f.admitted
	if f.running == nil {
		f.running = map[int]context.CancelFunc{}
	}
	f.running[id] = end
	return r.WithContext(ctx), func() {
		end()
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.running, id)
	}
}

// answers makes the front answer publications itself; nil passes them on again.
func (f *front) answers(publish http.HandlerFunc) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.publish = publish
}

// count is how many publications have come.
func (f *front) count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.published
}

// ServeHTTP implements http.Handler.
func (f *front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	r, leave := f.admit(r)
	if r == nil {
		http.Error(w, "down", http.StatusServiceUnavailable)
		return
	}
	defer leave()
	if r.Method == http.MethodPost && r.URL.Path == "/eth/v2/beacon/blocks" {
		f.mu.Lock()
		f.published++
		publish := f.publish
		f.mu.Unlock()
		if publish != nil {
			body, _ := io.ReadAll(r.Body) // a part of it is one that the node would refuse
			r.Body = io.NopCloser(bytes.NewReader(body))
			publish(w, r)
			return
		}
	}
	f.beacon.ServeHTTP(w, r)
}

// status answers publications with a status.
func status(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
}

// nodeURL is a beacon node that is there.
func (h *relayUnderTest) nodeURL() string {
	if h.fronts[0].isDown() {
		return h.fronts[1].url
	}
	return h.fronts[0].url
}

// allAnswer makes both nodes answer publications in one way; passOn ends that.
func (h *relayUnderTest) allAnswer(publish http.HandlerFunc) {
	for _, front := range h.fronts {
		front.answers(publish)
	}
}

func (h *relayUnderTest) passOn() { h.allAnswer(nil) }
