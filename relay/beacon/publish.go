package beacon

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/gavel-relay/gavel/internal/eth"
)

// publishPath asks nodes to check the block and to refuse a proposer's second one before they spread it.
const publishPath = "/eth/v2/beacon/blocks?broadcast_validation=consensus_and_equivocation"

// verdict is one node's answer to a published block, from best to worst.
type verdict uint8

const (
	imported  verdict = iota // 200, or it knew the block already
	broadcast                // 202: spread, but not (yet) part of its chain
	refused
)

// Publish hands a signed block to all nodes at once and returns nil as soon as one has accepted it: with the first 200 at once, with a 202
// when all have answered and none was better. The verdict does not depend on who answers first. The error lists every node's answer.
func (n *Nodes) Publish(ctx context.Context, fork eth.Fork, ssz []byte) error {
	type result struct {
		verdict verdict
		err     error
	}
	results := make(chan result, len(n.urls))
	// Nodes that are still busy when the first has accepted are left to finish: the more of them have the block, the better.
	publishing := context.WithoutCancel(ctx)
	for _, base := range n.urls {
		go func() {
			v, err := n.publishTo(publishing, base, fork, ssz)
			results <- result{v, err}
		}()
	}
	var errs []error
	best := refused
	for range n.urls {
		select {
		case <-ctx.Done():
			return errors.Join(append(errs, ctx.Err())...)
		case r := <-results:
			best = min(best, r.verdict)
			if best == imported {
				return nil
			}
			if r.err != nil {
				errs = append(errs, r.err)
			}
		}
	}
	if best == broadcast {
		return nil
	}
	return errors.Join(errs...)
}

func (n *Nodes) publishTo(ctx context.Context, base string, fork eth.Fork, ssz []byte) (verdict, error) {
	header := http.Header{
		"Content-Type": {"application/octet-stream"}, "Accept": {"application/json"}, "Eth-Consensus-Version": {fork.String()},
	}
	got, err := n.request(ctx, http.MethodPost, base+publishPath, header, ssz)
	switch {
	case err != nil:
		return refused, fmt.Errorf("%s: %w", shown(base), err)
	case got.status == http.StatusOK, got.status >= 400 && bytes.Contains(bytes.ToLower(got.body), []byte("already known")):
		return imported, nil
	case got.status == http.StatusAccepted:
		n.log.Warn("a beacon node spread the block but did not import it", "node", shown(base))
		return broadcast, nil
	default:
		return refused, fmt.Errorf("%s answers %d: %.300s", shown(base), got.status, got.body)
	}
}
