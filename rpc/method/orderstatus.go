package method

import (
	"context"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"

	"github.com/gavel-relay/gavel/rpc"
	"github.com/gavel-relay/gavel/rpc/bundle"
)

// Tracker has the status of orders.
type Tracker interface {
	// Status is what is known of a signer's newest order with this hash; nil if there is none.
	Status(ctx context.Context, signer common.Address, hash common.Hash) (*rpc.OrderStatus, error)
}

// orderStatusResult answers gavel_getOrderStatus.
type orderStatusResult struct {
	Hash        common.Hash        `json:"hash"`
	Kind        rpc.Kind           `json:"kind"`
	State       rpc.State          `json:"state"`
	Why         string             `json:"why"`
	ReceivedAt  time.Time          `json:"receivedAt"`
	FirstBlock  *hexutil.Uint64    `json:"firstBlock,omitempty"`
	LastBlock   *hexutil.Uint64    `json:"lastBlock,omitempty"`
	Head        hexutil.Uint64     `json:"head"`
	Block       *hexutil.Uint64    `json:"block,omitempty"`
	BlockHash   *common.Hash       `json:"blockHash,omitempty"`
	Paid        *hexutil.U256      `json:"paid,omitempty"`
	Simulations []simulationStatus `json:"simulations"`
	Deliveries  []deliveryStatus   `json:"deliveries"`
}

type simulationStatus struct {
	At      time.Time      `json:"at"`
	Block   hexutil.Uint64 `json:"block"`
	Success bool           `json:"success"`
	Error   string         `json:"error,omitempty"`
	GasUsed hexutil.Uint64 `json:"gasUsed"`
	Profit  *hexutil.U256  `json:"profit"`
}

type deliveryStatus struct {
	At      time.Time      `json:"at"`
	Builder string         `json:"builder"`
	Block   hexutil.Uint64 `json:"block"`
	Taken   bool           `json:"taken"`
	Error   string         `json:"error,omitempty"`
}

// orderStatus is gavel_getOrderStatus.
func (m *Methods) orderStatus() Method {
	return Method{
		Name:    "gavel_getOrderStatus",
		Summary: "Say what became of an order, and why.",
		About: "For the signer that sent it. For 64 blocks after its end all is told, later only what the ledger keeps. " +
			"`why` says it in words; `simulations` and `deliveries` are the newest ones. " +
			"An order that succeeded in simulation and was taken by builders but is in no block was outbid, or its builders " +
			"did not win the slot. " +
			"Of an order that follows another one which is not on the chain less is told: whether it could be included, when " +
			"the block is over, and of the first " +
			"such order only; no gas, profit or error.",
		Params:  []Param{required("hash", hash.says("as it was answered when the order was sent"))},
		Example: `["'$HASH1'"]`,
		Result: object(
			needs("hash", hash, "of the order"),
			needs("kind", oneOfWords("bundle", "mev_bundle", "private_transaction"), "how it came"),
			needs("state", oneOfWords("submitted", "simulated", "sent", "landed", "expired", "cancelled", "failed"),
				"where it is in its life"),
			needs("why", text, "the state in words"),
			needs("receivedAt", timestamp, "when the request was complete"),
			may("firstBlock", quantity, "first block it may be in"),
			may("lastBlock", quantity, "last one"),
			needs("head", quantity, "newest block"),
			may("block", quantity, "block it landed in"),
			may("blockHash", hash, "of that block"),
			may("paid", quantity, "what it paid that block's fee recipient, in wei"),
			needs("simulations", listOf(object(
				needs("at", timestamp, "when it ended"),
				needs("block", quantity, "block it was for"),
				needs("success", boolean, "it could be included"),
				may("error", text, "why not"),
				needs("gasUsed", quantity, "by all"),
				needs("profit", quantity, "in wei"),
			)), "oldest first"),
			needs("deliveries", listOf(object(
				needs("at", timestamp, "when it ended"),
				needs("builder", text, "its name"),
				needs("block", quantity, "block it was for"),
				needs("taken", boolean, "the builder took it"),
				may("error", text, "why not"),
			)), "oldest first"),
		),
		Refusals: []rpc.Refusal{rpc.InvalidParams, rpc.OrderUnknown, rpc.NotReady, rpc.JournalUnavailable},
		Beyond:   true,
		Do: func(ctx context.Context, call *Call) (any, error) {
			var first *bundle.HashParam
			if err := bundle.ReadPositional(call.Params, &first); err != nil {
				return nil, err
			}
			if first == nil {
				return nil, bundle.MissingParam("params[0]")
			}
			return m.statusFor(ctx, call, common.Hash(*first))
		},
	}
}

func (m *Methods) statusFor(ctx context.Context, call *Call, order common.Hash) (any, error) {
	status, err := m.Tracker.Status(ctx, call.Signer, order)
	switch {
	case err != nil:
		return nil, err
	case status == nil:
		return nil, rpc.OrderUnknown.Plain()
	}
	return statusOf(status, m.Submitter.Head().Number), nil
}

func statusOf(s *rpc.OrderStatus, head uint64) orderStatusResult {
	result := orderStatusResult{
		Hash: s.Hash, Kind: s.Kind, State: s.State, Why: explainState(s, head), ReceivedAt: s.ReceivedAt,
		Head:        hexutil.Uint64(head),
		Simulations: []simulationStatus{}, Deliveries: []deliveryStatus{},
	}
	if s.Order != nil {
		first, last := hexutil.Uint64(s.FirstBlock), hexutil.Uint64(s.Order.Bundle.Window.LastBlock)
		result.FirstBlock, result.LastBlock = &first, &last
	}
	if s.State == rpc.Landed {
		block, blockHash := hexutil.Uint64(s.Block), s.BlockHash
		result.Block, result.BlockHash = &block, &blockHash
		if s.ValueWei != nil {
			result.Paid = hexOf(s.ValueWei)
		}
	}
	for _, sim := range s.Simulations {
		result.Simulations = append(result.Simulations, simulationStatus{
			At: sim.At, Block: hexutil.Uint64(sim.Block), Success: sim.Success, Error: sim.Error,
			GasUsed: hexutil.Uint64(sim.GasUsed), Profit: hexOf(sim.ProfitWei),
		})
	}
	for _, d := range s.Deliveries {
		result.Deliveries = append(result.Deliveries, deliveryStatus{
			At: d.At, Builder: d.Builder, Block: hexutil.Uint64(d.Block), Taken: d.Error == "", Error: d.Error,
		})
	}
	return result
}
