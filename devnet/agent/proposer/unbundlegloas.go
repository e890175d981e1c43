package proposer

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/gavel-relay/gavel/devnet"
	"github.com/gavel-relay/gavel/internal/eth/gloas"
)

// unbundle tries to be told a payload that stays out of the chain: the network gets another block
// with the same bid, and the builder alone gets the block. It reports the builder's refusal.
func (p *Proposer) unbundle(ctx context.Context, signed *gloas.SignedBeaconBlock, builder string) error {
	second, err := p.another(signed)
	if err != nil {
		return err
	}
	if err := p.beacon.publishBlock(ctx, second, "", "gossip"); err != nil {
		return fmt.Errorf("publish second block: %w", err)
	}
	if builder == "" {
		return nil // the payload is that of the proposer's own node, or of a bid of the network
	}
	raw, err := gloas.Mainnet.SignedBeaconBlock.Encode(signed)
	if err != nil {
		return fmt.Errorf("encode block: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, beaconTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost,
		strings.TrimSuffix(builder, "/")+"/eth/v1/builder/beacon_blocks", bytes.NewReader(raw))
	if err != nil {
		return fmt.Errorf("make request: %w", err)
	}
	request.Header = ofGloas(mediaSSZ)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("hand block to its builder: %w", err)
	}
	defer response.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, maxAnswer)) // so that the connection can be used again
	if response.StatusCode < http.StatusBadRequest {
		return nil
	}
	for _, one := range p.Gloas.Builders {
		if one.URL == builder && p.Gloas.Tell != nil {
			p.Gloas.Tell(devnet.Event{
				Actor: devnet.ProposersName, At: one.Name, Subject: devnet.RequestRefused, Slot: int(signed.Message.Slot),
				Status: response.StatusCode, Refusal: response.Header.Get("X-Refusal"),
			})
		}
	}
	return nil
}
