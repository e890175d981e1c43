package local

import (
	"context"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/conformance/target"
	"github.com/gavel-relay/gavel/conformance/world"
	"github.com/gavel-relay/gavel/devnet/network"
	"github.com/gavel-relay/gavel/internal/eth/bls"
	"github.com/gavel-relay/gavel/relay"
	relayapp "github.com/gavel-relay/gavel/relay/app"
	rpcapp "github.com/gavel-relay/gavel/rpc/app"
	streamapp "github.com/gavel-relay/gavel/stream/app"
	"github.com/gavel-relay/gavel/stream/hint"
)

// openLiteral starts the services in literal mode, in the same world as the first ones, and returns
// their addresses for target.yaml. The relay has the first one's configuration but for its key.
func (l *Lab) openLiteral(ctx context.Context, first relayapp.Config, slot time.Duration,
	log *slog.Logger) (at target.Literal, err error) {
	first.Key, first.Literal = bls.Derive("conformance relay", 3), true
	if at.Relay, err = l.openRelay(ctx, &l.literal.relay, first); err != nil {
		return at, err
	}
	if at.RPC, err = l.openRPC(ctx, &l.literal.rpc, rpcapp.Config{
		Builders: l.builders(), PayoutGas: network.PayoutGas, EarliestBlock: world.EarliestRefundBlock, BlockTime: slot,
		Literal: true, Log: log,
	}); err != nil {
		return at, err
	}
	at.Stream, err = l.openStream(ctx, &l.literal.stream, hint.LiteralConfig(),
		streamapp.Config{Limits: streamapp.Limits{PerSecond: -1}, Log: log})
	return at, err
}

// trusted is how many builders the relays trust. A spec uses one up, so a proof, which runs specs
// many times, needs many.
const trusted = 64

// trustedBuilders returns optimistic builders, whose bids count before their blocks are executed,
// and their secret keys.
func trustedBuilders() (list []relay.Builder, secrets []string, err error) {
	for i := range trusted {
		secret := sha256.Sum256(fmt.Appendf(nil, "gavel conformance trusted builder %d", i))
		secret[0] = 0 // so that it is below the curve's order
		key, err := bls.NewSecretKey(secret[:])
		if err != nil {
			return nil, nil, fmt.Errorf("make a trusted builder: %w", err)
		}
		list = append(list, relay.Builder{
			Name: fmt.Sprintf("trusted-%d", i), Pubkeys: []phase0.BLSPubKey{key.PublicKey()}, Optimistic: true,
			CollateralWei: uint256.NewInt(1e18),
		})
		secrets = append(secrets, fmt.Sprintf("%#x", secret))
	}
	return list, secrets, nil
}
