package dataset

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
)

// The Data API's lists of bid traces (relay-specs, apis/relay/data), as arrays and as one object
// per line. Rows of builder_blocks_received have a time, rows of proposer_payload_delivered have
// none.

// DataAPI are a relay's answers.
var DataAPI = Format{
	Name: "data-api", Place: Row,
	Doc:    "answers of a relay's Data API: builder_blocks_received and proposer_payload_delivered",
	begins: func(head []byte) bool { return beginsTrace(head, '[', "") || isEmptyArray(head) },
	Read:   func(in io.Reader, from Origin, to Sink) error { return readTraces(in, true, "data-api", from, to) },
}

var dataAPILines = Format{
	Name: "data-api", Place: Row,
	Doc:    "rows of the Data API, one object per line",
	begins: func(head []byte) bool { return beginsTrace(head, '{', "") },
	Read:   func(in io.Reader, from Origin, to Sink) error { return readTraces(in, false, "data-api", from, to) },
}

var edenLines = Format{
	Name: "eden", Place: Row,
	Doc: "Eden's tables of bids and payloads, one object per line: the Data API's fields with `relay` and `timestamp_s`",
	begins: func(head []byte) bool {
		return beginsTrace(head, '{', "timestamp_s") || beginsTrace(head, '{', "reorged")
	},
	Read: func(in io.Reader, from Origin, to Sink) error { return readTraces(in, false, "eden", from, to) },
}

// beginsTrace tells whether the first object is a bid trace, and has a further field.
func beginsTrace(head []byte, first byte, field string) bool {
	head = bytes.TrimSpace(head)
	if len(head) == 0 || head[0] != first {
		return false
	}
	if first == '[' {
		head = bytes.TrimSpace(head[1:])
	}
	end := bytes.IndexByte(head, '}')
	if end < 0 {
		return false
	}
	fields := map[string]json.RawMessage{}
	if json.Unmarshal(head[:end+1], &fields) != nil {
		return false
	}
	for _, name := range []string{"slot", "block_hash", "builder_pubkey", "value", field} {
		if _, has := fields[name]; name != "" && !has {
			return false
		}
	}
	return true
}

func isEmptyArray(head []byte) bool {
	return bytes.Equal(bytes.Join(bytes.Fields(head), nil), []byte("[]"))
}

// trace is a row. Numbers are decimal text, at some relays and in Eden's tables numbers.
type trace struct {
	Slot                 number `json:"slot"`
	ParentHash           string `json:"parent_hash"`
	BlockHash            string `json:"block_hash"`
	BuilderPubkey        string `json:"builder_pubkey"`
	ProposerPubkey       string `json:"proposer_pubkey"`
	ProposerFeeRecipient string `json:"proposer_fee_recipient"`
	GasLimit             number `json:"gas_limit"`
	GasUsed              number `json:"gas_used"`
	Value                number `json:"value"`
	NumTx                number `json:"num_tx"`
	NumBlobs             number `json:"num_blobs"`
	BlockNumber          number `json:"block_number"`
	ValuePaid            number `json:"value_paid"`
	Timestamp            number `json:"timestamp"`
	TimestampS           number `json:"timestamp_s"`
	TimestampMs          number `json:"timestamp_ms"`
	TimestampNs          number `json:"timestamp_ns"`
	Optimistic           *bool  `json:"optimistic_submission"`
	Relay                string `json:"relay"`
	Reorged              *bool  `json:"reorged"`
}

// number is a number or text.
type number string

// UnmarshalJSON implements json.Unmarshaler.
func (n *number) UnmarshalJSON(raw []byte) error {
	switch {
	case string(raw) == "null":
		*n = ""
		return nil
	case raw[0] == '"':
		return json.Unmarshal(raw, (*string)(n))
	case raw[0] >= '0' && raw[0] <= '9' || raw[0] == '-':
		*n = number(raw)
		return nil
	}
	return errors.New("neither a number nor text")
}

func readTraces(in io.Reader, array bool, source Text, from Origin, to Sink) error {
	decoder := json.NewDecoder(in)
	if array {
		if _, err := decoder.Token(); err != nil {
			return fmt.Errorf("begin the array: %w", err)
		}
	}
	at := int64(0)
	for decoder.More() {
		at++
		var raw json.RawMessage
		if err := decoder.Decode(&raw); err != nil {
			return fmt.Errorf("after row %d: %w", at-1, endedEarly(err))
		}
		if err := readTrace(at, raw, source, from, to); err != nil {
			return err
		}
	}
	if array {
		if _, err := decoder.Token(); err != nil {
			return fmt.Errorf("after row %d: %w", at, endedEarly(err))
		}
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("after row %d: more than rows follows", at)
	}
	return nil
}

func endedEarly(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

func readTrace(at int64, raw json.RawMessage, source Text, from Origin, to Sink) error {
	var row trace
	if err := json.Unmarshal(raw, &row); err != nil {
		return to.Bad(at, string(raw), err)
	}
	return row.put(at, string(raw), source, from, to)
}

// put gives a row to the sink: one with a time is a bid, one without a delivered payload.
func (t *trace) put(at int64, text string, source Text, from Origin, to Sink) error {
	if t.Relay == "" {
		t.Relay = from.Relay
	}
	if t.Timestamp == "" && t.TimestampMs == "" && t.TimestampS == "" {
		delivery, err := t.delivery(source)
		if err == nil {
			err = delivery.check(from.Network)
		}
		if err != nil {
			return to.Bad(at, text, err)
		}
		return to.Row(at, delivery)
	}
	bid, err := t.bid(source)
	if err == nil {
		err = bid.check(from.Network)
	}
	if err != nil {
		return to.Bad(at, text, err)
	}
	return to.Row(at, bid)
}

func (t *trace) bid(source Text) (*Bid, error) {
	b := &Bid{Source: source, Kind: Submission, Relay: Text(t.Relay)}
	p := parsing{}
	p.int("slot", string(t.Slot), &b.Slot)
	p.wei("value", string(t.Value), &b.ValueWei)
	p.hex("block_hash", t.BlockHash, b.BlockHash.V[:], &b.BlockHash.Known)
	p.hex("parent_hash", t.ParentHash, b.ParentHash.V[:], &b.ParentHash.Known)
	p.hex("builder_pubkey", t.BuilderPubkey, b.Builder.V[:], &b.Builder.Known)
	p.hex("proposer_pubkey", t.ProposerPubkey, b.Proposer.V[:], &b.Proposer.Known)
	p.hex("proposer_fee_recipient", t.ProposerFeeRecipient, b.FeeRecipient.V[:], &b.FeeRecipient.Known)
	p.int("block_number", string(t.BlockNumber), &b.BlockNumber)
	p.int("gas_limit", string(t.GasLimit), &b.GasLimit)
	p.int("gas_used", string(t.GasUsed), &b.GasUsed)
	p.int("num_tx", string(t.NumTx), &b.NumTx)
	p.int("num_blobs", string(t.NumBlobs), &b.NumBlobs)
	if t.Optimistic != nil {
		b.Optimistic = Bool{*t.Optimistic, true}
	}
	var err error
	b.ReceivedAt, b.ReceivedUnitUs, err = t.receivedAt()
	p.fail("timestamp", err)
	return b, p.err
}

// receivedAt is the most exact of the row's times. They must agree.
func (t *trace) receivedAt() (at Time, unitUs Int, err error) {
	seconds := string(t.Timestamp)
	if strings.ContainsAny(seconds, " T") { // Eden writes the moment as text here
		seconds = string(t.TimestampS)
	}
	whole, err := parseInt(seconds)
	if err != nil {
		return Time{}, Int{}, err
	}
	if whole.V > maxMicros/1e6 {
		return Time{}, Int{}, fmt.Errorf("%d is no time in seconds since 1970", whole.V)
	}
	at, unitUs = Time{whole.V * 1e6, whole.Known}, Int{1e6, whole.Known}
	ms, err := parseMs(string(t.TimestampMs))
	if err != nil {
		return Time{}, Int{}, err
	}
	if ms.Known && ms.Micros > 0 {
		at, unitUs = ms, Int{1000, true}
	}
	ns, err := parseInt(string(t.TimestampNs))
	if err != nil {
		return Time{}, Int{}, err
	}
	if ns.Known && ns.V > 0 {
		at, unitUs = Time{ns.V / 1000, true}, Int{1, true}
	}
	if whole.Known && whole.V > 0 && at.Micros/1e6 != whole.V {
		return Time{}, Int{}, fmt.Errorf("%d s and %s are different moments", whole.V,
			time.UnixMicro(at.Micros).UTC().Format(time.RFC3339Nano))
	}
	return at, unitUs, nil
}

func (t *trace) delivery(source Text) (*Delivery, error) {
	d := &Delivery{Source: source, Relay: Text(t.Relay)}
	p := parsing{}
	p.int("slot", string(t.Slot), &d.Slot)
	p.wei("value", string(t.Value), &d.ValueWei)
	if t.ValuePaid != "" {
		p.wei("value_paid", string(t.ValuePaid), &d.PaidWei)
	}
	p.hex("block_hash", t.BlockHash, d.BlockHash.V[:], &d.BlockHash.Known)
	p.hex("parent_hash", t.ParentHash, d.ParentHash.V[:], &d.ParentHash.Known)
	p.hex("builder_pubkey", t.BuilderPubkey, d.Builder.V[:], &d.Builder.Known)
	p.hex("proposer_pubkey", t.ProposerPubkey, d.Proposer.V[:], &d.Proposer.Known)
	p.hex("proposer_fee_recipient", t.ProposerFeeRecipient, d.FeeRecipient.V[:], &d.FeeRecipient.Known)
	p.int("block_number", string(t.BlockNumber), &d.BlockNumber)
	p.int("gas_limit", string(t.GasLimit), &d.GasLimit)
	p.int("gas_used", string(t.GasUsed), &d.GasUsed)
	p.int("num_tx", string(t.NumTx), &d.NumTx)
	p.int("num_blobs", string(t.NumBlobs), &d.NumBlobs)
	return d, p.err
}
