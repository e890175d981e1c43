package mempool

import "time"

// Transaction is a row of a file. Amounts are in wei, and in wei per gas.
type Transaction struct {
	At   time.Time
	From [20]byte
	// To is nil if the transaction creates a contract.
	To *[20]byte
	// Hash tells the same transaction in two rows from two with the same nonce.
	Hash  [32]byte
	Type  int64
	Nonce uint64
	// ValueWei, TipWei and FeeWei are at most 2^64-1: what is more is MaxAmount, and lowered anyway.
	ValueWei, TipWei, FeeWei uint64
	// Bytes is the length of calldata or init code, NonZero how many of them are not 0; if that is
	// not known it is Bytes.
	Bytes, NonZero uint64
}

// MaxAmount stands for every amount above it.
const MaxAmount = 1<<64 - 1

// Flow is the transactions of a file, and what was left out of it.
type Flow struct {
	// For is how long the run lasts in chain time; 0 is without end. Rows that come later are counted
	// and not kept, so that a long file takes little memory in a short run.
	For time.Duration

	rows    int64
	first   int64 // the least time, in microseconds since 1970
	kept    []Step
	senders map[[20]byte]uint32
	left    Counts
}

// Counts are numbers of rows by reason.
type Counts map[string]int64

// Why a row is left out. What a node refuses has reasons of its own.
const (
	WhyBad     = "no valid row of a transaction"
	WhyBlob    = "blob transaction: its blobs are not in the file"
	WhyCode    = "sets code of accounts (type 4)"
	WhyType    = "type that the devnet does not know"
	WhyLong    = "calldata longer than a pool takes"
	WhyInit    = "init code longer than a chain takes"
	WhyAgain   = "same transaction again"
	WhyBump    = "same nonce, and fees not 10 % higher"
	WhyFees    = "replaces one whose fees are the most that is sent"
	WhySenders = "of more senders than there are accounts"
	WhyEnd     = "after the end of the run"
)

// Empty tells whether no row was a transaction.
func (f *Flow) Empty() bool { return f.rows == f.left[WhyBad] }

// LeaveOut counts a row that is no transaction.
func (f *Flow) LeaveOut(why string) {
	f.rows++
	f.leave(why)
}

func (f *Flow) leave(why string) {
	if f.left == nil {
		f.left = Counts{}
	}
	f.left[why]++
}

// Limits of what pools and chains take. A transaction has at most 128 KiB, of which some hundred
// bytes are not calldata.
const (
	maxBytes    = 128<<10 - 1024
	maxInitCode = 49_152
)

// whyNot says why a transaction cannot be sent; empty: it can.
func (t *Transaction) whyNot() string {
	switch {
	case t.Type == 3:
		return WhyBlob
	case t.Type == 4:
		return WhyCode
	case t.Type < 0 || t.Type > 4:
		return WhyType
	case t.To == nil && t.Bytes > maxInitCode:
		return WhyInit
	case t.Bytes > maxBytes:
		return WhyLong
	}
	return ""
}

// Add takes a row, in any order.
func (f *Flow) Add(t *Transaction) {
	at := t.At.UnixMicro()
	if f.first == 0 || at < f.first {
		f.first = at
	}
	f.rows++
	if why := t.whyNot(); why != "" {
		f.leave(why)
		return
	}
	if f.late(at) {
		f.leave(WhyEnd)
		return
	}
	if f.senders == nil {
		f.senders = map[[20]byte]uint32{}
	}
	sender, known := f.senders[t.From]
	if !known {
		sender = uint32(len(f.senders))
		f.senders[t.From] = sender
	}
	s := Step{
		at: at, Sender: int(sender), Nonce: t.Nonce, Type: uint8(t.Type), Creates: t.To == nil, ValueWei: t.ValueWei,
		TipWei: t.TipWei, FeeWei: t.FeeWei, Bytes: uint32(t.Bytes), NonZero: uint32(min(t.NonZero, t.Bytes)),
		hash: [8]byte(t.Hash[:8]),
	}
	if t.To != nil {
		s.To = *t.To
	}
	f.kept = append(f.kept, s)
}

// longest is after how many microseconds a run without an end is over, too: a file may have a time
// of another century.
const longest = int64(365 * 24 * time.Hour / time.Microsecond)

// late tells whether something is sent after the end of the run. The first transaction is the
// earliest one that was seen up to now, and may be earlier still.
func (f *Flow) late(at int64) bool {
	after := at - f.first
	return after >= longest || f.For > 0 && time.Duration(after)*time.Microsecond >= f.For
}
