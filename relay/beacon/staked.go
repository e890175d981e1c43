package beacon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/gloas"
)

// Why a builder may not bid.
var (
	errNoBuilder    = errors.New("the beacon chain has no such builder")
	errOtherKey     = errors.New("the builder has another key")
	errNotFinal     = errors.New("the builder's deposit is not final yet")
	errBuilderLeave = errors.New("the builder leaves")
)

// CheckBuilder returns the balance of a staked builder, and an error unless it may bid now: it has
// this key, its deposit is final, and it does not leave (beacon-APIs, getStateBuilders;
// consensus-specs, is_active_builder).
func (n *Nodes) CheckBuilder(ctx context.Context, index gloas.BuilderIndex,
	key phase0.BLSPubKey) (phase0.Gwei, error) {
	builders, err := n.builders(ctx, strconv.FormatUint(uint64(index), 10))
	if err != nil {
		return 0, fmt.Errorf("ask for builder %d: %w", index, err)
	}
	builder, there := builders[index]
	if !there {
		return 0, fmt.Errorf("builder %d: %w", index, errNoBuilder)
	}
	finalized, err := n.finalized(ctx)
	switch {
	case err != nil:
		return 0, err
	case builder.Pubkey != key:
		return 0, fmt.Errorf("builder %d: %w: %#x", index, errOtherKey, builder.Pubkey[:])
	case builder.WithdrawableEpoch != gloas.FarFuture:
		return 0, fmt.Errorf("builder %d: %w", index, errBuilderLeave)
	case builder.DepositEpoch >= finalized:
		return 0, fmt.Errorf("builder %d: %w: it is of epoch %d, epoch %d is final", index, errNotFinal, builder.DepositEpoch,
			finalized)
	}
	return builder.Balance, nil
}

// Builders returns all staked builders, and the newest epoch that is final.
func (n *Nodes) Builders(ctx context.Context) (map[gloas.BuilderIndex]gloas.Builder, phase0.Epoch, error) {
	builders, err := n.builders(ctx)
	if err != nil {
		return nil, 0, fmt.Errorf("ask for all builders: %w", err)
	}
	finalized, err := n.finalized(ctx)
	return builders, finalized, err
}

// BuilderIndices returns the indices of those of some keys that are staked builders'.
func (n *Nodes) BuilderIndices(ctx context.Context, keys []phase0.BLSPubKey) (map[phase0.BLSPubKey]gloas.BuilderIndex,
	error) {
	ids := make([]string, len(keys))
	for i, key := range keys {
		ids[i] = fmt.Sprintf("%#x", key[:])
	}
	builders, err := n.builders(ctx, ids...)
	if err != nil {
		return nil, fmt.Errorf("ask for builders by key: %w", err)
	}
	indices := map[phase0.BLSPubKey]gloas.BuilderIndex{}
	for index, builder := range builders {
		indices[builder.Pubkey] = index
	}
	return indices, nil
}

// builders asks for some staked builders, or for all (beacon-APIs, getStateBuilders).
func (n *Nodes) builders(ctx context.Context, ids ...string) (map[gloas.BuilderIndex]gloas.Builder, error) {
	body, err := json.Marshal(map[string][]string{"ids": append([]string{}, ids...)})
	if err != nil {
		return nil, err
	}
	got, err := n.ask(ctx, question{method: http.MethodPost, path: "/eth/v1/beacon/states/head/builders",
		header: http.Header{"Accept": {"application/json"}, "Content-Type": {"application/json"}}, body: body})
	if err != nil {
		return nil, err
	}
	var document struct {
		Data []struct {
			Index   uint64 `json:"index,string"`
			Builder struct {
				Pubkey       string          `json:"pubkey"`
				Version      json.RawMessage `json:"version"`
				Balance      uint64          `json:"balance,string"`
				Deposit      uint64          `json:"deposit_epoch,string"`
				Withdrawable uint64          `json:"withdrawable_epoch,string"`
			} `json:"builder"`
		} `json:"data"`
	}
	if err := json.Unmarshal(got.body, &document); err != nil {
		return nil, fmt.Errorf("decode builders: %w", err)
	}
	builders := make(map[gloas.BuilderIndex]gloas.Builder, len(document.Data))
	for _, row := range document.Data {
		builder := gloas.Builder{
			Version: versionOf(row.Builder.Version), Balance: phase0.Gwei(row.Builder.Balance),
			DepositEpoch: phase0.Epoch(row.Builder.Deposit), WithdrawableEpoch: phase0.Epoch(row.Builder.Withdrawable),
		}
		if err := eth.ParseHex(row.Builder.Pubkey, builder.Pubkey[:]); err != nil {
			return nil, fmt.Errorf("decode builder %d: public key: %w", row.Index, err)
		}
		builders[gloas.BuilderIndex(row.Index)] = builder
	}
	return builders, nil
}

// unreadVersion is none that counts.
const unreadVersion = 0xff

// versionOf reads a builder's version, which nodes may write in decimal or hexadecimal.
func versionOf(raw json.RawMessage) uint8 {
	version, err := strconv.ParseUint(strings.Trim(string(raw), `"`), 0, 8)
	if err != nil {
		return unreadVersion
	}
	return uint8(version)
}

// finalized returns the newest epoch that is final (beacon-APIs, getStateFinalityCheckpoints).
func (n *Nodes) finalized(ctx context.Context) (phase0.Epoch, error) {
	var document struct {
		Data struct {
			Finalized struct {
				Epoch uint64 `json:"epoch,string"`
			} `json:"finalized"`
		} `json:"data"`
	}
	if err := n.get(ctx, "/eth/v1/beacon/states/head/finality_checkpoints", &document); err != nil {
		return 0, fmt.Errorf("ask for the finalized epoch: %w", err)
	}
	return phase0.Epoch(document.Data.Finalized.Epoch), nil
}
