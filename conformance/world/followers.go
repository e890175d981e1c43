package world

import (
	"context"
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync/atomic"

	"github.com/gavel-relay/gavel/conformance/probe"
)

// Followers says how often others than the suite and the world itself have asked the world's nodes.
// A target that never asks follows another chain, or none.
type Followers struct {
	Beacon    int64 `json:"beacon"`
	Execution int64 `json:"execution"`
}

// followers counts requests to the world's nodes.
type followers struct{ ofBeacon, ofExecution asked }

// asked is how many requests a node has had from others than the suite and the world.
type asked struct{ times atomic.Int64 }

// countRequests counts requests before the handler has them.
func (a *asked) countRequests(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.UserAgent() != probe.UserAgent {
			a.times.Add(1)
		}
		next.ServeHTTP(w, r)
	})
}

func (f *followers) now() Followers {
	return Followers{Beacon: f.ofBeacon.times.Load(), Execution: f.ofExecution.times.Load()}
}

// execution hands requests on to the execution node, also those for a websocket.
func (w *World) execution() http.Handler {
	node, err := url.Parse(w.network.Chain.RPCURL())
	if err != nil {
		panic("the execution node's own address: " + err.Error())
	}
	return httputil.NewSingleHostReverseProxy(node)
}

// Followers returns how often the target has asked the world's nodes.
func (c *Client) Followers(ctx context.Context) (f Followers, err error) {
	err = c.ask(ctx, http.MethodGet, "/conformance/v1/followers", nil, &f)
	return f, err
}
