package dataset

// Bid is a bid for one slot, as one archive tells it.
type Bid struct {
	Slot                            Int
	SlotStart, ReceivedAt           Time
	ReceivedUnitUs                  Int
	ObservedAt                      Time
	Source, Kind, Relay             Text
	ValueWei                        Wei
	BlockHash, ParentHash           Hash
	Builder, Proposer               Key
	FeeRecipient, BlockFeeRecipient Address
	BlockNumber, GasLimit, GasUsed  Int
	NumTx, NumBlobs                 Int
	Optimistic                      Bool
	EligibleAt                      Time
	Verified, Cancellable           Bool
	Sequence                        Int
	Refusal                         Text
	WorthWei                        Wei
}

// Kinds of bids: how somebody got to know of it.
const (
	// Submission: the relay lists it among what builders sent.
	Submission Text = "submission"
	// TopStream: the relay's stream of leading bids told of it, when it began to lead.
	TopStream Text = "top"
	// HeaderPoll: the relay answered somebody's getHeader with it.
	HeaderPoll Text = "header"
)

// Bids is the table of bids.
var Bids = &Table[Bid]{
	Name: "bids",
	Doc: "Bids, each as one archive tells it: the same bid in two archives is two rows with different `source`. Null " +
		"means " +
		"that the archive does not say.",
	Seen:  func(b *Bid) *Time { return &b.ObservedAt },
	Relay: func(b *Bid) *Text { return &b.Relay },
	check: (*Bid).check,
	At:    func(_ Network, b *Bid) int64 { return b.SlotStart.Micros },
	Columns: []Column[Bid]{
		{"slot", "slot", "the slot that the block is for", func(b *Bid) any { return &b.Slot }},
		{"slot_start", "UTC", "when that slot begins", func(b *Bid) any { return &b.SlotStart }},
		{"received_at", "UTC, relay's clock", "when the relay received the bid", func(b *Bid) any { return &b.ReceivedAt }},
		{"received_unit_us", "µs", "the unit in which the archive writes `received_at`: 1000 means that it is exact to the " +
			"millisecond", func(b *Bid) any { return &b.ReceivedUnitUs }},
		{"observed_at", "UTC, collector's clock", "when a collector first saw the bid; later sightings of the same row are " +
			"no rows of their own", func(b *Bid) any { return &b.ObservedAt }},
		{"source", "", "the format that the row is from, such as `relayscan`", func(b *Bid) any { return &b.Source }},
		{"kind", "", "`submission`: the relay lists it among what builders sent; `top`: its stream of leading bids told of " +
			"it; `header`: it answered somebody's getHeader with it", func(b *Bid) any { return &b.Kind }},
		{"relay", "", "the relay's name or host, as the archive or `--relay` says", func(b *Bid) any { return &b.Relay }},
		{"value_wei", "wei", "what the bid promises the proposer", func(b *Bid) any { return &b.ValueWei }},
		{"block_hash", "0x, 32 bytes", "", func(b *Bid) any { return &b.BlockHash }},
		{"parent_hash", "0x, 32 bytes", "hash of the parent block", func(b *Bid) any { return &b.ParentHash }},
		{"builder_pubkey", "0x, 48 bytes", "the key that signed the submission", func(b *Bid) any { return &b.Builder }},
		{"proposer_pubkey", "0x, 48 bytes", "", func(b *Bid) any { return &b.Proposer }},
		{"proposer_fee_recipient", "0x, 20 bytes", "whom the proposer wants paid",
			func(b *Bid) any { return &b.FeeRecipient }},
		{"block_fee_recipient", "0x, 20 bytes", "the fee recipient in the block itself",
			func(b *Bid) any { return &b.BlockFeeRecipient }},
		{"block_number", "block", "", func(b *Bid) any { return &b.BlockNumber }},
		{"gas_limit", "gas", "", func(b *Bid) any { return &b.GasLimit }},
		{"gas_used", "gas", "", func(b *Bid) any { return &b.GasUsed }},
		{"num_tx", "transactions", "", func(b *Bid) any { return &b.NumTx }},
		{"num_blobs", "blobs", "", func(b *Bid) any { return &b.NumBlobs }},
		{"optimistic", "", "whether the bid counted before its block was executed",
			func(b *Bid) any { return &b.Optimistic }},
		{"eligible_at", "UTC, relay's clock", "when the bid began to count", func(b *Bid) any { return &b.EligibleAt }},
		{"verified", "", "whether the block was executed and found valid", func(b *Bid) any { return &b.Verified }},
		{"cancellable", "", "whether the builder allowed the relay to replace it by a lower one",
			func(b *Bid) any { return &b.Cancellable }},
		{"sequence", "", "the builder's x-sequence", func(b *Bid) any { return &b.Sequence }},
		{"refusal", "", "the relay's refusal, if it refused the bid", func(b *Bid) any { return &b.Refusal }},
		{"worth_wei", "wei", "what the block earns its builder in all, of which it bids a part, as the builder says",
			func(b *Bid) any { return &b.WorthWei }},
	},
}

// check completes a row and says why it cannot be one.
func (b *Bid) check(n Network) error {
	if err := checkSlot(b.Slot); err != nil {
		return err
	}
	if !b.ValueWei.Known {
		return errNoValue
	}
	b.SlotStart = Time{n.startMicros(b.Slot.V), true}
	if err := n.checkTime("received_at", b.Slot.V, b.ReceivedAt); err != nil {
		return err
	}
	return n.checkTime("observed_at", b.Slot.V, b.ObservedAt)
}
