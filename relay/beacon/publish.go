package beacon

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/eth"
)

// publishPath asks nodes to validate a block before they broadcast it, and to refuse a proposer's
// second block of a slot.
const publishPath = "/eth/v2/beacon/blocks?broadcast_validation=consensus_and_equivocation"

// verdict is one node's answer to a published block, from best to worst.
type verdict uint8

const (
	imported  verdict = iota // 200, or it has the block already
	broadcast                // 202: broadcast, but not (yet) part of its chain
	refused
)

// Publish sends a signed block to all nodes at once. It returns nil with the first 200; or, if
// there is none, when all nodes have answered and one of them with 202. A node that has the block
// of this root already counts as one that answers 200, even if it refuses the second copy. This is
// common: builders send one block to several relays, and sidecars send the signed one to all of
// them. The result does not depend on the order of the answers. The error lists every node's
// answer.
func (n *Nodes) Publish(ctx context.Context, fork eth.Fork, root phase0.Root, ssz []byte) error {
	type result struct {
		verdict verdict
		err     error
	}
	results := make(chan result, len(n.urls))
	// Publication goes on at the other nodes after the first has accepted, because the block should
	// reach as many as possible.
	publishing := context.WithoutCancel(ctx)
	for node := range n.urls {
		go func() {
			v, err := n.publishTo(publishing, node, fork, root, ssz)
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

func (n *Nodes) publishTo(ctx context.Context, node int, fork eth.Fork, root phase0.Root,
	ssz []byte) (verdict, error) {
	header := http.Header{
		"Content-Type": {"application/octet-stream"}, "Accept": {"application/json"},
		"Eth-Consensus-Version": {fork.String()},
	}
	got, err := n.request(ctx, node, question{method: http.MethodPost, path: publishPath, header: header, body: ssz})
	switch {
	case err == nil && got.status == http.StatusOK:
		return imported, nil
	case err == nil && got.status == http.StatusAccepted:
		n.log.Warn("a beacon node spread the block but did not import it", "node", redactPassword(n.urls[node]))
		return broadcast, nil
	case n.waitForBlock(ctx, node, root):
		return imported, nil
	case err != nil:
		return refused, fmt.Errorf("%s: %w", redactPassword(n.urls[node]), err)
	case got.status >= 400 && bytes.Contains(bytes.ToLower(got.body), []byte("already known")):
		return imported, nil // these words mean this same block, even if the node has not imported it yet
	default:
		return refused, fmt.Errorf("%s answers %d: %.300s", redactPassword(n.urls[node]), got.status, got.body)
	}
}

// A node that got the block another way a moment ago refuses it before it can answer a request for
// it. So it is asked hasTries times, with pauses that double.
const (
	hasTries = 4
	hasPause = 50 * time.Millisecond
)

// waitForBlock asks a node several times whether it has a block of this root, in its chain or in a
// side branch.
func (n *Nodes) waitForBlock(ctx context.Context, node int, root phase0.Root) bool {
	for try := range hasTries {
		if try > 0 {
			timer := time.NewTimer(hasPause << (try - 1))
			select {
			case <-ctx.Done():
				timer.Stop()
				return false
			case <-timer.C:
			}
		}
		has, err := n.hasBlock(ctx, node, root)
		if has || err != nil { // a node that cannot answer now is not asked again, since the proposer waits
			return has
		}
	}
	return false
}

// hasBlock asks a node for the header of a block (beacon-APIs, getBlockHeader). A node that
// hasBlock another block in the slot does not have this one.
func (n *Nodes) hasBlock(ctx context.Context, node int, root phase0.Root) (bool, error) {
	got, err := n.request(ctx, node, question{
		method: http.MethodGet, path: fmt.Sprintf("/eth/v1/beacon/headers/%#x", root[:]), header: acceptJSON,
	})
	if err != nil || got.status != http.StatusOK {
		return false, err
	}
	var document struct {
		Data struct {
			Root string `json:"root"`
		} `json:"data"`
	}
	var has phase0.Root
	if err := json.Unmarshal(got.body, &document); err != nil {
		return false, fmt.Errorf("decode header: %w", err)
	}
	if err := eth.ParseHex(document.Data.Root, has[:]); err != nil {
		return false, fmt.Errorf("root of the header: %w", err)
	}
	return has == root, nil
}
