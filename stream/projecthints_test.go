package stream_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/internal/golden"
	"github.com/gavel-relay/gavel/internal/orderflow"
	"github.com/gavel-relay/gavel/stream"
)

var names = []struct {
	name string
	hint orderflow.Hints
}{
	{"hash", orderflow.Hash}, {"contract_address", orderflow.ContractAddress}, {"function_selector",
		orderflow.FunctionSelector},
	{"calldata", orderflow.Calldata}, {"logs", orderflow.Logs}, {"default_logs", orderflow.DefaultLogs},
	{"tx_hash", orderflow.TxHash},
	{"full", orderflow.Full},
}

// project is what is streamed of an order; the test fails if it is not JSON in one line, or if the
// order was changed.
func project(t testing.TB, shared *orderflow.Shared, cfg stream.HintConfig) string {
	t.Helper()
	before, err := json.Marshal(shared)
	if err != nil {
		t.Fatal(err)
	}
	line, err := stream.ProjectHints(shared, cfg)
	if err != nil {
		t.Fatal(err)
	}
	if after, err := json.Marshal(shared); err != nil || string(after) != string(before) {
		t.Fatalf("the order was changed to %s (%v)", after, err)
	}
	if line != nil && (!json.Valid(line) || strings.ContainsAny(string(line), "\n ")) {
		t.Fatalf("not JSON in one line: %s", line)
	}
	return string(line)
}

// The matrix: what each hint shows of each kind of transaction.
func TestProjectMatrix(t *testing.T) {
	var text strings.Builder
	for _, kind := range kinds() {
		fmt.Fprintf(&text, "# %s\n", kind.name)
		for _, n := range names {
			fmt.Fprintf(&text, "%-17s  %s\n", n.name, project(t, order(n.hint, element(t, kind.tx, logs()...)),
				stream.DefaultHints()))
		}
		text.WriteByte('\n')
	}
	golden.File(t, "testdata/matrix.txt", text.String())
}

// What of a bundle is shown, in the order of its body; inner bundles inherit nothing.
func TestProjectBundle(t *testing.T) {
	of := func(name string, logs ...orderflow.Log) orderflow.Element {
		for _, kind := range kinds() {
			if kind.name == name {
				return element(t, kind.tx, logs...)
			}
		}
		panic(name)
	}
	inner := func(hints orderflow.Hints, elements ...orderflow.Element) orderflow.Element {
		return orderflow.Element{Bundle: &orderflow.Bundle{Hints: hints, Elements: elements}}
	}
	all := logs()
	quiet := stream.DefaultHints()
	quiet.MevGasPrice = false
	table := []struct {
		name  string
		order *orderflow.Shared
	}{
		{"nothing is shared: no event", order(0, of("legacy"))},
		{"hints that nobody knows: no event", order(1<<15, of("legacy"))},
		{"hints around it, none of its own: no event", order(0, inner(orderflow.Full, of("legacy")))},
		{"every transaction has an object", order(orderflow.TxHash, of("legacy"), of("blob"), of("creation"))},
		{"even one of which there is nothing to show", order(orderflow.ContractAddress, of("creation"),
			of("plain transfer"))},
		{"logs of all, one after another", order(orderflow.DefaultLogs, of("legacy", all[:2]...), of("blob", all[2:]...))},
		{"asked for, but there are none", order(orderflow.Logs, of("legacy"))},
		{"all logs beat some", order(orderflow.Logs|orderflow.DefaultLogs, of("legacy", all[:2]...))},
		{"an inner bundle that shares nothing", order(orderflow.TxHash|orderflow.Logs, of("legacy"),
			inner(0, of("blob", all...)), of("creation"))},
		{"an inner bundle that shares other things, in its place", order(orderflow.TxHash,
			of("legacy", all...), inner(orderflow.DefaultLogs|orderflow.ContractAddress, of("blob", all...)), of("creation"))},
		{"an inner bundle inherits nothing", order(orderflow.Full, inner(orderflow.Hash, of("blob", all...)))},
		{"a transaction nobody can read, of which only the hash is shown", order(orderflow.TxHash,
			orderflow.Element{Tx: &orderflow.Tx{Raw: []byte{1, 2}, Hash: common.Hash{31: 1}}})},
		{"an empty element and an empty body", order(orderflow.Full, orderflow.Element{}, inner(orderflow.Full))},
	}
	var text strings.Builder
	for _, c := range table {
		fmt.Fprintf(&text, "# %s\n%s\n\n", c.name, project(t, c.order, quiet))
	}
	golden.File(t, "testdata/bundle.txt", text.String())
}

// What the operator decides: the simulation's figures, more kinds of swaps, the second name of gas.
func TestProjectConfig(t *testing.T) {
	swap := orderflow.Log{Address: pair,
		Topics: []common.Hash{topic("19b47279256b2a23a1665c810c8d55a1758940ee09377d4f8d26497a3577dc83"), {31: 1}},
		Data:   []byte{1}}
	shared := order(orderflow.Full|orderflow.DefaultLogs, element(t, kinds()[8].tx, swap))
	plain := `"txs":[{"to":"0xabcd00000000000000000000000000000000abcd","functionSelector":"0x00000000","callData":"0x",` +
		`"from":"0x5e4de70000000000000000000000000000000001","value":"0xde0b6b3a7640000","maxFeePerGas":"0x6fc23ac00",` +
		`"maxPriorityFeePerGas":"0x77359400","nonce":"0x1","chainId":"0x1","accessList":[],"gas":"0x5208","type":"0x2"}]`
	head := `{"hash":"` + orderflow.MatchingHash(shared.Hash).Hex() + `",`
	kept := func(second string) string {
		return `"logs":[{"address":"0x00000000000000000000000000000000000009a1","topics":["` + swap.Topics[0].Hex() +
			`","0x` + strings.Repeat("0", 63) + second + `"],"data":"0x"}],`
	}
	with := func(change func(*stream.HintConfig)) stream.HintConfig {
		cfg := stream.DefaultHints()
		change(&cfg)
		return cfg
	}
	table := []struct {
		name string
		cfg  stream.HintConfig
		want string
	}{
		{"default", stream.DefaultHints(), head + `"logs":null,` + plain + `,"mevGasPrice":"0x49e8e600"}`},
		{"zero", stream.HintConfig{}, head + `"logs":null,` + plain + `}`},
		{"gasUsed", with(func(c *stream.HintConfig) {
			c.GasUsed = true
		}), head + `"logs":null,` + plain + `,"mevGasPrice":"0x49e8e600","gasUsed":"0x1fbd0"}`},
		{"gasLimit", stream.HintConfig{GasLimit: true}, head + `"logs":null,` + strings.Replace(plain, `"gas":"0x5208"`,
			`"gas":"0x5208","gasLimit":"0x5208"`, 1) + `}`},
		{"literal", stream.LiteralHints(), head + `"logs":null,` + strings.Replace(plain, `"gas":"0x5208"`,
			`"gas":"0x5208","gasLimit":"0x5208"`, 1) +
			`,"mevGasPrice":"0x49e8e600","gasUsed":"0x1fbd0"}`},
		{"one more swap", stream.HintConfig{Swaps: stream.SwapTable{swap.Topics[0]: {Name: "Pancake v3"}}},
			head + kept("0") + plain + `}`},
		{"with a pool", stream.HintConfig{Swaps: stream.SwapTable{swap.Topics[0]: {PoolTopic: true}}},
			head + kept("1") + plain + `}`},
	}
	for _, c := range table {
		if got := project(t, shared, c.cfg); got != c.want {
			t.Errorf("%s\n got %s\nwant %s", c.name, got, c.want)
		}
	}
	unknown := *shared
	unknown.MevGasPriceWei = nil
	if got := project(t, &unknown, stream.DefaultHints()); got != table[1].want {
		t.Errorf("without a price\n got %s\nwant %s", got, table[1].want)
	}
}

// A transaction of which something is shown must be readable; the error says which one it is.
func TestProjectUnreadable(t *testing.T) {
	bad := orderflow.Element{Tx: &orderflow.Tx{Raw: []byte{2, 0xc0}, Hash: common.Hash{31: 0xbd}}}
	line, err := stream.ProjectHints(order(orderflow.Hash,
		orderflow.Element{Bundle: &orderflow.Bundle{Hints: orderflow.Full, Elements: []orderflow.Element{bad}}}),
		stream.HintConfig{})
	if line != nil || err == nil || !strings.Contains(err.Error(), bad.Tx.Hash.Hex()) {
		t.Errorf("%s, %v", line, err)
	}
}

// The documented samples (docs/spec.md, Event keys and Matching hash).
func TestProjectVectors(t *testing.T) {
	for _, v := range []struct{ order, event string }{
		{"0xec5dd7d793a20885a822169df4030d92fbc8d3ac5bd9eaa190b82196ea2858da",
			"0xbd23068a4aada3bc666eeedac89c74d206f3f0633c095c29db8f90870d0b4f6d"},
		{"0xaea81b2ade05a68bc49abc821be36061fff982a311e1648a84df591a7c43740d",
			"0x070b0edc316ed5289235e7141c7220e65a6043399f86191b7d4fa951c812157c"},
	} {
		shared := order(orderflow.Hash)
		shared.Hash = common.HexToHash(v.order)
		if got, want := project(t, shared, stream.HintConfig{}), `{"hash":"`+v.event+
			`","logs":null,"txs":null}`; got != want {
			t.Errorf("order %s\n got %s\nwant %s", v.order, got, want)
		}
	}
	// An event with only a hash, as it was seen in production, and the documented row of the history,
	// whose keys have another order there.
	shared := order(orderflow.Hash)
	shared.GasUsed, shared.MevGasPriceWei = 70_000, uint256.NewInt(50_000_000)
	both := stream.HintConfig{GasUsed: true, MevGasPrice: true}
	if got, want := project(t, shared, both), `,"logs":null,"txs":null,"mevGasPrice":"0x2faf080","gasUsed":"0x11170"}`; !strings.HasSuffix(got, want) {
		t.Errorf(" got %s\nwant …%s", got, want)
	}
	shared = order(orderflow.FunctionSelector|orderflow.Calldata, element(t, &types.LegacyTx{To: &pair}))
	shared.GasUsed, shared.MevGasPriceWei = 21_000, uint256.NewInt(1_000_000_000)
	want := `,"logs":null,"txs":[{"to":"` + strings.ToLower(pair.Hex()) +
		`","functionSelector":"0x00000000","callData":"0x"}],"mevGasPrice":"0x3b9aca00","gasUsed":"0x5208"}`
	if got := project(t, shared, both); !strings.HasSuffix(got, want) {
		t.Errorf(" got %s\nwant …%s", got, want)
	}
}

// The table is the caller's: who adds to it does not add to another's.
func TestDefaultSwapsAreTheCallers(t *testing.T) {
	mine := stream.DefaultSwaps()
	clear(mine)
	if fresh := stream.DefaultSwaps(); len(fresh) != 5 || reflect.DeepEqual(mine, fresh) {
		t.Errorf("%v", fresh)
	}
}
