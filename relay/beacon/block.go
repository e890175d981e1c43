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
)

// Block is the part of a beacon block about its payload.
type Block struct {
	Slot     phase0.Slot
	Hash     phase0.Hash32
	GasLimit uint64
}

// ErrNoBlock means that the chain has no such block.
var ErrNoBlock = errors.New("no block")

// Block reads a block (beacon-APIs, getBlockV2); id is a slot or "head". The first node that
// answers decides whether there is one.
func (n *Nodes) Block(ctx context.Context, id string) (found Block, err error) {
	q := question{method: http.MethodGet, path: "/eth/v2/beacon/blocks/" + id, header: acceptJSON}
	got, err := n.ask(ctx, q, http.StatusNotFound)
	switch {
	case err != nil:
		return found, err
	case got.status == http.StatusNotFound:
		return found, ErrNoBlock
	}
	var document struct {
		Data struct {
			Message struct {
				Slot string `json:"slot"`
				Body struct {
					Payload struct {
						Hash     string `json:"block_hash"`
						GasLimit string `json:"gas_limit"`
					} `json:"execution_payload"`
				} `json:"body"`
			} `json:"message"`
		} `json:"data"`
	}
	if err := json.Unmarshal(got.body, &document); err != nil {
		return found, fmt.Errorf("decode block: %w", err)
	}
	message := document.Data.Message
	slot, slotErr := strconv.ParseUint(message.Slot, 10, 64)
	limit, limitErr := strconv.ParseUint(message.Body.Payload.GasLimit, 10, 64)
	hashErr := eth.ParseHex(message.Body.Payload.Hash, found.Hash[:])
	found.Slot, found.GasLimit = phase0.Slot(slot), limit
	if err := errors.Join(slotErr, limitErr, hashErr); err != nil {
		return found, fmt.Errorf("decode block: %w", err)
	}
	return found, nil
}
