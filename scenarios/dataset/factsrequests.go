package dataset

import (
	"errors"
	"fmt"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/devnet"
	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/scenarios"
)

// payloadRefused is a request for a payload, as the relay tells it.
func (r *factReader) payloadRefused(record *scenarios.Record) ([]any, error) {
	var f relay.PayloadRefused
	if err := decodeFact(record, &f); err != nil {
		return nil, err
	}
	return []any{&Request{
		Slot: Int{int64(f.Slot), true}, ReceivedAt: timeOf(f.At), Source: "run", Kind: PayloadRequest,
		Relay: r.relayOf(record.Actor), Outcome: Refused, Refusal: Text(f.Refusal), BlockHash: Hash{f.BlockHash, true},
		Times: Int{1, true},
	}}, nil
}

// outcomeOf is what an event of a proposer says of its request.
var outcomeOf = map[string]Text{
	scenarios.HeaderReceived: Served, scenarios.PayloadReceived: Served, scenarios.BlockTaken: Served,
	scenarios.NoHeader: NoBid, scenarios.RequestRefused: Refused, scenarios.RequestFailed: Failed,
}

// request is a request as its proposer tells it. Events of earlier versions do not say when it was
// sent, and those of other agents are about other requests; they are no rows.
func (r *factReader) request(record *scenarios.Record) ([]any, error) {
	if len(record.Fact) == 0 {
		return nil, nil
	}
	var f devnet.RelayRequest
	if err := decodeFact(record, &f); err != nil {
		return nil, err
	}
	row := &Request{
		Slot: Int{int64(f.Slot), true}, SentAt: timeOf(f.SentAt), Source: "run", Kind: Text(f.Kind),
		Relay: r.relayOf(record.At), Proposer: Key{f.Proposer, f.Proposer != phase0.BLSPubKey{}},
		Outcome: outcomeOf[record.Subject], BlockHash: Hash{f.BlockHash, f.BlockHash != phase0.Hash32{}},
		Times: Int{1, true},
	}
	if row.Outcome == Refused {
		row.Refusal = Text(record.ID)
	}
	var err error
	if f.ValueWei != nil {
		row.ValueWei, err = weiOf(f.ValueWei)
	}
	return []any{row}, err
}

// slot is what the chain has. Facts of earlier versions say less of the block.
func (r *factReader) slot(record *scenarios.Record) ([]any, error) {
	var f scenarios.ChainBlock
	if err := decodeFact(record, &f); err != nil {
		return nil, err
	}
	row := &Slot{
		Slot: Int{int64(record.Slot), true}, Source: "run", Fork: Text(record.Fork), Outcome: Text(record.ID),
		Because: Text(record.Because), Proposer: Key{f.ProposerKey, f.ProposerKey != phase0.BLSPubKey{}},
		Builder:    Key{f.BuilderKey, f.BuilderKey != phase0.BLSPubKey{}},
		BlockHash:  Hash{f.BlockHash, f.BlockHash != phase0.Hash32{}},
		ParentHash: Hash{f.ParentHash, f.ParentHash != phase0.Hash32{}},
	}
	if f.Relay != "" {
		row.Relay = r.relayOf(f.Relay)
	}
	row.BlockNumber, row.GasUsed = Int{int64(f.Number), f.Number > 0}, Int{int64(f.GasUsed), f.Number > 0}
	row.NumTx = Int{int64(f.Txs), row.BlockHash.Known && row.Outcome != Empty}
	if row.BlockNumber.V < 0 || row.GasUsed.V < 0 || row.NumTx.V < 0 {
		return nil, fmt.Errorf("block_number, gas_used or txs: %w", errNotInt)
	}
	var err error
	if record.ValueWei != "" {
		if row.ValueWei, err = ParseWei(record.ValueWei); err != nil {
			return nil, fmt.Errorf("value_wei: %w", err)
		}
	}
	if f.PaidWei != nil {
		if row.PaidWei, err = weiOf(f.PaidWei); err != nil {
			return nil, fmt.Errorf("paid: %w", err)
		}
	}
	return []any{row}, nil
}

// stagesOf are the rows of a request's stages, which are like a first one.
func stagesOf(stages *relay.StagesUs, like Stage) (rows []any) {
	for name, us := range stages.All() {
		row := like
		row.Stage, row.TookUs = Text(name), Int{us, true}
		rows = append(rows, &row)
	}
	return rows
}

// madeBlock is a block that a builder has bid with.
type madeBlock struct {
	hash    phase0.Hash32
	builder phase0.BLSPubKey
}

// mostWorths bounds how many blocks are remembered: twice as many at most. Builders tell of a block
// just before they send it.
const mostWorths = 1 << 16

// worths remembers what the newest blocks are worth to their builders.
type worths struct{ now, before map[madeBlock]Wei }

func (w *worths) put(block madeBlock, worth Wei) {
	if len(w.now) >= mostWorths {
		w.now, w.before = nil, w.now
	}
	if w.now == nil {
		w.now = map[madeBlock]Wei{}
	}
	w.now[block] = worth
}

// of is null for a block that no builder has told of.
func (w *worths) of(block madeBlock) Wei {
	if worth, known := w.now[block]; known {
		return worth
	}
	return w.before[block]
}

var errNoWorth = errors.New("no worth")

// made remembers what a bid is worth to its builder, for the submissions that follow.
func (r *factReader) made(record *scenarios.Record) ([]any, error) {
	var f devnet.MadeBid
	if err := decodeFact(record, &f); err != nil {
		return nil, err
	}
	if f.WorthWei == nil {
		return nil, errNoWorth
	}
	worth, err := weiOf(f.WorthWei)
	if err != nil {
		return nil, fmt.Errorf("worth: %w", err)
	}
	r.worths.put(madeBlock{f.BlockHash, f.Builder}, worth)
	return nil, nil
}
