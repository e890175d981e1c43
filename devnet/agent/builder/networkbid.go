package builder

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"strings"

	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/devnet"
	"github.com/gavel-relay/gavel/devnet/chain"
	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/gloas"
	"github.com/gavel-relay/gavel/internal/eth/payload"
	"github.com/gavel-relay/gavel/relay/client"
)

// promise is a payload that the builder owes if a block has its bid.
type promise struct {
	bid      *gloas.SignedExecutionPayloadBid
	envelope *gloas.ExecutionPayloadEnvelope // without the root of the block
	blobs    *payload.Blobs
}

// bidsByNetwork says whether the builder bids from its stake in a slot.
func (b *Builder) bidsByNetwork(slot phase0.Slot) bool {
	return b.Stake != nil && !b.Spec.ForkAt(slot).HasBlindedBlocks()
}

// networkBid bids for a block by the network: the beacon node takes the bid, if it keeps the rules
// of gossip. It returns what was bid.
func (b *Builder) networkBid(ctx context.Context, a Attributes, duty client.Duty, built *chain.Built,
	d Decision) (*uint256.Int, error) {
	gwei := gweiOf(d.ValueWei(built.CoinbaseGainWei))
	made, err := b.promise(a, duty, built, gwei)
	if err != nil {
		return nil, err
	}
	raw, err := gloas.Mainnet.SignedExecutionPayloadBid.Encode(made.bid)
	if err != nil {
		return nil, fmt.Errorf("encode bid: %w", err)
	}
	if _, err := b.askNode(ctx, http.MethodPost, "/eth/v1/beacon/execution_payload_bids", raw, nil); err != nil {
		if refused := (*nodeError)(nil); errors.As(err, &refused) {
			b.Tell(devnet.Event{Actor: b.Name, At: devnet.BeaconName, Slot: int(a.Slot), Subject: devnet.RequestRefused,
				Status: refused.status})
		}
		return nil, fmt.Errorf("bid by the network: %w", err)
	}
	select {
	case b.promised <- made:
	case <-ctx.Done():
	}
	return eth.WeiOf(gwei), nil
}

// gweiOf rounds down, and stops at the highest value that a bid can have.
func gweiOf(wei *uint256.Int) phase0.Gwei {
	gwei, fits := eth.WholeGwei(wei)
	if !fits {
		return math.MaxUint64
	}
	return gwei
}

// promise signs the bid for a block, and prepares the envelope of its payload.
func (b *Builder) promise(a Attributes, duty client.Duty, built *chain.Built, value phase0.Gwei) (promise, error) {
	by := Signer{Spec: b.Spec, Index: *b.Stake, Key: b.Key}
	bid, contents, err := by.Bid(a, duty.Registration.Message.FeeRecipient, built, value, 0)
	if err != nil {
		return promise{}, err
	}
	return promise{
		bid: bid,
		envelope: &gloas.ExecutionPayloadEnvelope{
			Payload: contents.ExecutionPayload, ExecutionRequests: contents.ExecutionRequests, BuilderIndex: *b.Stake,
			ParentBeaconBlockRoot: a.ParentRoot,
		},
		blobs: built.Blobs,
	}, nil
}

// askToLeave asks once for the exit of a staked builder, if the conduct says so.
func (b *Builder) askToLeave(ctx context.Context, slot phase0.Slot) {
	if !b.Conduct.Exit || b.asked || b.Exit == nil {
		return
	}
	b.asked = true
	if err := b.Exit(ctx); err != nil && ctx.Err() == nil {
		b.Log.Warn("exit not asked for", "builder", b.Name, "slot", slot, "error", err)
	}
}

// maxBlock bounds an answer of the beacon node in bytes: a block of gloas has no payload.
const maxBlock = 4 << 20

// nodeError is an answer of the beacon node with a status other than 200.
type nodeError struct {
	status int
	body   []byte
}

// Error implements error.
func (e *nodeError) Error() string {
	return fmt.Sprintf("beacon node answers %d: %.200s", e.status, e.body)
}

// askNode sends a request with a body of gloas in SSZ to the beacon node. A status other than 200
// is a nodeError.
func (b *Builder) askNode(ctx context.Context, method, path string, body []byte, more http.Header) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, method, strings.TrimSuffix(b.BeaconURL, "/")+path,
		bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("make request: %w", err)
	}
	for name, values := range more {
		request.Header[name] = values
	}
	request.Header.Set("Eth-Consensus-Version", eth.Gloas.String())
	request.Header.Set("Content-Type", "application/octet-stream")
	request.Header.Set("Accept", "application/octet-stream")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, fmt.Errorf("ask beacon node: %w", err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(response.Body, maxBlock))
	if err != nil {
		return nil, fmt.Errorf("read answer: %w", err)
	}
	if response.StatusCode != http.StatusOK {
		return nil, &nodeError{response.StatusCode, answer}
	}
	return answer, nil
}
