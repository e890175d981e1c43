package vectors

import (
	"fmt"
	"math/big"
	"strings"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/params"

	"github.com/gavel-relay/gavel/devnet/network"
)

// Hints is a file of orders and of what may be seen of them.
type Hints struct {
	Schema string     `json:"$schema"`
	Suite  string     `json:"suite"`
	Cases  []HintCase `json:"cases"`
}

// HintCase is an order, and the event that a stream tells of it.
type HintCase struct {
	Name string `json:"name"`
	Says string `json:"says"`
	// OrderHash is the hash of the bundle.
	OrderHash common.Hash `json:"orderHash"`
	// MevGasPriceWei is what the order pays for each unit of gas, by its simulation, in decimal
	// digits.
	MevGasPriceWei string       `json:"mevGasPriceWei"`
	Order          SharedBundle `json:"order"`
	// Event is the JSON of the event; null if nothing may be seen.
	Event   *Event   `json:"event"`
	Clauses []string `json:"clauses,omitempty"`
}

// SharedBundle is a bundle with what its sender shares of it.
type SharedBundle struct {
	Hints    []string        `json:"hints"`
	Elements []SharedElement `json:"elements"`
}

// SharedElement is a transaction or a bundle.
type SharedElement struct {
	Tx     *SharedTx     `json:"tx,omitempty"`
	Bundle *SharedBundle `json:"bundle,omitempty"`
}

// SharedTx is a transaction and what it logged in its simulation.
type SharedTx struct {
	Raw  string      `json:"raw"`
	Hash common.Hash `json:"hash"`
	From string      `json:"from"`
	Logs []Log       `json:"logs"`
}

// Log is a log of a contract.
type Log struct {
	Address string        `json:"address"`
	Topics  []common.Hash `json:"topics"`
	Data    string        `json:"data"`
}

// Event is what is public of an order (docs/spec.md, Event). Lists are null when nothing of them is
// shared.
type Event struct {
	Hash        common.Hash      `json:"hash"`
	Logs        []Log            `json:"logs"`
	Txs         []map[string]any `json:"txs"`
	MevGasPrice string           `json:"mevGasPrice"`
}

// Each hint, with the hints that it implies.
var hintNames = []struct {
	name    string
	implies []string
}{
	{"contract_address", nil}, {"function_selector", []string{"contract_address"}},
	{"calldata", []string{"function_selector", "contract_address"}}, {"logs", nil}, {"default_logs", nil},
	{"tx_hash", nil}, {"full", []string{"calldata", "function_selector", "contract_address"}},
}

// swapTopics are the first topics of swaps' logs (docs/spec.md, Swap logs). The value says whether
// the second topic names the pool.
var swapTopics = map[common.Hash]bool{
	common.HexToHash("0xd78ad95fa46c994b6551d0da85fc275fe613ce37657fb8d5e3d130840159d822"): false,
	common.HexToHash("0xc42079f94a6350d7e6235f29174924f928cc2ac818eb64fed8004e115fbcca67"): false,
	common.HexToHash("0x8b3e96f2b889fa771c53c981b40daf005f63f637f1869f707052d15a3dd97140"): false,
	common.HexToHash("0x2170c741c41531aec20e7c107c24eecfdd15e69c9bb0a8dd37b1840b9e0b207b"): true,
	common.HexToHash("0x40e9cecb9f5f1f1c5b9c97dec2917b7ee92e57ba5563708daca94dd84ad7112f"): true,
}

// shownBy is the set of hints with all that they imply.
func shownBy(hints []string) map[string]bool {
	set := map[string]bool{}
	for _, name := range hints {
		set[name] = true
		for _, hint := range hintNames {
			if hint.name == name {
				for _, implied := range hint.implies {
					set[implied] = true
				}
			}
		}
	}
	return set
}

// tell makes the event of an order, by the rules of docs/spec.md, Hints and Event.
func tell(c HintCase, txs map[common.Hash]*types.Transaction) *Event {
	if len(c.Order.Hints) == 0 {
		return nil
	}
	price, ok := new(big.Int).SetString(c.MevGasPriceWei, 10)
	if !ok {
		panic("no decimal number: " + c.MevGasPriceWei)
	}
	e := &Event{Hash: crypto.Keccak256Hash(c.OrderHash[:]), MevGasPrice: hexutil.EncodeBig(threeDigits(price))}
	e.add(c.Order, txs)
	return e
}

// add adds what a bundle shares. A bundle inside shares what its own hints say.
func (e *Event) add(b SharedBundle, txs map[common.Hash]*types.Transaction) {
	show := shownBy(b.Hints)
	for _, element := range b.Elements {
		switch {
		case len(show) == 0:
		case element.Bundle != nil:
			e.add(*element.Bundle, txs)
		default:
			if shown := shownTx(show, element.Tx, txs[element.Tx.Hash]); len(shown) > 0 {
				e.Txs = append(e.Txs, shown)
			}
			for _, log := range element.Tx.Logs {
				if shared := shownLog(show, log); shared != nil {
					e.Logs = append(e.Logs, *shared)
				}
			}
		}
	}
}

func shownTx(show map[string]bool, shared *SharedTx, tx *types.Transaction) map[string]any {
	members := map[string]any{}
	if show["tx_hash"] {
		members["hash"] = shared.Hash
	}
	if show["contract_address"] && tx.To() != nil {
		members["to"] = addressText(*tx.To())
	}
	if show["function_selector"] {
		var selector [4]byte // of less data it is filled with zeros
		copy(selector[:], tx.Data())
		members["functionSelector"] = hexOf(selector[:])
	}
	if show["calldata"] {
		members["callData"] = hexutil.Encode(tx.Data())
	}
	if show["full"] {
		members["from"], members["value"] = shared.From, hexutil.EncodeBig(tx.Value())
		members["maxFeePerGas"] = hexutil.EncodeBig(tx.GasFeeCap())
		members["maxPriorityFeePerGas"] = hexutil.EncodeBig(tx.GasTipCap())
		members["nonce"], members["chainId"] = hexutil.EncodeUint64(tx.Nonce()), hexutil.EncodeBig(tx.ChainId())
		members["gas"], members["type"] = hexutil.EncodeUint64(tx.Gas()), hexutil.EncodeUint64(uint64(tx.Type()))
		list := []object{}
		for _, tuple := range tx.AccessList() {
			list = append(list, object{"address": addressText(tuple.Address), "storageKeys": tuple.StorageKeys})
		}
		members["accessList"] = list
	}
	return members
}

// shownLog is what is shared of a log; nil is nothing. Of a swap the pool and the number of topics
// are shared with default_logs.
func shownLog(show map[string]bool, log Log) *Log {
	if show["logs"] {
		return &log
	}
	if !show["default_logs"] || len(log.Topics) == 0 {
		return nil
	}
	named, swap := swapTopics[log.Topics[0]]
	if !swap || named && len(log.Topics) < 2 {
		return nil
	}
	shared := &Log{Address: log.Address, Topics: make([]common.Hash, len(log.Topics)), Data: "0x"}
	shared.Topics[0] = log.Topics[0]
	if named {
		shared.Topics[1] = log.Topics[1]
	}
	return shared
}

// threeDigits rounds a number up to three decimal digits.
func threeDigits(n *big.Int) *big.Int {
	zeros := max(len(n.String())-3, 0)
	unit := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(zeros)), nil)
	up := new(big.Int).Add(n, new(big.Int).Sub(unit, big.NewInt(1)))
	return up.Sub(up, new(big.Int).Mod(up, unit))
}

// orders has the transactions of the cases about hints.
type orders struct {
	txs map[common.Hash]*types.Transaction
	// swap calls a contract, logs two swaps and three other things; create makes a contract and is
	// silent; short has two bytes of data.
	swap, create, short SharedElement
}

func newOrders(seed uint64) (*orders, error) {
	o := &orders{txs: map[common.Hash]*types.Transaction{}}
	key, signer := wallet(seed, "user"), types.LatestSignerForChainID(big.NewInt(chainID))
	pool := common.Address{0x90}
	for i, into := range []*SharedElement{&o.swap, &o.create, &o.short} {
		data := &types.DynamicFeeTx{
			ChainID: big.NewInt(chainID), Nonce: uint64(i), GasTipCap: big.NewInt(params.GWei),
			GasFeeCap: big.NewInt(30 * params.GWei), Gas: 200_000, To: &pool, Value: big.NewInt(7),
			Data:       hexutil.MustDecode("0x38ed1739000000000000000000000000000000000000000000000000000000000000002a"),
			AccessList: types.AccessList{{Address: pool, StorageKeys: []common.Hash{{1}, {2}}}},
		}
		switch i {
		case 1:
			data.To, data.AccessList = nil, nil
		case 2:
			data.Data, data.AccessList = []byte{0xab, 0xcd}, nil
		}
		tx, err := types.SignNewTx(key, signer, data)
		if err != nil {
			return nil, fmt.Errorf("sign an order: %w", err)
		}
		o.txs[tx.Hash()] = tx
		into.Tx = &SharedTx{Raw: encodeTx(tx), Hash: tx.Hash(), From: addressText(network.Address(key)), Logs: []Log{}}
	}
	amounts := hexOf(append(make([]byte, 31), 0x2a))
	at := addressText(pool)
	for _, row := range []struct {
		topic  string
		topics int
	}{
		{"0xd78ad95fa46c994b6551d0da85fc275fe613ce37657fb8d5e3d130840159d822", 3},
		{"0x40e9cecb9f5f1f1c5b9c97dec2917b7ee92e57ba5563708daca94dd84ad7112f", 3},
		{"0x2170c741c41531aec20e7c107c24eecfdd15e69c9bb0a8dd37b1840b9e0b207b", 1}, // lacks the pool: it is no swap
		{"0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef", 3}, // a transfer of tokens
	} {
		log := Log{Address: at, Topics: []common.Hash{common.HexToHash(row.topic)}, Data: amounts}
		for i := 1; i < row.topics; i++ {
			log.Topics = append(log.Topics, common.BytesToHash([]byte{0xa0, byte(i)}))
		}
		o.swap.Tx.Logs = append(o.swap.Tx.Logs, log)
	}
	o.swap.Tx.Logs = append(o.swap.Tx.Logs, Log{Address: at, Topics: []common.Hash{}, Data: amounts})
	return o, nil
}

// all returns a case for each set of hints, and for no hint.
func (o *orders) all() (cases []HintCase) {
	for set := range 1 << len(hintNames) {
		hints := []string{}
		for i, hint := range hintNames {
			if set>>i&1 == 1 {
				hints = append(hints, hint.name)
			}
		}
		name := strings.ReplaceAll(strings.Join(hints, "-and-"), "_", "-")
		if set == 0 {
			name = "nothing"
		}
		cases = append(cases, HintCase{
			Name: name, Says: "A swap whose sender shares " + strings.Join(append([]string{}, hints...), ", ") + ".",
			OrderHash: o.swap.Tx.Hash, MevGasPriceWei: "1234567890", Order: SharedBundle{hints, []SharedElement{o.swap}},
			Clauses: []string{"STR-HNT-25"},
		})
	}
	cases[0].Says, cases[0].Clauses = "A swap whose sender shares nothing has no event.", []string{"STR-HNT-20"}
	return cases
}

func (o *orders) special() []HintCase {
	hash := concat(o.swap.Tx.Hash, o.create.Tx.Hash)
	both := []SharedElement{o.swap, o.create}
	inside := func(hints ...string) []SharedElement {
		return []SharedElement{{Bundle: &SharedBundle{append([]string{}, hints...), []SharedElement{o.swap}}}, o.create}
	}
	one := func(name, says string, price string, order SharedBundle, clauses ...string) HintCase {
		return HintCase{Name: name, Says: says, OrderHash: hash, MevGasPriceWei: price, Order: order, Clauses: clauses}
	}
	return []HintCase{
		one("hash-alone", "The hash is shared and nothing of a transaction.", "1000", SharedBundle{[]string{"hash"}, both},
			"STR-HNT-11"),
		one("bundle", "Two transactions are told of in their order.", "999", SharedBundle{[]string{"calldata", "logs"}, both},
			"STR-EVT-06"),
		one("creation", "A transaction that makes a contract has no to.", "1001",
			SharedBundle{[]string{"full"}, []SharedElement{o.create}}, "STR-HNT-22"),
		one("short-data", "A selector of two bytes of data is filled with zeros.", "100001",
			SharedBundle{[]string{"function_selector"}, []SharedElement{o.short}}, "STR-HNT-23"),
		one("inner-own-hints", "A bundle inside shares what its own hints say.", "0",
			SharedBundle{[]string{"tx_hash"}, inside("contract_address")}),
		one("inner-nothing", "A bundle inside without hints shares nothing.", "1",
			SharedBundle{[]string{"full", "logs"}, inside()}),
		one("outer-nothing", "Without hints of its own, nothing of a bundle is told.", "1",
			SharedBundle{[]string{}, inside("full")}, "STR-HNT-20"),
	}
}

func writeHints(out *folder, seed uint64) error {
	o, err := newOrders(seed)
	if err != nil {
		return err
	}
	file := Hints{Schema: schemaOf(3, "hints"), Suite: "stream/hints", Cases: append(o.all(), o.special()...)}
	for i := range file.Cases {
		file.Cases[i].Event = tell(file.Cases[i], o.txs)
	}
	return out.document(file.Suite+"/cases.json", "hints", file.Suite, len(file.Cases), file)
}
