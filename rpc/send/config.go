package send

import (
	"cmp"
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

// Config has the builders and how to speak to them. Zero durations and counts are the defaults.
type Config struct {
	Builders Registry
	// Header is the header that carries the signature, Sign makes one of a body, by the service's own
	// key; without it nothing is signed. It is called from many goroutines.
	Header string
	Sign   func(body []byte) string
	// Timeout is of one attempt. Retries are the attempts after the first; negative is none, and 0 is
	// 2. Backoff is the wait before the first of them.
	Timeout time.Duration
	Retries int
	Backoff time.Duration
	// Queue is how many orders wait for one builder at most.
	Queue int
	// Parallel is how many requests a builder has at once. With 1, it gets everything in the order in
	// which it came; with more, only what has the same replacementUuid.
	Parallel int
	// Drain is how long what waits may still be sent after the end.
	Drain time.Duration
	// Client is the transport; nil is one with as many idle connections as needed.
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
