// Package send hands orders to block builders over JSON-RPC, each builder by itself: one that is slow or away holds up nobody else.
//
//	Send ─▶ Choose ─┬─▶ builder's queue (the oldest goes when it is full) ─▶ POST, again if nobody answers ─▶ told
//	Cancel ─────────┴─▶ the same queue: a cancel never overtakes its order
package send

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gavel-relay/gavel/rpc"
	"github.com/gavel-relay/gavel/rpc/bundle"
)

// What a builder may understand.
const (
	APISendBundle = "eth_sendBundle"
	APIMevBundle  = "mev_sendBundle"
	APICancel     = "eth_cancelBundle"
)

// Builder is a registered builder.
type Builder struct {
	// Name is what orders call it, in lower case.
	Name string `yaml:"name"`
	URL  string `yaml:"url"`
	// APIs are the methods that it understands: eth_sendBundle and eth_cancelBundle if there are none.
	APIs []string `yaml:"apis"`
	// Own: it is the operator's, and gets every order.
	Own bool `yaml:"own"`
}

func (b *Builder) understands(api string) bool { return slices.Contains(b.APIs, api) }

// Config has what the sender needs. Zero values take the defaults that are named.
type Config struct {
	Builders []Builder
	// Header is the name of the header with the signature that Sign makes of a body.
	Header string
	Sign   func(body []byte) string
	// Timeout bounds one attempt: 1 s. Retries are made after the first, when nobody answers or the answer is a 5xx: 2, after Backoff, 50 ms, and
	// twice that.
	Timeout, Backoff time.Duration
	Retries          int
	// Queue is how many requests may wait for one builder: 1,024.
	Queue int
	// Client makes the requests; http.DefaultTransport if nil.
	Client http.RoundTripper
	Log    *slog.Logger
}

// Sender is safe for concurrent use.
type Sender struct {
	Config
	lanes   []*lane
	unknown atomic.Int64
}

// lane is one builder and what waits for it.
type lane struct {
	Builder
	mu      sync.Mutex // guards waiting
	waiting []request
	ready   chan struct{} // holds a token when something waits
}

// request is one call of a builder.
type request struct {
	method string
	params json.RawMessage
	// told gets the end of a delivery for a block; nil for a cancel.
	told  func(rpc.Delivery)
	block uint64
}

// New makes a sender; Run sends.
func New(cfg Config) *Sender {
	cfg.Timeout, cfg.Backoff = orElse(cfg.Timeout, time.Second), orElse(cfg.Backoff, 50*time.Millisecond)
	cfg.Retries, cfg.Queue = orElse(cfg.Retries, 2), orElse(cfg.Queue, 1024)
	if cfg.Client == nil {
		cfg.Client = http.DefaultTransport
	}
	s := &Sender{Config: cfg}
	for _, b := range cfg.Builders {
		b.Name = strings.ToLower(b.Name)
		if len(b.APIs) == 0 {
			b.APIs = []string{APISendBundle, APICancel}
		}
		b.Own = b.Own || b.Name == bundle.OwnBuilder
		s.lanes = append(s.lanes, &lane{Builder: b, ready: make(chan struct{}, 1)})
	}
	return s
}

func orElse[T comparable](value, fallback T) T {
	var zero T
	if value == zero {
		return fallback
	}
	return value
}

// Unknown is how often orders named a builder that is not registered.
func (s *Sender) Unknown() int64 { return s.unknown.Load() }

// Send offers an order for a block to the builders it is for. It does not wait; told is called once for each of them, from another goroutine.
func (s *Sender) Send(order *rpc.Order, block uint64, told func(rpc.Delivery)) {
	lanes, unknown := s.choose(order)
	s.unknown.Add(int64(unknown))
	for _, l := range lanes {
		method, params, err := outgoing(&l.Builder, order, block)
		if err != nil {
			told(rpc.Delivery{Builder: l.Name, Block: block, Error: err.Error()})
			continue
		}
		l.put(request{method, params, told, block}, s.Queue)
	}
}

// Cancel asks those builders to forget an order, if they know how.
func (s *Sender) Cancel(order *rpc.Order, builders []string) {
	params, err := json.Marshal(map[string]string{"replacementUuid": bundle.OutgoingReplacement(order).String()})
	if err != nil { // a text always marshals
		return
	}
	for _, l := range s.lanes {
		if slices.Contains(builders, l.Name) && l.understands(APICancel) {
			l.put(request{method: APICancel, params: params}, s.Queue)
		}
	}
}

// choose are the builders that an order is for: the operator's own always, those that it names, or all. unknown counts names that nobody has.
func (s *Sender) choose(order *rpc.Order) (lanes []*lane, unknown int) {
	for _, l := range s.lanes {
		if l.Own || order.AllBuilders || slices.Contains(order.Builders, l.Name) {
			lanes = append(lanes, l)
		}
	}
	for _, name := range order.Builders {
		known := name == bundle.OwnBuilder || slices.ContainsFunc(s.lanes, func(l *lane) bool { return l.Name == name })
		if !known {
			unknown++
		}
	}
	return lanes, unknown
}

// outgoing is an order in a form that a builder understands: the plain one if it can be said so.
func outgoing(b *Builder, order *rpc.Order, block uint64) (method string, params json.RawMessage, err error) {
	replacement := bundle.OutgoingReplacement(order)
	if b.understands(APISendBundle) {
		if params, err = bundle.Outgoing(order, block, replacement); err == nil || !b.understands(APIMevBundle) {
			return APISendBundle, params, err
		}
	}
	params, err = bundle.OutgoingShare(order, block, replacement)
	return APIMevBundle, params, err
}

// put lets a request wait; the oldest goes when too many do.
func (l *lane) put(r request, limit int) {
	l.mu.Lock()
	var dropped *request
	if len(l.waiting) >= limit {
		oldest := l.waiting[0]
		dropped, l.waiting = &oldest, l.waiting[1:]
	}
	l.waiting = append(l.waiting, r)
	l.mu.Unlock()
	if dropped != nil && dropped.told != nil {
		go dropped.told(rpc.Delivery{Builder: l.Name, Block: dropped.block, Error: "too many orders wait for this builder"})
	}
	select {
	case l.ready <- struct{}{}:
	default:
	}
}

// next is the oldest request that waits.
func (l *lane) next() (r request, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.waiting) == 0 {
		return request{}, false
	}
	r, l.waiting = l.waiting[0], l.waiting[1:]
	return r, true
}

// Run sends until the context ends. What waits then is not sent.
func (s *Sender) Run(ctx context.Context) error {
	var lanes sync.WaitGroup
	for _, l := range s.lanes {
		lanes.Go(func() {
			for {
				select {
				case <-ctx.Done():
					return
				case <-l.ready:
				}
				for r, ok := l.next(); ok && ctx.Err() == nil; r, ok = l.next() {
					s.deliver(ctx, l, r)
				}
			}
		})
	}
	lanes.Wait()
	return nil
}
