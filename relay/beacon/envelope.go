package beacon

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/gavel-relay/gavel/internal/eth"
)

// envelopePath asks nodes to validate an envelope before they broadcast it, and to refuse that
// of a proposer that has signed two blocks.
const envelopePath = "/eth/v1/beacon/execution_payload_envelopes?broadcast_validation=consensus_and_equivocation"

// PublishEnvelope sends a signed envelope with its blobs to all nodes at once (beacon-APIs,
// publishExecutionPayloadEnvelope). It returns nil with the first 200 or 202; the others are
// sent it nevertheless. The error lists every node's answer.
func (n *Nodes) PublishEnvelope(ctx context.Context, ssz []byte) error {
	results := make(chan error, len(n.urls))
	publishing := context.WithoutCancel(ctx)
	for node := range n.urls {
		go func() { results <- n.publishEnvelopeTo(publishing, node, ssz) }()
	}
	var errs []error
	for range n.urls {
		select {
		case <-ctx.Done():
			return errors.Join(append(errs, ctx.Err())...)
		case err := <-results:
			if err == nil {
				return nil
			}
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

func (n *Nodes) publishEnvelopeTo(ctx context.Context, node int, ssz []byte) error {
	header := http.Header{
		"Content-Type": {"application/octet-stream"}, "Accept": {"application/json"},
		"Eth-Consensus-Version": {eth.Gloas.String()}, "Eth-Blob-Data-Included": {"true"},
	}
	got, err := n.request(ctx, node, question{method: http.MethodPost, path: envelopePath, header: header, body: ssz})
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", redactPassword(n.urls[node]), err)
	case got.status != http.StatusOK && got.status != http.StatusAccepted:
		return fmt.Errorf("%s answers %d: %.300s", redactPassword(n.urls[node]), got.status, got.body)
	}
	return nil
}
