// Package beacon is the relay's view of its beacon nodes: what network it is, who validates and
// proposes, what happens on the chain, and where blocks are published. Questions are asked of one
// node after another until one answers; events are taken from all; blocks go to all at once.
//
//	node A ──events──▶┐                        ┌──publish──▶ node A
//	node B ──events──▶┴─ merged ─▶ registry    deliver ─────┴──publish──▶ node B
//	node A or else B ◀── genesis, spec, validators, duties
package beacon

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"
)

// Config says which beacon nodes there are.
type Config struct {
	// URLs of the nodes, in the order in which they are asked until one answers; from then on that one
	// is asked first.
	URLs []string
	// Timeout bounds one request to one node: 5 s.
	Timeout time.Duration
	// HTTP is the client to use; nil takes one with a connection pool of its own.
	HTTP *http.Client
}

// Nodes are the beacon nodes. It is safe for concurrent use.
type Nodes struct {
	urls    []string
	timeout time.Duration
	http    *http.Client
	log     *slog.Logger
	// the node that answered last: the first to be asked, so that one that hangs costs its timeout
	// once
	good  atomic.Int64
	heads heads // of each node, so that one that has lost the chain is asked last
}

// New checks the URLs; it does not reach for the nodes.
func New(cfg Config, log *slog.Logger) (*Nodes, error) {
	if len(cfg.URLs) == 0 {
		return nil, errors.New("no beacon node: give the URL of at least one")
	}
	n := &Nodes{timeout: cfg.Timeout, http: cfg.HTTP, log: log}
	for _, text := range cfg.URLs {
		parsed, err := url.Parse(text)
		if err != nil || parsed.Host == "" || (parsed.Scheme != "http" && parsed.Scheme != "https") {
			return nil, fmt.Errorf("beacon node %q: want http://host:port", text)
		}
		n.urls = append(n.urls, strings.TrimSuffix(text, "/"))
	}
	if n.timeout == 0 {
		n.timeout = 5 * time.Second
	}
	if n.http == nil {
		n.http = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 16, IdleConnTimeout: time.Minute}}
	}
	if n.log == nil {
		n.log = slog.New(slog.DiscardHandler)
	}
	return n, nil
}

// maxAnswer bounds an answer in bytes: mainnet's validator table in JSON is a few hundred MB.
const maxAnswer = 1 << 30

// answer is what a node said.
type answer struct {
	status      int
	contentType string
	body        []byte
}

// request asks one node.
func (n *Nodes) request(ctx context.Context, method, address string, header http.Header, body []byte) (*answer, error) {
	ctx, cancel := context.WithTimeout(ctx, n.timeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header = header
	response, err := n.http.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("read answer: %w", err)
	case len(raw) > maxAnswer:
		return nil, fmt.Errorf("read answer: more than %d bytes", maxAnswer)
	}
	return &answer{status: response.StatusCode, contentType: response.Header.Get("Content-Type"), body: raw}, nil
}

// ask asks one node after another until one answers 200: those at the chain's head before the
// others, beginning with the one that answered last.
func (n *Nodes) ask(ctx context.Context, method, path, accept string, body []byte) (*answer, error) {
	var errs []error
	for _, at := range n.turns() {
		base := n.urls[at]
		header := http.Header{"Accept": {accept}}
		if body != nil {
			header.Set("Content-Type", "application/json")
		}
		got, err := n.request(ctx, method, base+path, header, body)
		switch {
		case err != nil:
			errs = append(errs, fmt.Errorf("%s: %w", shown(base), err))
		case got.status != http.StatusOK:
			errs = append(errs, fmt.Errorf("%s answers %d to %s: %.200s", shown(base), got.status, path, got.body))
		default:
			n.good.Store(int64(at))
			return got, nil
		}
	}
	return nil, errors.Join(errs...)
}

// get asks for JSON and decodes the whole document.
func (n *Nodes) get(ctx context.Context, path string, into any) error {
	got, err := n.ask(ctx, http.MethodGet, path, "application/json", nil)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(got.body, into); err != nil {
		return fmt.Errorf("decode answer to %s: %w", path, err)
	}
	return nil
}
