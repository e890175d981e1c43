package dataset

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
)

var exportDataAPI = ExportFormat{
	Name: "data-api",
	Doc: "answers of a relay's Data API, without a limit; each row has the further field `relay`, since rows of several " +
		"relays may be in one file",
	Tables: []AnyOutgoing{
		Outgoing[Bid]{
			Bids, "builder_blocks_received.json", tellReceived, func(_ Network, out io.Writer) (RowWriter[Bid], error) {
				return beginArray(out, receivedTrace)
			},
		},
		Outgoing[Delivery]{
			Deliveries, "proposer_payload_delivered.json", tellDelivered,
			func(_ Network, out io.Writer) (RowWriter[Delivery], error) {
				return beginArray(out, deliveredTrace)
			},
		},
	},
}

func tellReceived(b Bid) (Bid, string) {
	switch {
	case b.Kind != Submission:
		return Bid{}, whyKind
	case b.Refusal != "":
		return Bid{}, whyRefused
	case !b.ReceivedAt.Known:
		return Bid{}, whyNoTime
	}
	told := Bid{
		Slot: b.Slot, SlotStart: b.SlotStart, ReceivedAt: b.ReceivedAt, ReceivedUnitUs: receivedUnit(&b), Source: b.Source,
		Kind: b.Kind, Relay: b.Relay, ValueWei: b.ValueWei, BlockHash: b.BlockHash, ParentHash: b.ParentHash,
		Builder: b.Builder, Proposer: b.Proposer, FeeRecipient: b.FeeRecipient, BlockNumber: b.BlockNumber,
		GasLimit: b.GasLimit, GasUsed: b.GasUsed, NumTx: b.NumTx, NumBlobs: b.NumBlobs, Optimistic: b.Optimistic,
	}
	return told, ""
}

// receivedUnit is the coarsest unit of the Data API in which the time is whole; it is not coarser
// than the archive's.
func receivedUnit(b *Bid) Int {
	unit := int64(1e6)
	if b.ReceivedUnitUs.Known {
		unit = b.ReceivedUnitUs.V
	} else if b.ReceivedAt.Known {
		unit = 1000
	}
	switch {
	case unit == 1e6 && b.ReceivedAt.Micros%1e6 == 0:
		return Int{1e6, true}
	case unit >= 1000 && b.ReceivedAt.Micros%1000 == 0:
		return Int{1000, true}
	}
	return Int{1, true}
}

func tellDelivered(d Delivery) (Delivery, string) {
	d.DeliveredAt, d.ObservedAt = Time{}, Time{}
	return d, ""
}

// traceOut is a row as relays write it: numbers are decimal text. What is not known is empty.
type traceOut struct {
	Slot                 string `json:"slot"`
	ParentHash           string `json:"parent_hash"`
	BlockHash            string `json:"block_hash"`
	BuilderPubkey        string `json:"builder_pubkey"`
	ProposerPubkey       string `json:"proposer_pubkey"`
	ProposerFeeRecipient string `json:"proposer_fee_recipient"`
	GasLimit             string `json:"gas_limit"`
	GasUsed              string `json:"gas_used"`
	Value                string `json:"value"`
	ValuePaid            string `json:"value_paid,omitempty"`
	NumTx                string `json:"num_tx"`
	NumBlobs             string `json:"num_blobs,omitempty"`
	BlockNumber          string `json:"block_number"`
	Timestamp            string `json:"timestamp,omitempty"`
	TimestampMs          string `json:"timestamp_ms,omitempty"`
	TimestampNs          string `json:"timestamp_ns,omitempty"`
	Optimistic           *bool  `json:"optimistic_submission,omitempty"`
	Relay                string `json:"relay,omitempty"`
}

func receivedTrace(b *Bid) traceOut {
	t := traceOut{
		Slot: cellText(&b.Slot), ParentHash: cellText(&b.ParentHash), BlockHash: cellText(&b.BlockHash),
		BuilderPubkey: cellText(&b.Builder), ProposerPubkey: cellText(&b.Proposer),
		ProposerFeeRecipient: cellText(&b.FeeRecipient), GasLimit: cellText(&b.GasLimit), GasUsed: cellText(&b.GasUsed),
		Value: b.ValueWei.String(), NumTx: cellText(&b.NumTx), NumBlobs: cellText(&b.NumBlobs),
		BlockNumber: cellText(&b.BlockNumber), Relay: string(b.Relay),
		Timestamp: strconv.FormatInt(b.ReceivedAt.Micros/1e6, 10),
	}
	if b.ReceivedUnitUs.V <= 1000 {
		t.TimestampMs = strconv.FormatInt(b.ReceivedAt.Micros/1000, 10)
	}
	if b.ReceivedUnitUs.V == 1 {
		t.TimestampNs = strconv.FormatInt(b.ReceivedAt.Micros, 10) + "000"
	}
	if b.Optimistic.Known {
		t.Optimistic = &b.Optimistic.V
	}
	return t
}

func deliveredTrace(d *Delivery) traceOut {
	return traceOut{
		Slot: cellText(&d.Slot), ParentHash: cellText(&d.ParentHash), BlockHash: cellText(&d.BlockHash),
		BuilderPubkey: cellText(&d.Builder), ProposerPubkey: cellText(&d.Proposer),
		ProposerFeeRecipient: cellText(&d.FeeRecipient), GasLimit: cellText(&d.GasLimit), GasUsed: cellText(&d.GasUsed),
		Value: d.ValueWei.String(), ValuePaid: d.PaidWei.String(), NumTx: cellText(&d.NumTx),
		NumBlobs: cellText(&d.NumBlobs), BlockNumber: cellText(&d.BlockNumber), Relay: string(d.Relay),
	}
}

// arrayWriter writes rows as a JSON array, each on a line.
type arrayWriter[R any] struct {
	out   *bufio.Writer
	trace func(*R) traceOut
	begun bool
}

func beginArray[R any](out io.Writer, trace func(*R) traceOut) (RowWriter[R], error) {
	return &arrayWriter[R]{out: bufio.NewWriter(out), trace: trace}, nil
}

// Write implements RowWriter.
func (w *arrayWriter[R]) Write(row *R) error {
	raw, err := json.Marshal(w.trace(row))
	if err != nil {
		return fmt.Errorf("encode a bid trace: %w", err)
	}
	before := "[\n"
	if w.begun {
		before = ",\n"
	}
	w.begun = true
	if _, err := w.out.WriteString(before + string(raw)); err != nil {
		return fmt.Errorf("write a bid trace: %w", err)
	}
	return nil
}

// Close implements RowWriter.
func (w *arrayWriter[R]) Close() error {
	end := "\n]\n"
	if !w.begun {
		end = "[]\n"
	}
	_, err := w.out.WriteString(end)
	if err == nil {
		err = w.out.Flush()
	}
	if err != nil {
		return fmt.Errorf("end the bid traces: %w", err)
	}
	return nil
}
