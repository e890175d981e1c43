package dataset

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unique"
)

// relayscanColumns are the columns of relayscan's bid archive, in its order (flashbots/relayscan,
// services/bidcollect/types/types.go). The files all and top have the same.
const relayscanColumns = "source_type,received_at_ms,timestamp_ms,slot,slot_t_ms,value,block_hash,parent_hash," +
	"builder_pubkey,block_number,block_fee_recipient,relay,proposer_pubkey,proposer_fee_recipient,optimistic_submission"

var relayscanCSV = Format{
	Name: "relayscan", Place: Line,
	Doc:    "relayscan's bid archive, all or top, with commas",
	begins: func(head []byte) bool { return bytes.HasPrefix(head, []byte(relayscanColumns)) },
	Read:   func(in io.Reader, from Origin, to Sink) error { return readRelayscan(in, ',', from, to) },
}

var relayscanTSV = Format{
	Name: "relayscan", Place: Line,
	Doc: "relayscan's bid archive, all or top, with tabs",
	begins: func(head []byte) bool {
		return bytes.HasPrefix(head, []byte(strings.ReplaceAll(relayscanColumns, ",", "\t")))
	},
	Read: func(in io.Reader, from Origin, to Sink) error { return readRelayscan(in, '\t', from, to) },
}

func readRelayscan(in io.Reader, comma byte, from Origin, to Sink) error {
	var fields [15]string
	return eachLine(in, func(at int64, line string) error {
		if at == 1 || line == "" {
			return nil
		}
		if strings.HasPrefix(line, relayscanColumns[:len("source_type")]) {
			return nil // hourly files that were joined have a header each
		}
		n := splitFields(line, comma, fields[:])
		if n != len(fields) {
			return to.Bad(at, line, fmt.Errorf("%d fields in place of %d", n, len(fields)))
		}
		bid, err := relayscanBid(&fields)
		if err == nil {
			err = bid.check(from.Network)
		}
		if err == nil {
			err = checkIntoSlot(bid, fields[4], from.Network)
		}
		if err != nil {
			return to.Bad(at, line, err)
		}
		return to.Row(at, bid)
	})
}

// checkIntoSlot compares the time in the slot that the archive has reckoned with ours: they differ
// if it reckoned with the genesis of another network.
func checkIntoSlot(b *Bid, slotMs string, n Network) error {
	if slotMs == "" || !b.ReceivedAt.Known {
		return nil
	}
	ms, err := strconv.ParseInt(slotMs, 10, 64)
	if err != nil {
		return fmt.Errorf("slot_t_ms: %q is no number", cut(slotMs))
	}
	if ours := (b.ReceivedAt.Micros - b.SlotStart.Micros) / 1000; ours != ms {
		return fmt.Errorf("slot_t_ms is %d, and on %s it would be %d", ms, n.Name, ours)
	}
	return nil
}

// relayscanKinds are the archive's source types: a poll of getHeader, a poll of the Data API, and
// the stream of leading bids.
var relayscanKinds = map[string]Text{"0": HeaderPoll, "1": Submission, "2": TopStream}

func relayscanBid(f *[15]string) (*Bid, error) {
	b := &Bid{Source: "relayscan", Kind: relayscanKinds[f[0]], Relay: Text(unique.Make(f[11]).Value())}
	if b.Kind == "" {
		return nil, fmt.Errorf("source_type %q is not 0, 1 or 2", cut(f[0]))
	}
	p := parsing{}
	p.time("received_at_ms", f[1], &b.ObservedAt)
	p.time("timestamp_ms", f[2], &b.ReceivedAt)
	p.int("slot", f[3], &b.Slot)
	p.wei("value", f[5], &b.ValueWei)
	p.hex("block_hash", f[6], b.BlockHash.V[:], &b.BlockHash.Known)
	p.hex("parent_hash", f[7], b.ParentHash.V[:], &b.ParentHash.Known)
	p.hex("builder_pubkey", f[8], b.Builder.V[:], &b.Builder.Known)
	p.int("block_number", f[9], &b.BlockNumber)
	p.hex("block_fee_recipient", f[10], b.BlockFeeRecipient.V[:], &b.BlockFeeRecipient.Known)
	p.hex("proposer_pubkey", f[12], b.Proposer.V[:], &b.Proposer.Known)
	p.hex("proposer_fee_recipient", f[13], b.FeeRecipient.V[:], &b.FeeRecipient.Known)
	p.bool("optimistic_submission", f[14], &b.Optimistic)
	if b.ReceivedAt.Known {
		b.ReceivedUnitUs = Int{1000, true}
	}
	return b, p.err
}

// parsing keeps the first error of several fields, with the field's name.
type parsing struct{ err error }

func (p *parsing) fail(name string, err error) {
	if err != nil && p.err == nil {
		p.err = fmt.Errorf("%s: %w", name, err)
	}
}

func (p *parsing) time(name, s string, into *Time) {
	var err error
	*into, err = parseMs(s)
	p.fail(name, err)
}

func (p *parsing) int(name, s string, into *Int) {
	var err error
	*into, err = parseInt(s)
	p.fail(name, err)
}

func (p *parsing) wei(name, s string, into *Wei) {
	var err error
	*into, err = ParseWei(s)
	p.fail(name, err)
}

func (p *parsing) bool(name, s string, into *Bool) {
	var err error
	*into, err = parseBool(s)
	p.fail(name, err)
}

func (p *parsing) hex(name, s string, into []byte, known *bool) {
	var err error
	*known, err = parseHex(s, into)
	p.fail(name, err)
}

// maxLine is the longest line that is read: far more than any format's row needs.
const maxLine = 4 << 20

var errLongLine = fmt.Errorf("a line is longer than %d bytes", maxLine)

// eachLine calls a function with each line and its number. A last line without a line feed counts.
func eachLine(in io.Reader, do func(at int64, line string) error) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(make([]byte, 256<<10), maxLine)
	at := int64(0)
	for lines.Scan() {
		at++
		if err := do(at, string(lines.Bytes())); err != nil {
			return err
		}
	}
	switch err := lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return fmt.Errorf("after line %d: %w", at, errLongLine)
	case err != nil:
		return fmt.Errorf("after line %d: %w", at, err)
	}
	return nil
}

// splitFields cuts a line at each comma. It returns the number of fields, also if there are more
// than it has room for. The formats quote nothing.
func splitFields(line string, comma byte, into []string) int {
	n := 0
	for {
		at := strings.IndexByte(line, comma)
		field := line
		if at >= 0 {
			field = line[:at]
		}
		if n < len(into) {
			into[n] = field
		}
		n++
		if at < 0 {
			return n
		}
		line = line[at+1:]
	}
}
