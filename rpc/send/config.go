package send

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"time"
)

// Defaults of Config.
const (
	DefaultTimeout  = time.Second
	DefaultBackoff  = 50 * time.Millisecond
	DefaultQueue    = 1024
	DefaultParallel = 1
	DefaultDrain    = 5 * time.Second
)

// Config has the builders and how to reach them. Zero durations and counts take the defaults.
type Config struct {
	Builders Registry
	// Header is the name of the header that carries the signature. Sign signs a body with the
	// service's own key; if it is nil, nothing is signed. It is called from many goroutines.
	Header string
	Sign   func(body []byte) string
	// Timeout is for one attempt. Retries is the number of attempts after the first; negative means
	// none, and 0 means 2. Backoff is the wait before the first retry.
	Timeout time.Duration
	Retries int
	Backoff time.Duration
	// Queue is how many messages may wait for one builder.
	Queue int
	// Parallel is how many requests a builder may have at once. With 1, it gets everything in the
	// order of arrival; with more, only messages with the same replacementUuid keep their order.
	Parallel int
	// Drain is how long waiting messages may still be sent after Run's context has ended.
	Drain time.Duration
	// Owns, if set, is asked before each request. When it says no, the orders are another instance's,
	// and nothing may be sent any more. Then Lost ends as well, a moment later: requests that are
	// under way are cut off.
	Owns func() bool
	Lost context.Context
	// Client is the transport; nil makes one with as many idle connections as needed.
	Client http.RoundTripper
	Log    *slog.Logger
}

func (c *Config) setDefaults() {
	c.Timeout = cmp.Or(c.Timeout, DefaultTimeout)
	c.Backoff = cmp.Or(c.Backoff, DefaultBackoff)
	c.Queue = cmp.Or(c.Queue, DefaultQueue)
	c.Parallel = cmp.Or(c.Parallel, DefaultParallel)
	c.Drain = cmp.Or(c.Drain, DefaultDrain)
	c.Retries = cmp.Or(c.Retries, 2)
	c.Retries = max(0, c.Retries)
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	if c.Client == nil {
		transport := http.DefaultTransport.(*http.Transport).Clone()
		transport.MaxIdleConnsPerHost, transport.MaxIdleConns = c.Parallel, c.Parallel*max(1, len(c.Builders))
		c.Client = transport
	}
}
