package node

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/gavel-relay/gavel/internal/exec"
	"github.com/gavel-relay/gavel/internal/upstream"
)

// maxAnswer bounds an answer, in bytes. Usual answers have some hundreds.
const maxAnswer = 64 << 10

// ask tries a block on one node, for the time of one try.
func (p *Pool) ask(ctx context.Context, n *node, b *exec.Block, body *body) outcome {
	within, cancel := context.WithTimeoutCause(ctx, p.timeout, upstream.ErrSlow)
	defer cancel()
	answer, err := p.post(within, n, b.Priority, body)
	switch {
	case err == nil:
		o := read(answer, b)
		if o.standing == broken || o.standing == behind {
			p.log.Warn("validation node cannot judge", "node", n.Name, "block", b.Payload.BlockHash, "rule", o.verdict.Rule,
				"detail", o.verdict.Detail)
		}
		return o
	case ctx.Err() != nil:
		return outcome{standing: unknownStanding, verdict: unknown(exec.RuleInterrupted, "")}
	}
	p.log.Warn("validation node gives no answer", "node", n.Name, "block", b.Payload.BlockHash, "error", err)
	o := unusable(err)
	if within.Err() != nil {
		o.standing = slow
	}
	return o
}

// post sends a request and returns the body of an answer with status 200.
func (p *Pool) post(ctx context.Context, n *node, priority exec.Priority, body *body) (answer []byte, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, n.URL, body.reader())
	if err != nil {
		return nil, fmt.Errorf("make request: %w", upstream.WithoutURL(err))
	}
	r.ContentLength = body.size()
	// for a repeat of the request, see Idempotency-Key below
	r.GetBody = func() (io.ReadCloser, error) { return body.reader(), nil }
	r.Header.Set("Content-Type", "application/json")
	// A nil value is not sent. It lets the client repeat the request if the node closed an idle
	// connection just then.
	r.Header["Idempotency-Key"] = nil
	if priority == exec.High {
		r.Header.Set("X-High-Priority", "true") // for a load balancer in front of nodes
	}
	got, err := p.client.Do(r)
	if err != nil {
		return nil, fmt.Errorf("ask: %w", upstream.WithoutURL(err))
	}
	defer func() { err = errors.Join(err, got.Body.Close()) }()
	answer, err = io.ReadAll(io.LimitReader(got.Body, maxAnswer+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("read answer: %w", upstream.WithoutURL(err))
	case got.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("status %d", got.StatusCode)
	case len(answer) > maxAnswer:
		return nil, fmt.Errorf("the answer has more than %d bytes", maxAnswer)
	}
	return answer, nil
}
