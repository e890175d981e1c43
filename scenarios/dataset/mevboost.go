package dataset

import (
	"errors"
	"fmt"

	"github.com/apache/arrow-go/v18/parquet"
)

// mevboostColumns are those that are read of mevboost-data (dataalways/mevboost-data,
// data/ethereum__mev__blocks__….parquet): a row for each block and relay that had the winning bid.
// Their types differ from file to file: numbers are integers or doubles, flags are those or
// booleans.
var mevboostColumns = []string{
	"slot", "block_number", "block_hash", "value", "relay", "payload_delivered", "slot_time_ms", "builder_pubkey",
	"bid_timestamp_ms", "proposer_pubkey", "proposer_mev_recipient", "builder_fee_recipient", "gas_limit", "gas_used",
	"num_tx", "optimistic_submission",
}

var mevboostBlocks = Format{
	Name: "mevboost-data", Place: Row,
	Doc: "mevboost-data, in Parquet: each row is a relay's bid, and if that relay delivered it, a delivered payload; " +
		"blocks that were built locally are bad rows",
	columns: mevboostColumns, needed: 8,
	ReadParquet: func(in parquet.ReaderAtSeeker, from Origin, to Sink) error {
		return eachRow(in, mevboostColumns, noBytes, func(at int64, r *parquetRow) error {
			bid, delivered, err := r.winner(from.Network)
			if err != nil {
				return to.Bad(at, r.String(), err)
			}
			if err := to.Row(at, bid); err != nil || !delivered {
				return err
			}
			return to.Row(at, deliveryOfBid(bid))
		})
	},
}

var errLocal = errors.New("no relay: the block was built locally, and was no bid")

// winner is the bid of a row, and whether its relay delivered it.
func (r *parquetRow) winner(n Network) (*Bid, bool, error) {
	b := &Bid{Source: "mevboost-data", Kind: Submission}
	var ms, slotMs Int
	var delivered Bool
	if r.column("relay").text(r.at) == "" {
		return nil, false, errLocal
	}
	err := r.fill(namedCell{"slot", &b.Slot}, namedCell{"relay", &b.Relay}, namedCell{"block_hash", &b.BlockHash},
		namedCell{"block_number", &b.BlockNumber}, namedCell{"value", &b.ValueWei},
		namedCell{"payload_delivered", &delivered}, namedCell{"slot_time_ms", &slotMs},
		namedCell{"builder_pubkey", &b.Builder}, namedCell{"bid_timestamp_ms", &ms},
		namedCell{"proposer_pubkey", &b.Proposer}, namedCell{"proposer_mev_recipient", &b.FeeRecipient},
		namedCell{"builder_fee_recipient", &b.BlockFeeRecipient}, namedCell{"gas_limit", &b.GasLimit},
		namedCell{"gas_used", &b.GasUsed}, namedCell{"num_tx", &b.NumTx},
		namedCell{"optimistic_submission", &b.Optimistic})
	if err != nil {
		return nil, false, err
	}
	if ms.Known && ms.V > 0 {
		if b.ReceivedAt, err = msTime(ms.V); err != nil {
			return nil, false, fmt.Errorf("bid_timestamp_ms: %w", err)
		}
		b.ReceivedUnitUs = Int{1000, true}
	}
	if err := b.check(n); err != nil {
		return nil, false, err
	}
	// slot_time_ms counts from the start of the slot before.
	if ours := (b.ReceivedAt.Micros-b.SlotStart.Micros)/1000 + n.SlotSeconds*1000; b.ReceivedAt.Known && slotMs.Known &&
		ours != slotMs.V {
		return nil, false, fmt.Errorf("slot_time_ms is %d, and on %s it would be %d", slotMs.V, n.Name, ours)
	}
	return b, delivered.V, nil
}

// deliveryOfBid is the delivered payload of a bid.
func deliveryOfBid(b *Bid) *Delivery {
	return &Delivery{
		Slot: b.Slot, SlotStart: b.SlotStart, Source: b.Source, Relay: b.Relay, ValueWei: b.ValueWei, BlockHash: b.BlockHash,
		ParentHash: b.ParentHash, Builder: b.Builder, Proposer: b.Proposer, FeeRecipient: b.FeeRecipient,
		BlockNumber: b.BlockNumber, GasLimit: b.GasLimit, GasUsed: b.GasUsed, NumTx: b.NumTx, NumBlobs: b.NumBlobs,
	}
}
