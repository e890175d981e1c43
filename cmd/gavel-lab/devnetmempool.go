package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/gavel-relay/gavel/devnet"
	"github.com/gavel-relay/gavel/devnet/mempool"
	"github.com/gavel-relay/gavel/internal/run"
	"github.com/gavel-relay/gavel/scenarios/dataset"
	"github.com/gavel-relay/gavel/scenarios/replay"
)

var errNoneToSend = errors.New("it has no transactions: give a file of mempool-dumpster, or an export of the table " +
	"transactions")

// readMempool reads the transactions of a file for the devnet; without one it returns nil. Progress
// gets a line for each 100,000 rows.
func readMempool(cfg devnet.Config, progress io.Writer) (*mempool.Flow, error) {
	if cfg.ReplayMempool == "" {
		return nil, nil
	}
	to := &flowSink{flow: &mempool.Flow{For: time.Duration(cfg.Slots) * cfg.SlotDuration}, file: cfg.ReplayMempool,
		progress: progress}
	// Without a network the transactions may be of any chain.
	err := replay.Scan(cfg.ReplayMempool, dataset.Origin{}, to)
	if err == nil && to.flow.Empty() {
		err = errNoneToSend
	}
	if err != nil {
		return nil, run.Usage(fmt.Errorf("replay-mempool: %w", err))
	}
	return to.flow, nil
}

// flowSink takes a file's rows for the devnet.
type flowSink struct {
	flow     *mempool.Flow
	file     string
	progress io.Writer
	rows     int
}

// progressRows is how many rows are read from one line of progress to the next.
const progressRows = 100_000

func (s *flowSink) counted() {
	if s.rows++; s.rows%progressRows == 0 {
		fmt.Fprintf(s.progress, "%s: %d rows read\n", s.file, s.rows)
	}
}

// Row implements dataset.Sink.
func (s *flowSink) Row(_ int64, row any) error {
	s.counted()
	t, isTransaction := row.(*dataset.Transaction)
	if !isTransaction {
		s.flow.LeaveOut(mempool.WhyBad)
		return nil
	}
	tx := mempool.Transaction{
		At: time.UnixMicro(t.ObservedAt.Micros), From: t.From.V, Hash: t.Hash.V, Type: t.TxType.V,
		Nonce: uint64(t.Nonce.V), ValueWei: t.ValueWei.Uint64(), TipWei: t.TipCapWei.Uint64(), FeeWei: t.FeeCapWei.Uint64(),
		Bytes: uint64(t.DataBytes.V), NonZero: uint64(t.DataBytes.V),
	}
	if t.To.Known {
		tx.To = &t.To.V
	}
	if !t.TxType.Known && t.TipCapWei != t.FeeCapWei { // older files do not say, and there a price is both
		tx.Type = 2
	}
	if data, known := t.Calldata(); known {
		tx.NonZero = uint64(len(data) - bytes.Count(data, []byte{0}))
	}
	s.flow.Add(&tx)
	return nil
}

// Bad implements dataset.Sink.
func (s *flowSink) Bad(int64, string, error) error {
	s.counted()
	s.flow.LeaveOut(mempool.WhyBad)
	return nil
}

// Note implements dataset.Sink.
func (s *flowSink) Note(string) error { return nil }
