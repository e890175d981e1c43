package app

import (
	"crypto/ecdsa"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/big"
	"slices"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/core/vm"
	"github.com/ethereum/go-ethereum/core/vm/program"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/params"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/rpc"
	"github.com/gavel-relay/gavel/rpc/method"
	"github.com/gavel-relay/gavel/stream"
)

// How many values a hidden field may have, and how many orders have each of them, for each set of
// hints.
const (
	secretValues  = 8
	ordersOfValue = 3
)

// secret is a field of an order that its hints may hide.
type secret struct {
	name string
	// shownBy are the hints that show it.
	shownBy []string
	// tx is an order with a value; salt makes it another one with the same value.
	tx func(p *probing, value, salt int) *types.Transaction
	// read puts the value on the stack, as contracts see it behind the order.
	read func(p *probing, code *program.Program)
}

var secrets = []secret{
	{
		name: "amount", shownBy: []string{"full"},
		tx: func(p *probing, value, salt int) *types.Transaction {
			return p.order(secretRecipient(0), int64(value)+1, nil, salt)
		},
		read: func(_ *probing, code *program.Program) {
			code.Push(1).Push(secretRecipient(0)).Op(vm.BALANCE).Op(vm.SUB)
		},
	},
	{
		name: "recipient", shownBy: []string{"contract_address", "function_selector", "calldata", "full"},
		tx: func(p *probing, value, salt int) *types.Transaction {
			return p.order(secretRecipient(value), 1, nil, salt)
		},
		read: func(_ *probing, code *program.Program) {
			code.Push(0)
			for value := range secretValues {
				code.Push(secretRecipient(value)).Op(vm.BALANCE).Push(value).Op(vm.MUL).Op(vm.ADD)
			}
		},
	},
	{
		name: "calldata", shownBy: []string{"calldata", "function_selector", "full"},
		tx: func(p *probing, value, salt int) *types.Transaction {
			return p.order(p.register, 0, common.BigToHash(big.NewInt(int64(value)+1)).Bytes(), salt)
		},
		read: func(p *probing, code *program.Program) {
			code.StaticCall(nil, p.register, 0, 0, 0, 32).Op(vm.POP)
			code.Push(1).Push(0).Op(vm.MLOAD).Op(vm.SUB)
		},
	},
}

// hintWords are what senders may share, but for the hash, which is in every set, and for what has
// two names.
var hintWords = []string{
	"contract_address", "function_selector", "logs", "default_logs", "tx_hash", "calldata", "full",
}

// setsThatHide are all sets of hints that do not show a secret.
func (s secret) setsThatHide() (sets [][]string) {
	sets = [][]string{{"hash"}}
	for _, word := range hintWords {
		if slices.Contains(s.shownBy, word) {
			continue
		}
		for _, set := range slices.Clone(sets) {
			sets = append(sets, append(slices.Clone(set), word))
		}
	}
	return sets
}

// Every hint that the documents of the methods name is one that is tried.
func TestHintWordsAreAll(t *testing.T) {
	secondNames := []string{"hash", "special_logs"}
	var named []string
	for _, m := range (&method.Methods{Mev: struct{ method.MevRefunds }{}}).All() {
		for _, p := range m.Params {
			named = append(named, hintsIn(p.Schema)...)
		}
	}
	if len(named) == 0 {
		t.Error("no method names hints")
	}
	for _, word := range named {
		if !slices.Contains(hintWords, word) && !slices.Contains(secondNames, word) {
			t.Errorf("nobody tries to learn what is hidden beside %q", word)
		}
	}
}

// hintsIn are the words of the lists of hints that a schema has.
func hintsIn(s *method.Schema) (words []string) {
	if s == nil {
		return nil
	}
	if slices.Contains(s.Enum, any("calldata")) {
		for _, word := range s.Enum {
			words = append(words, fmt.Sprint(word))
		}
	}
	words = append(words, hintsIn(s.Items)...)
	for _, inner := range slices.Concat(slices.Collect(maps.Values(s.Properties)), s.OneOf, s.AnyOf) {
		words = append(words, hintsIn(inner)...)
	}
	return words
}

func secretRecipient(value int) common.Address { return common.Address{0xbe, 0xef, byte(value)} }

// probing is a searcher who wants to know what the hints of orders hide. Its transactions read the
// value behind the order, use gas, pay and log by it, and fail if it is below a threshold.
type probing struct {
	*service
	secret   secret
	hints    stream.HintConfig // what the stream shows
	register common.Address    // keeps what it was called with
}

func (p *probing) order(to common.Address, wei int64, data []byte, salt int) *types.Transaction {
	p.Helper()
	return p.signed(accountKey(0), &types.DynamicFeeTx{
		ChainID: big.NewInt(chainID), GasTipCap: big.NewInt(params.GWei),
		GasFeeCap: big.NewInt(100*params.GWei + int64(salt)),
		Gas:       400_000, To: &to, Value: big.NewInt(wei), Data: data, // new accounts cost more from gloas on
	})
}

// backrun succeeds if the value is at least a threshold.
func (p *probing) backrun(sender *ecdsa.PrivateKey, threshold int) *types.Transaction {
	p.Helper()
	code := program.New()
	p.secret.read(p, code)
	code.Op(vm.DUP1).Push(3200).Op(vm.MUL).Op(vm.MLOAD).Op(vm.POP)              // gas
	code.Op(vm.DUP1).Push(0).Op(vm.MSTORE).Push(32).Push(0).Op(vm.LOG0)         // a log
	code.Push(0).Push(0).Push(0).Push(0).Op(vm.DUP1 + 4).Push(int(params.GWei)) // a payment:
	code.Op(vm.MUL).Op(vm.COINBASE).Push(50_000).Op(vm.CALL).Op(vm.POP)         // value × 1 gwei
	code.Push(threshold).Op(vm.SWAP1).Op(vm.LT).Op(vm.ISZERO)                   // is it high enough?
	jumpTo(code, 4).Push(0).Op(vm.DUP1).Op(vm.REVERT).Op(vm.JUMPDEST).Op(vm.STOP)
	return p.signed(sender, &types.DynamicFeeTx{
		ChainID: big.NewInt(chainID), GasTipCap: big.NewInt(params.GWei), GasFeeCap: big.NewInt(100 * params.GWei),
		Gas: 1_000_000, Value: big.NewInt(secretValues * params.GWei), Data: code.Bytes(),
	})
}

// jumpTo jumps over so many bytes if the stack says so.
func jumpTo(code *program.Program, over int) *program.Program {
	to := code.Label() + 4 + uint64(over)
	return code.Append([]byte{byte(vm.PUSH2), byte(to >> 8), byte(to), byte(vm.JUMPI)})
}

// deployRegister makes the contract that keeps 32 bytes of calldata, and returns them to whoever
// calls it without any.
func (p *probing) deployRegister() {
	p.Helper()
	keep := program.New().Push(0).Op(vm.CALLDATALOAD).Push(0).Op(vm.SSTORE).Op(vm.STOP).Bytes()
	runtime := program.New().Op(vm.CALLDATASIZE)
	jumpTo(runtime, 11).Push(0).Op(vm.SLOAD).Push(0).Op(vm.MSTORE).Push(32).Push(0).Op(vm.RETURN)
	runtime.Op(vm.JUMPDEST)
	code := append(runtime.Bytes(), keep...)
	create := p.signed(accountKey(2), &types.DynamicFeeTx{
		ChainID: big.NewInt(chainID), GasTipCap: big.NewInt(params.GWei), GasFeeCap: big.NewInt(100 * params.GWei),
		Gas:  1_000_000,
		Data: program.New().ReturnViaCodeCopy(code).Bytes(),
	})
	p.mine(create)
	p.register = crypto.CreateAddress(addressOf(accountKey(2)), 0)
}

// probed is an order and what a searcher saw of it.
type probed struct {
	value   int
	target  *types.Transaction
	signers [2]*ecdsa.PrivateKey
	hashes  []common.Hash // of the backruns: two of the first signer, one of the second
	seen    []string
}

// tried are sets of hints, at most mostSets of them.
func tried(sets [][]string) (some [][]string) {
	step := max(1, (len(sets)+mostSets-1)/mostSets)
	for i := 0; i < len(sets); i += step {
		some = append(some, sets[i])
	}
	return some
}

// TestFollowersLearnOneBit: of a field that an order's hints hide a follower learns at most one bit
// in a block, whatever set of hints hides it, from all that it can see together: the event, the
// answers to its own backruns, their status, both statistics and the simulation. Backruns of two
// strangers, one of which sends two, do what they can. In literal mode the simulation answers, too.
func TestFollowersLearnOneBit(t *testing.T) {
	for _, s := range secrets {
		t.Run(s.name, func(t *testing.T) { followAll(t, s, eth.Fulu, false, tried(s.setsThatHide())) })
		if s.name != "amount" { // which more sets hide than there is time for twice
			t.Run(s.name+" in literal mode", func(t *testing.T) { followAll(t, s, eth.Fulu, true, tried(s.setsThatHide())) })
		}
		t.Run(s.name+" from gloas on", func(t *testing.T) {
			followAll(t, s, eth.Gloas, true, [][]string{{"hash"}, {"hash", "default_logs", "tx_hash"}})
		})
	}
}

// From gloas on each transfer has a log of its amount and recipient (EIP-7708). Only who shares
// logs shares this one.
func TestLogsOfTransfersAreShownAsLogsOnly(t *testing.T) {
	p := &probing{service: openChainOf(t, eth.Gloas), hints: stream.LiteralHints()}
	p.serve(p.config(nil))
	for i, hints := range [][]string{{"hash"}, {"default_logs"}, {"special_logs", "tx_hash"}, {"function_selector"},
		{"logs"}, {"logs", "default_logs"}} {
		tx := p.order(secretRecipient(0x77), 0x1234567, nil, i)
		p.want(new(common.Hash), accountKey(0), "eth_sendPrivateTransaction", map[string]any{
			"tx": rawOf(tx), "preferences": map[string]any{"fast": false, "privacy": map[string]any{"hints": hints}},
		})
		shared := waitFor(p.service, "hint", func(f rpc.OrderShared) bool { return f.Hash == tx.Hash() })
		event, err := stream.ProjectHints(&shared.Shared, p.hints)
		if err != nil {
			t.Fatal(err)
		}
		shares := slices.Contains(hints, "logs")
		for what, secret := range map[string]string{
			"topic": params.EthTransferLogEvent.Hex(), "system address": params.SystemAddress.Hex(), "amount": "1234567",
			"sender": addressOf(accountKey(0)).Hex()[2:],
		} {
			if strings.Contains(strings.ToLower(string(event)), strings.ToLower(secret)) != shares {
				t.Errorf("hints %s: the %s of a transfer's log is shown: %v; %s", hints, what, !shares, event)
			}
		}
	}
}

// followAll sends orders with a secret under sets of hints that hide it, and follows them.
func followAll(t *testing.T, s secret, fork eth.Fork, literal bool, sets [][]string) {
	service := openChainOf(t, fork)
	service.serve(service.config(func(cfg *Config) { cfg.Literal = literal }))
	p := &probing{service: service, secret: s, hints: stream.DefaultHints()}
	if literal {
		p.hints = stream.LiteralHints()
	}
	go func() {
		for {
			select {
			case <-p.builder.got: // nobody asks for it here
			case <-t.Context().Done():
				return
			}
		}
	}()
	p.deployRegister()
	all := map[string][]*probed{}
	for i, hints := range sets {
		for n := range secretValues * ordersOfValue {
			all[fmt.Sprint(hints)] = append(all[fmt.Sprint(hints)], p.send(hints, n%secretValues, i*1000+n))
		}
	}
	control := p.probe(all)
	if learned := mutualInformation(control); learned < 2 {
		t.Errorf("the attack is none: the simulator itself tells only %.2f bits", learned)
	}
	for hints, orders := range all {
		if learned := mutualInformation(orders); learned > 1.000001 {
			t.Errorf("hints %s: %.2f bits of the %s are told, for example %s", hints, learned, s.name, orders[0].seen)
		}
	}
}

// send sends an order with a secret.
func (p *probing) send(hints []string, value, salt int) *probed {
	p.Helper()
	o := &probed{value: value, target: p.secret.tx(p, value, salt)}
	for i := range o.signers {
		o.signers[i] = accountKey(1000 + 2*salt + i)
	}
	var hash common.Hash
	p.want(&hash, accountKey(0), "eth_sendPrivateTransaction", map[string]any{
		"tx": rawOf(o.target), "preferences": map[string]any{"fast": false, "privacy": map[string]any{"hints": hints}},
	})
	return o
}

// probe follows all orders, waits until that block is over and collects what is told. It returns
// the same orders with what the simulator found.
func (p *probing) probe(all map[string][]*probed) (control []*probed) {
	p.Helper()
	for _, orders := range all {
		for _, o := range orders {
			p.follow3(o)
		}
	}
	found := p.simulated(all)
	p.builder.forget()
	p.mine()
	p.waitForIndexed()
	p.simulated(all) // for the next block, too, which nobody is told of yet
	for _, orders := range all {
		for _, o := range orders {
			p.look(o)
			control = append(control, &probed{value: o.value, seen: []string{found[o.hashes[0]]}})
		}
	}
	return control
}

// follow3 sends three backruns of an order, which together would tell more than one bit, and asks
// what each would do.
func (p *probing) follow3(o *probed) {
	p.Helper()
	shared := waitFor(p.service, "hint", func(f rpc.OrderShared) bool { return f.Hash == o.target.Hash() })
	event, err := stream.ProjectHints(&shared.Shared, p.hints)
	if err != nil {
		p.Fatal(err)
	}
	o.see(event)
	for i, threshold := range []int{secretValues / 2, secretValues / 4, 3 * secretValues / 4} {
		bundle := map[string]any{
			"version": "v0.1", "inclusion": map[string]any{"block": hexNumber(p.next()), "maxBlock": hexNumber(p.next() + 3)},
			"body": []any{map[string]any{"hash": doubleOf(o.target.Hash())},
				map[string]any{"tx": rawOf(p.backrun(accountKey(3+i/2), threshold)), "canRevert": false}},
		}
		signer := o.signers[i/2]
		got := p.call(signer, "mev_sendBundle", bundle)
		if got.Error != nil {
			p.Fatal(got.Error)
		}
		var taken taken
		if err := json.Unmarshal(got.Result, &taken); err != nil {
			p.Fatal(err)
		}
		o.hashes = append(o.hashes, taken.BundleHash)
		for range 2 {
			simulated := p.call(signer, "mev_simBundle", bundle)
			o.seen = append(o.seen, fmt.Sprint(string(simulated.Result), simulated.Error))
		}
	}
}

// simulated waits until all backruns are simulated for the next block and delivered. It tells what
// was found, by hash.
func (p *probing) simulated(all map[string][]*probed) map[common.Hash]string {
	p.Helper()
	waiting, found := map[common.Hash]bool{}, map[common.Hash]string{}
	for _, orders := range all {
		for _, o := range orders {
			for i, hash := range o.hashes {
				waiting[crypto.Keccak256Hash(hash[:], addressOf(o.signers[i/2]).Bytes())] = true
			}
		}
	}
	p.facts.wait(p, "simulation and delivery of all backruns", func(fact rpc.Fact) bool {
		switch f := fact.(type) {
		case rpc.OrderSimulated:
			found[f.Hash] = fmt.Sprint(f.GasUsed, f.ProfitWei, f.Error)
			if f.Block == p.next() && !f.Success {
				delete(waiting, crypto.Keccak256Hash(f.Hash[:], f.Signer[:]))
			}
		case rpc.OrderSent:
			if f.Block == p.next() {
				delete(waiting, crypto.Keccak256Hash(f.Hash[:], f.Signer[:]))
			}
		}
		return len(waiting) == 0
	})
	return found
}

// checkJournal collects what is told of the backruns of an order.
func (p *probing) look(o *probed) {
	p.Helper()
	for i, hash := range o.hashes {
		signer := o.signers[i/2]
		for _, ask := range []struct {
			method string
			params any
		}{
			{"gavel_getOrderStatus", hash},
			{"flashbots_getBundleStatsV2", map[string]any{"bundleHash": hash, "blockNumber": hexNumber(p.next())}},
			{"flashbots_getUserStatsV2", map[string]any{}},
		} {
			var answer json.RawMessage
			p.want(&answer, signer, ask.method, ask.params)
			o.see(answer)
		}
	}
}

// see keeps what was seen, without names and times that are different for each order, whatever its
// value: hashes, when a request came, and the fee that makes orders with one value different.
func (o *probed) see(raw []byte) {
	var value any
	if err := json.Unmarshal(raw, &value); err != nil {
		panic(err)
	}
	var strip func(any)
	strip = func(value any) {
		switch v := value.(type) {
		case map[string]any:
			for _, name := range []string{"hash", "receivedAt", "maxFeePerGas"} {
				delete(v, name)
			}
			for _, inner := range v {
				strip(inner)
			}
		case []any:
			for _, inner := range v {
				strip(inner)
			}
		}
	}
	strip(value)
	plain, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	o.seen = append(o.seen, string(plain))
}

// mutualInformation is how many bits of the value are in what was seen.
func mutualInformation(orders []*probed) (bits float64) {
	values, sights, both := map[int]float64{}, map[string]float64{}, map[string]float64{}
	n := float64(len(orders))
	for _, o := range orders {
		sight := fmt.Sprint(o.seen)
		values[o.value]++
		sights[sight]++
		both[fmt.Sprint(o.value, " ", sight)]++
	}
	for _, o := range orders {
		sight := fmt.Sprint(o.seen)
		bits += math.Log2(both[fmt.Sprint(o.value, " ", sight)]*n/(values[o.value]*sights[sight])) / n
	}
	return bits
}

// TestMutualInformation: the measure of the test above knows what is known.
func TestMutualInformation(t *testing.T) {
	for name, c := range map[string]struct {
		see  func(value int) string
		want float64
	}{
		"all":     {func(value int) string { return fmt.Sprint(value) }, 3},
		"one bit": {func(value int) string { return fmt.Sprint(value < 4) }, 1},
		"none":    {func(int) string { return "" }, 0},
	} {
		var orders []*probed
		for i := range 64 {
			orders = append(orders, &probed{value: i % 8, seen: []string{c.see(i % 8)}})
		}
		if got := mutualInformation(orders); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%s: %f bits, want %f", name, got, c.want)
		}
	}
}
