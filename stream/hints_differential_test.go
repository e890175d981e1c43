package stream_test

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/internal/orderflow"
	"github.com/gavel-relay/gavel/stream"
)

// Nobody ever sees a byte that the sender did not share: two orders that differ in everything which
// is not shared, and in nothing else, give the same event. What is shared is said here a second
// time, on purpose in other words than in the package.

// shares are what a set of hints lets see.
type shares struct{ event, to, selector, calldata, txHash, rest, allLogs, swaps bool }

func sharesOf(h orderflow.Hints) shares {
	has := func(any orderflow.Hints) bool { return h&any != 0 }
	return shares{
		event:    h != 0,
		to:       has(orderflow.ContractAddress | orderflow.FunctionSelector | orderflow.Calldata | orderflow.Full),
		selector: has(orderflow.FunctionSelector | orderflow.Calldata | orderflow.Full),
		calldata: has(orderflow.Calldata | orderflow.Full),
		txHash:   has(orderflow.TxHash),
		rest:     has(orderflow.Full),
		allLogs:  has(orderflow.Logs),
		swaps:    has(orderflow.DefaultLogs) && !has(orderflow.Logs),
	}
}

// txs tells whether it is shared how many transactions there are.
func (s shares) txs() bool { return s.to || s.txHash }

// draft is a transaction before it is one.
type draft struct {
	kind                  int
	to                    *common.Address
	data                  []byte
	nonce, gas            uint64
	value, tip, fee       *big.Int
	chain                 uint64
	list                  types.AccessList
	signature, hash, blob common.Hash
	from                  common.Address
	logs                  []orderflow.Log
}

// part is an element of a draft bundle: a transaction, or a bundle.
type part struct {
	tx    *draft
	inner *parts
}

type parts struct {
	hints orderflow.Hints
	list  []part
}

// dice make orders by chance.
type dice struct{ *rand.Rand }

func (d dice) hash() (h common.Hash) {
	for i := range h {
		h[i] = byte(d.Uint32())
	}
	return h
}

func (d dice) address() common.Address { return common.BytesToAddress(d.hash().Bytes()) }

func (d dice) big() *big.Int { return new(big.Int).SetUint64(d.Uint64N(1 << 40)) }

func (d dice) bytes() []byte { h := d.hash(); return h[:d.IntN(len(h)+1)] }

// log is a swap of one of the known kinds, or none.
func (d dice) log() orderflow.Log {
	first := []common.Hash{swapV2, swapBalancer, transfer, d.hash()}
	log := orderflow.Log{Address: d.address(), Data: d.bytes(), Topics: []common.Hash{}}
	for i := range d.IntN(5) {
		if i == 0 {
			log.Topics = append(log.Topics, first[d.IntN(len(first))])
		} else {
			log.Topics = append(log.Topics, d.hash())
		}
	}
	return log
}

func (d dice) logs() (logs []orderflow.Log) {
	for range d.IntN(4) {
		logs = append(logs, d.log())
	}
	return logs
}

func (d dice) tx() *draft {
	tx := &draft{
		kind: d.IntN(5), data: d.bytes(), nonce: d.Uint64(), gas: d.Uint64(), value: d.big(), tip: d.big(), fee: d.big(),
		chain:     d.Uint64N(1 << 30),
		signature: d.hash(), hash: d.hash(), blob: d.hash(), from: d.address(), logs: d.logs(),
	}
	if to := d.address(); tx.kind >= types.BlobTxType || d.IntN(4) > 0 {
		tx.to = &to
	}
	for range d.IntN(3) {
		tx.list = append(tx.list, types.AccessTuple{Address: d.address(), StorageKeys: []common.Hash{d.hash()}})
	}
	return tx
}

func (d dice) parts(hints orderflow.Hints, deep int) *parts {
	b := &parts{hints: hints}
	for range 1 + d.IntN(3) {
		if deep > 0 && d.IntN(3) == 0 {
			b.list = append(b.list, part{inner: d.parts(orderflow.Hints(d.IntN(256)), deep-1)})
		} else {
			b.list = append(b.list, part{tx: d.tx()})
		}
	}
	return b
}

// otherTx is a transaction with the same shares and nothing else in common.
func (d dice) otherTx(tx *draft, s shares) *draft {
	other := d.tx()
	if s.rest {
		signature, blob, hash := other.signature, other.blob, other.hash
		*other = *tx
		other.signature, other.blob, other.hash = signature, blob, hash
	}
	if s.to {
		other.to = tx.to
		if tx.to == nil && other.kind >= types.BlobTxType {
			other.kind = types.DynamicFeeTxType
		}
	}
	switch {
	case s.calldata:
		other.data = tx.data
	case s.selector:
		var four [4]byte
		copy(four[:], tx.data)
		other.data = append(four[:], d.bytes()...)
	}
	if s.txHash {
		other.hash = tx.hash
	}
	other.logs = d.otherLogs(tx.logs, s)
	return other
}

// otherLogs are logs of which the same is shared.
func (d dice) otherLogs(logs []orderflow.Log, s shares) []orderflow.Log {
	switch {
	case s.allLogs:
		return logs
	case !s.swaps:
		return d.logs()
	}
	others := d.noSwaps()
	for _, log := range logs {
		if !isSwap(log) {
			continue
		}
		other := orderflow.Log{Address: log.Address, Data: d.bytes()}
		for i, topic := range log.Topics {
			if i > 1 || i == 1 && log.Topics[0] != swapBalancer {
				topic = d.hash()
			}
			other.Topics = append(other.Topics, topic)
		}
		others = append(append(others, other), d.noSwaps()...)
	}
	return others
}

func isSwap(log orderflow.Log) bool {
	return len(log.Topics) > 0 && log.Topics[0] == swapV2 || len(log.Topics) > 1 && log.Topics[0] == swapBalancer
}

func (d dice) noSwaps() (logs []orderflow.Log) {
	for _, log := range d.logs() {
		if !isSwap(log) {
			logs = append(logs, log)
		}
	}
	return logs
}

// otherParts is a bundle of which the same is shared. Where it is not said how many transactions
// there are, there are others.
func (d dice) otherParts(b *parts) *parts {
	s := sharesOf(b.hints)
	if !s.event {
		return d.parts(0, 1)
	}
	other := &parts{hints: b.hints}
	for _, p := range b.list {
		if p.inner != nil {
			other.list = append(other.list, part{inner: d.otherParts(p.inner)})
		} else {
			other.list = append(other.list, part{tx: d.otherTx(p.tx, s)})
		}
		if !s.txs() && d.IntN(2) == 0 {
			quiet := d.tx()
			if s.allLogs || s.swaps {
				quiet.logs = nil
			}
			other.list = append(other.list, part{tx: quiet})
		}
		if d.IntN(2) == 0 {
			other.list = append(other.list, part{inner: d.parts(0, 0)})
		}
	}
	return other
}

// price is a price of which the shown digits are given.
func (d dice) price(shownDigits, zeros uint64) *uint256.Int {
	unit := uint64(1)
	for range zeros {
		unit *= 10
	}
	return uint256.NewInt(shownDigits*unit - d.Uint64N(unit))
}

func (d dice) order(b *parts, hash common.Hash, price *uint256.Int) *orderflow.Shared {
	return &orderflow.Shared{
		At: time.Unix(d.Int64N(1<<32), 0).UTC(), Block: d.Uint64(), Hash: hash, Bundle: b.bundle(), GasUsed: d.Uint64(),
		MevGasPriceWei: price,
	}
}

func (b *parts) bundle() orderflow.Bundle {
	made := orderflow.Bundle{Hints: b.hints}
	for _, p := range b.list {
		if p.inner != nil {
			inner := p.inner.bundle()
			made.Elements = append(made.Elements, orderflow.Element{Bundle: &inner})
		} else {
			made.Elements = append(made.Elements, orderflow.Element{Tx: p.tx.shared()})
		}
	}
	return made
}

func (tx *draft) shared() *orderflow.Tx {
	raw, err := types.NewTx(tx.unsigned()).MarshalBinary()
	if err != nil {
		panic(err)
	}
	return &orderflow.Tx{Raw: raw, Hash: tx.hash, From: tx.from, Logs: tx.logs}
}

func (tx *draft) unsigned() types.TxData {
	chain, r := new(big.Int).SetUint64(tx.chain), tx.signature.Big()
	u := uint256.MustFromBig
	switch tx.kind {
	case types.LegacyTxType:
		v := new(big.Int).Add(new(big.Int).Lsh(chain, 1), big.NewInt(35))
		return &types.LegacyTx{Nonce: tx.nonce, GasPrice: tx.fee, Gas: tx.gas, To: tx.to, Value: tx.value, Data: tx.data,
			V: v, R: r, S: r}
	case types.AccessListTxType:
		return &types.AccessListTx{ChainID: chain, Nonce: tx.nonce, GasPrice: tx.fee, Gas: tx.gas, To: tx.to, Value: tx.value,
			Data:       tx.data,
			AccessList: tx.list, V: r, R: r, S: r}
	case types.BlobTxType:
		return &types.BlobTx{ChainID: u(chain), Nonce: tx.nonce, GasTipCap: u(tx.tip), GasFeeCap: u(tx.fee), Gas: tx.gas,
			To: *tx.to, Value: u(tx.value),
			Data: tx.data, AccessList: tx.list, BlobFeeCap: u(tx.blob.Big()), BlobHashes: []common.Hash{tx.blob}, V: u(r),
			R: u(r), S: u(r)}
	case types.SetCodeTxType:
		return &types.SetCodeTx{ChainID: u(chain), Nonce: tx.nonce, GasTipCap: u(tx.tip), GasFeeCap: u(tx.fee), Gas: tx.gas,
			To: *tx.to, Value: u(tx.value),
			Data: tx.data, AccessList: tx.list, AuthList: []types.SetCodeAuthorization{{Nonce: tx.blob.Big().Uint64()}}, V: u(r),
			R: u(r), S: u(r)}
	}
	return &types.DynamicFeeTx{ChainID: chain, Nonce: tx.nonce, GasTipCap: tx.tip, GasFeeCap: tx.fee, Gas: tx.gas,
		To: tx.to, Value: tx.value,
		Data: tx.data, AccessList: tx.list, V: r, R: r, S: r}
}

// rounds is how many pairs of orders each set of hints gets.
const rounds = 8

func TestOnlyWhatIsSharedIsSeen(t *testing.T) {
	for hints := range orderflow.Hints(1 << len(names)) {
		for round := range uint64(rounds) {
			d := dice{rand.New(rand.NewPCG(round, uint64(hints)))}
			b, hash, digits, zeros := d.parts(hints, 1), d.hash(), 101+d.Uint64N(899), d.Uint64N(15)
			one := event(t, d.order(b, hash, d.price(digits, zeros)))
			if hints == 0 {
				hash, digits = d.hash(), 101+d.Uint64N(899)
			}
			if two := event(t, d.order(d.otherParts(b), hash, d.price(digits, zeros))); one != two {
				t.Fatalf("hints %s, round %d\none order  %s\nthe other  %s", named(hints), round, one, two)
			}
		}
	}
}

// event is what is streamed of an order.
func event(t *testing.T, shared *orderflow.Shared) string {
	t.Helper()
	line, err := stream.ProjectHints(shared, stream.DefaultHints())
	if err != nil {
		t.Fatal(err)
	}
	return string(line)
}

// The test above must be able to fail: as soon as more is shared than it believes, the events
// differ.
func TestWhatIsSharedIsSeen(t *testing.T) {
	for _, n := range names[1:] {
		d := dice{rand.New(rand.NewPCG(1, uint64(n.hint)))}
		differ := false
		for range 50 {
			b := d.parts(n.hint, 0)
			other := d.otherParts(&parts{hints: orderflow.Hash, list: b.list})
			other.hints, other.list = b.hints, other.list[:1]
			b.list = b.list[:1]
			differ = differ || event(t, d.order(b, common.Hash{}, nil)) != event(t, d.order(other, common.Hash{}, nil))
		}
		if !differ {
			t.Errorf("%s: what it shares may differ, and the events do not", n.name)
		}
	}
}

func named(hints orderflow.Hints) (list []string) {
	for _, n := range names {
		if hints&n.hint != 0 {
			list = append(list, n.name)
		}
	}
	return append(list, fmt.Sprintf("(%d)", hints))
}
