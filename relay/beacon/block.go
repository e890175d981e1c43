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

// Block is the part of a beacon block about its payload.
type Block struct {
	Slot phase0.Slot
	// Hash is the payload's; from gloas on it is zero, because the block has a bid instead.
	Hash     phase0.Hash32
	GasLimit uint64
	// Bid is nil before gloas.
	Bid *BlockBid
}

// BlockBid is the bid of a block of gloas, whose payload comes apart or never.
type BlockBid struct {
	Builder                gloas.BuilderIndex
	Hash, ParentHash       phase0.Hash32
	ValueGwei, PaymentGwei phase0.Gwei // from the stake, and within the payload
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
	if found, err = readBlock(got.body); err != nil {
		return found, fmt.Errorf("decode block: %w", err)
	}
	return found, nil
}

func readBlock(raw []byte) (found Block, err error) {
	var document struct {
		Data struct {
			Message struct {
				Slot string `json:"slot"`
				Body struct {
					Payload struct {
						Hash     string `json:"block_hash"`
						GasLimit string `json:"gas_limit"`
					} `json:"execution_payload"`
					Signed *struct {
						Bid shownBid `json:"message"`
					} `json:"signed_execution_payload_bid"`
				} `json:"body"`
			} `json:"message"`
		} `json:"data"`
	}
	if err := json.Unmarshal(raw, &document); err != nil {
		return found, err
	}
	message := document.Data.Message
	slot, slotErr := strconv.ParseUint(message.Slot, 10, 64)
	found.Slot = phase0.Slot(slot)
	if signed := message.Body.Signed; signed != nil {
		bid, bidErr := signed.Bid.read()
		found.Bid, found.GasLimit = bid, signed.Bid.GasLimit
		return found, errors.Join(slotErr, bidErr)
	}
	limit, limitErr := strconv.ParseUint(message.Body.Payload.GasLimit, 10, 64)
	found.GasLimit = limit
	return found, errors.Join(slotErr, limitErr, eth.ParseHex(message.Body.Payload.Hash, found.Hash[:]))
}

// shownBid is a bid in a block's JSON (consensus-specs, gloas, ExecutionPayloadBid).
type shownBid struct {
	Builder    gloas.BuilderIndex `json:"builder_index,string"`
	Hash       string             `json:"block_hash"`
	ParentHash string             `json:"parent_block_hash"`
	GasLimit   uint64             `json:"gas_limit,string"`
	Value      uint64             `json:"value,string"`
	Payment    uint64             `json:"execution_payment,string"`
}

func (s *shownBid) read() (*BlockBid, error) {
	bid := &BlockBid{Builder: s.Builder, ValueGwei: phase0.Gwei(s.Value), PaymentGwei: phase0.Gwei(s.Payment)}
	return bid, errors.Join(eth.ParseHex(s.Hash, bid.Hash[:]), eth.ParseHex(s.ParentHash, bid.ParentHash[:]))
}

// Proposals counts the blocks of a slot that a node knows, on the chain or not (beacon-APIs,
// getBlockHeaders). More than one means that the proposer has signed two.
func (n *Nodes) Proposals(ctx context.Context, slot phase0.Slot) (int, error) {
	var document struct {
		Data []struct {
			Root string `json:"root"`
		} `json:"data"`
	}
	if err := n.get(ctx, fmt.Sprintf("/eth/v1/beacon/headers?slot=%d", slot), &document); err != nil {
		return 0, fmt.Errorf("ask for the slot's blocks: %w", err)
	}
	roots := map[string]bool{}
	for _, row := range document.Data {
		roots[row.Root] = true
	}
	return len(roots), nil
}
