// Package beacon talks to the relay's beacon nodes: it reads the network, validators, proposer
// duties and events of the chain, and publishes blocks. Requests go to one node after another until
// one answers; events come from all nodes; blocks go to all at once.
//
//	node A ──events──▶┐                        ┌──publish──▶ node A
//	node B ──events──▶┴─ merged ─▶ registry    deliver ─────┴──publish──▶ node B
//	node A or else B ◀── genesis, spec, validators, duties
package beacon

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/gavel-relay/gavel/internal/upstream"
)

// Config lists the beacon nodes.
type Config struct {
	// URLs are those of the nodes, in the order in which they are asked until one answers. From then
	// on that one is asked first.
	URLs []string
	// Timeout bounds one request to one node; 0 means 5 s.
	Timeout time.Duration
	// HTTP is the client to use; nil means one with a connection pool of its own.
	HTTP *http.Client
}

// Nodes are the beacon nodes. They are safe for concurrent use.
type Nodes struct {
	urls      []string
	endpoints []upstream.Endpoint // by the same places
	pool      *upstream.Pool      // by place in urls; a node that hangs costs its timeout only once
	http      *http.Client
	log       *slog.Logger
	heads     heads // of each node, so that a node that has lost the chain is asked last
}

// New checks the URLs. It does not connect to the nodes.
func New(cfg Config, log *slog.Logger) (*Nodes, error) {
	endpoints, err := upstream.Parse("beacon node", cfg.URLs, "http", "https")
	if err != nil {
		return nil, err
	}
	n := &Nodes{endpoints: endpoints, http: cfg.HTTP, log: log}
	for _, endpoint := range endpoints {
		n.urls = append(n.urls, strings.TrimSuffix(endpoint.URL, "/"))
	}
	n.pool = upstream.NewPool(len(n.urls), upstream.Config{
		Timeout: cmp.Or(cfg.Timeout, 5*time.Second), StayWithLast: true, HeldBack: n.behind,
	})
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

// answer is a node's answer.
type answer struct {
	status      int
	contentType string
	body        []byte
}

// question is a request, without the node to ask.
type question struct {
	method, path string
	header       http.Header
	body         []byte
}

// acceptJSON is the header of requests that want JSON.
var acceptJSON = http.Header{"Accept": {"application/json"}}

// request asks one node, by its place in urls, within the time of one try.
func (n *Nodes) request(ctx context.Context, node int, q question) (got *answer, err error) {
	err = n.pool.Try(ctx, node, func(ctx context.Context, node int) (err error) {
		got, err = n.send(ctx, node, q)
		return err
	})
	return got, err
}

// send sends a question and reads the answer, whatever its status.
func (n *Nodes) send(ctx context.Context, node int, q question) (*answer, error) {
	request, err := http.NewRequestWithContext(ctx, q.method, n.urls[node]+q.path, bytes.NewReader(q.body))
	if err != nil {
		return nil, err
	}
	request.Header = q.header.Clone()
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

// ask asks one node after another until one answers 200 or another wanted status. Nodes at the
// chain's head come before the others, and among them the one that answered last comes first.
func (n *Nodes) ask(ctx context.Context, q question, wanted ...int) (got *answer, err error) {
	var errs []error
	err = n.pool.Ask(ctx, func(ctx context.Context, node int) error {
		said, err := n.send(ctx, node, q)
		if err != nil {
			return err
		}
		if said.status != http.StatusOK && !slices.Contains(wanted, said.status) {
			return fmt.Errorf("answers %d to %s: %.200s", said.status, q.path, said.body)
		}
		got = said
		return nil
	}, func(node int, err error) {
		errs = append(errs, fmt.Errorf("%s: %w", redactPassword(n.urls[node]), err))
	})
	if errors.Is(err, upstream.ErrNoAnswer) {
		return nil, errors.Join(errs...)
	}
	return got, err
}

// get requests JSON and decodes the whole document.
func (n *Nodes) get(ctx context.Context, path string, into any) error {
	got, err := n.ask(ctx, question{method: http.MethodGet, path: path, header: acceptJSON})
	if err != nil {
		return err
	}
	if err := json.Unmarshal(got.body, into); err != nil {
		return fmt.Errorf("decode answer to %s: %w", path, err)
	}
	return nil
}
