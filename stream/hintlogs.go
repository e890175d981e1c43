package stream

import (
	"github.com/ethereum/go-ethereum/common"

	"github.com/gavel-relay/gavel/internal/orderflow"
)

// SwapTable has the logs that report a swap, by their first topic. It says what default_logs shows
// of each.
type SwapTable map[common.Hash]Swap

// Swap is the log by which one kind of pool reports a swap.
type Swap struct {
	// Name is the name of the kind of pool, for people.
	Name string
	// PoolTopic: many pools share a contract, and the second topic names the pool. That topic is
	// shown, too, and a log without it is dropped.
	PoolTopic bool
}

// DefaultSwaps are the documented kinds of pools (docs/spec.md, Swap logs). The caller may change
// the table.
func DefaultSwaps() SwapTable {
	return SwapTable{
		common.HexToHash("0xd78ad95fa46c994b6551d0da85fc275fe613ce37657fb8d5e3d130840159d822"): {Name: "Uniswap v2"},
		common.HexToHash("0xc42079f94a6350d7e6235f29174924f928cc2ac818eb64fed8004e115fbcca67"): {Name: "Uniswap v3"},
		common.HexToHash("0x8b3e96f2b889fa771c53c981b40daf005f63f637f1869f707052d15a3dd97140"): {Name: "Curve"},
		common.HexToHash("0x2170c741c41531aec20e7c107c24eecfdd15e69c9bb0a8dd37b1840b9e0b207b"): {Name: "Balancer v2",
			PoolTopic: true},
		common.HexToHash("0x40e9cecb9f5f1f1c5b9c97dec2917b7ee92e57ba5563708daca94dd84ad7112f"): {Name: "Uniswap v4",
			PoolTopic: true},
	}
}

// kept is how many topics of a log are shown; 0 means that default_logs drops the log.
func (t SwapTable) kept(log *orderflow.Log) int {
	if len(log.Topics) == 0 {
		return 0
	}
	swap, known := t[log.Topics[0]]
	switch {
	case !known, swap.PoolTopic && len(log.Topics) < 2:
		return 0
	case swap.PoolTopic:
		return 2
	}
	return 1
}

// addLogs adds a transaction's logs as far as they are shown.
func (p *hintProjection) addLogs(logs []orderflow.Log, show orderflow.Hints) {
	switch {
	case show&orderflow.Logs != 0:
		for i := range logs {
			p.logs = appendLog(p.logs, &logs[i], len(logs[i].Topics), logs[i].Data)
		}
	case show&orderflow.DefaultLogs != 0:
		for i := range logs {
			if kept := p.cfg.Swaps.kept(&logs[i]); kept > 0 {
				p.logs = appendLog(p.logs, &logs[i], kept, nil)
			}
		}
	}
}

// appendLog writes a log with its first topics. The others are written as zero, so their number
// stays visible.
func appendLog(to []byte, log *orderflow.Log, kept int, data []byte) []byte {
	to = appendBytes(append(to, `{"address":`...), log.Address[:])
	to = append(to, `,"topics":[`...)
	for i, topic := range log.Topics {
		if i > 0 {
			to = append(to, ',')
		}
		if i >= kept {
			topic = common.Hash{}
		}
		to = appendBytes(to, topic[:])
	}
	to = appendBytes(append(to, `],"data":`...), data)
	return append(to, "},"...)
}
