package beacon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"

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
	body, err := json.Marshal(map[string][]string{"ids": {strconv.FormatUint(uint64(index), 10)}})
	if err != nil {
		return 0, fmt.Errorf("ask for builder %d: %w", index, err)
	}
	got, err := n.ask(ctx, question{method: http.MethodPost, path: "/eth/v1/beacon/states/head/builders",
		header: http.Header{"Accept": {"application/json"}, "Content-Type": {"application/json"}}, body: body})
	if err != nil {
		return 0, fmt.Errorf("ask for builder %d: %w", index, err)
	}
	var document struct {
		Data []struct {
			Balance uint64 `json:"balance,string"`
			Builder struct {
				Pubkey       string `json:"pubkey"`
				Deposit      uint64 `json:"deposit_epoch,string"`
				Withdrawable uint64 `json:"withdrawable_epoch,string"`
			} `json:"builder"`
		} `json:"data"`
	}
	if err := json.Unmarshal(got.body, &document); err != nil {
		return 0, fmt.Errorf("decode builder %d: %w", index, err)
	}
	if len(document.Data) != 1 {
		return 0, fmt.Errorf("builder %d: %w", index, errNoBuilder)
	}
	var pubkey phase0.BLSPubKey
	builder := document.Data[0].Builder
	if err := eth.ParseHex(builder.Pubkey, pubkey[:]); err != nil {
		return 0, fmt.Errorf("decode builder %d: public key: %w", index, err)
	}
	finalized, err := n.finalized(ctx)
	switch {
	case err != nil:
		return 0, err
	case pubkey != key:
		return 0, fmt.Errorf("builder %d: %w: %#x", index, errOtherKey, pubkey[:])
	case builder.Withdrawable != farFuture:
		return 0, fmt.Errorf("builder %d: %w", index, errBuilderLeave)
	case phase0.Epoch(builder.Deposit) >= finalized:
		return 0, fmt.Errorf("builder %d: %w: it is of epoch %d, epoch %d is final", index, errNotFinal, builder.Deposit,
			finalized)
	}
	return phase0.Gwei(document.Data[0].Balance), nil
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
