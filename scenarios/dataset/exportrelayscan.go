package dataset

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
)

var exportRelayscan = ExportFormat{
	Name: "relayscan", Doc: "the columns of relayscan's bid archive; it has no deliveries",
	Tables: []AnyOutgoing{Outgoing[Bid]{
		Bids, "bids.csv", tellRelayscan, func(_ Network, out io.Writer) (RowWriter[Bid], error) {
			w := &relayscanWriter{out: bufio.NewWriter(out)}
			if _, err := w.out.WriteString(relayscanColumns + "\n"); err != nil {
				return nil, fmt.Errorf("begin relayscan's columns: %w", err)
			}
			return w, nil
		}},
	},
}

func tellRelayscan(b Bid) (Bid, string) {
	switch {
	case relayscanType(b.Kind) == "":
		return Bid{}, whyNoKind
	case b.Refusal != "":
		return Bid{}, whyRefused
	case strings.ContainsAny(string(b.Relay), ",\r\n"):
		return Bid{}, whySeparator
	}
	told := Bid{
		Slot: b.Slot, SlotStart: b.SlotStart, ReceivedAt: onlyMillis(b.ReceivedAt), ObservedAt: onlyMillis(b.ObservedAt),
		Source: b.Source, Kind: b.Kind, Relay: b.Relay, ValueWei: b.ValueWei, BlockHash: b.BlockHash,
		ParentHash: b.ParentHash, Builder: b.Builder, Proposer: b.Proposer, FeeRecipient: b.FeeRecipient,
		BlockFeeRecipient: b.BlockFeeRecipient, BlockNumber: b.BlockNumber, Optimistic: b.Optimistic,
	}
	if b.ReceivedAt.Known {
		told.ReceivedUnitUs = Int{1000, true}
	}
	return told, ""
}

// relayscanType is the archive's number for a kind of bids.
func relayscanType(kind Text) string {
	for number, known := range relayscanKinds {
		if known == kind {
			return number
		}
	}
	return ""
}

type relayscanWriter struct{ out *bufio.Writer }

// Write implements RowWriter.
func (w *relayscanWriter) Write(b *Bid) error {
	observed, received := millis(b.ObservedAt), millis(b.ReceivedAt)
	into := ""
	if received.Known {
		into = strconv.FormatInt((b.ReceivedAt.Micros-b.SlotStart.Micros)/1000, 10)
	}
	fields := []string{
		relayscanType(b.Kind), cellText(&observed), cellText(&received), cellText(&b.Slot), into, b.ValueWei.String(),
		cellText(&b.BlockHash), cellText(&b.ParentHash), cellText(&b.Builder), cellText(&b.BlockNumber),
		cellText(&b.BlockFeeRecipient), string(b.Relay), cellText(&b.Proposer), cellText(&b.FeeRecipient),
		cellText(&b.Optimistic),
	}
	if _, err := w.out.WriteString(strings.Join(fields, ",") + "\n"); err != nil {
		return fmt.Errorf("write a row of relayscan's: %w", err)
	}
	return nil
}

// Close implements RowWriter.
func (w *relayscanWriter) Close() error {
	if err := w.out.Flush(); err != nil {
		return fmt.Errorf("end relayscan's columns: %w", err)
	}
	return nil
}
