package bundle

import (
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/internal/exec"
	"github.com/gavel-relay/gavel/rpc"
)

func TestCallBundle(t *testing.T) {
	excess, to := uint64(393216), recipient
	for _, c := range []struct {
		fields string
		want   exec.Environment
	}{
		{`"blockNumber":"0x65"`, exec.Environment{Number: 101, Latest: true}},
		{`"blockNumber":"0x65","stateBlockNumber":"latest","timestamp":0,"timeout":null`,
			exec.Environment{Number: 101, Latest: true}},
		{`"blockNumber":101,"stateBlockNumber":"0x10","timestamp":1300`, exec.Environment{Number: 101, ParentNumber: 16,
			Timestamp: 1300}},
		{`"blockNumber":101,"stateBlockNumber":"#A"`, exec.Environment{Number: 101, ParentHash: hashA}},
		{`"blockNumber":101,"stateBlockNumber":"pending","timeout":250`, exec.Environment{Number: 101, Latest: true,
			Timeout: 250 * time.Millisecond}},
		{`"blockNumber":101,"timeout":"0xffffffffffffffff"`, exec.Environment{Number: 101, Latest: true,
			Timeout: 30 * time.Second}},
		{`"blockNumber":101,"coinbase":"@","gasLimit":"0x1c9c380","difficulty":"0x0","baseFee":7,"excessBlobGas":"393216"`,
			exec.Environment{
				Number: 101, Latest: true, Coinbase: &to, GasLimit: 30_000_000, Difficulty: uint256.NewInt(0),
				BaseFeeWei:    uint256.NewInt(7),
				ExcessBlobGas: &excess,
			}},
	} {
		call, err := ReadCallBundle(fill(`[{"txs":["$A","$B"],`+c.fields+`}]`), intake())
		if err != nil {
			t.Errorf("%s: %v", c.fields, err)
			continue
		}
		if !reflect.DeepEqual(call.Environment, c.want) {
			t.Errorf("%s: %+v, want %+v", c.fields, call.Environment, c.want)
		}
		if call.Hash != hashAB || len(call.Txs) != 2 || call.Txs[0].Hash() != hashA || call.Txs[0].From != senderA ||
			call.Txs[1].CanRevert {
			t.Errorf("%s: %+v", c.fields, call)
		}
	}
}

// web3-flashbots may leave out 0x here.
func TestCallBundleWithoutPrefix(t *testing.T) {
	call, err := ReadCallBundle(fill(`[{"txs":["`+rawA[2:]+`"],"blockNumber":"0x65","stateBlockNumber":"latest"}]`),
		intake())
	if err != nil || call.Txs[0].Hash() != hashA {
		t.Error(call, err)
	}
}

func simBundle(t *testing.T, params string) *Simulation {
	t.Helper()
	simulation, err := ReadSimBundle(fill(params), intake())
	if err != nil {
		t.Fatalf("%s: %v", params, err)
	}
	return simulation
}

// Overrides stand in the bundle's simOptions or after the bundle; field by field the latter win.
func TestSimBundleOverrides(t *testing.T) {
	to := recipient
	for _, c := range []struct {
		options, second string
		want            exec.Environment
	}{
		{``, ``, exec.Environment{Latest: true}},
		{``, `,{}`, exec.Environment{Latest: true}},
		{``, `,{"parentBlock":null,"blockNumber":null,"coinbase":null,"timestamp":null,"gasLimit":null,"baseFee":null,"timeout":null}`,
			exec.Environment{Latest: true}},
		{`,"simOptions":{"parentBlock":99,"timestamp":5,"coinbase":"@"}`, ``, exec.Environment{ParentNumber: 99, Timestamp: 5,
			Coinbase: &to}},
		{`,"simOptions":{"parentBlock":99,"timestamp":5,"gasLimit":9}`,
			`,{"parentBlock":"#A","timestamp":"0x6","coinbase":null,"baseFee":"0x7"}`,
			exec.Environment{ParentHash: hashA, Timestamp: 6, GasLimit: 9, BaseFeeWei: uint256.NewInt(7)}},
		{``, `,{"blockNumber":"0x66","parentBlock":{"blockNumber":"0x65"}}`,
			exec.Environment{Number: 102, ParentNumber: 101}},
		{``, `,{"timeout":5}`, exec.Environment{Latest: true, Timeout: 5 * time.Second}},
		{``, `,{"timeout":30}`, exec.Environment{Latest: true, Timeout: 30 * time.Second}},
		{``, `,{"timeout":31}`, exec.Environment{Latest: true, Timeout: 31 * time.Millisecond}},
		{``, `,{"timeout":"0x1388"}`, exec.Environment{Latest: true, Timeout: 5 * time.Second}},
		{``, `,{"timeout":18446744073709551615}`, exec.Environment{Latest: true, Timeout: 30 * time.Second}},
		{`,"simOptions":{"timeout":7}`, `,{"timeout":0}`, exec.Environment{Latest: true}},
	} {
		simulation := simBundle(t, `[{"version":"beta-1","inclusion":{"block":"0x1"},"body":[{"tx":"$A"}]`+c.options+
			`}`+c.second+`]`)
		if !reflect.DeepEqual(simulation.Environment, c.want) {
			t.Errorf("%s%s: %+v, want %+v", c.options, c.second, simulation.Environment, c.want)
		}
		if simulation.Hash != hashA || simulation.Window != (rpc.Window{FirstBlock: 1, LastBlock: 1}) {
			t.Errorf("%+v", simulation)
		}
	}
}

// A backrun of a backrun: the simulator gets the same tree, with the transactions as they were
// decoded.
func TestSimBundleTree(t *testing.T) {
	deep := `{"bundle":{"version":"v0.1","body":[` +
		inner(`,"validity":{"refundConfig":[{"address":"@","percent":60},{"address":"@","percent":40}]}`) +
		`,{"tx":"$B","canRevert":true}],"validity":{"refund":[{"bodyIdx":0,"percent":90}]}}}`
	got := simBundle(t, share+`"body":[`+deep+
		`,{"tx":"$C","revertMode":"drop"}],"validity":{"refund":[{"bodyIdx":0,"percent":80}]}}]`).Bundle
	if got.Refunds[0] != (exec.Refund{Element: 0, Percent: 80}) || got.Recipients != 0 || len(got.Elements) != 2 {
		t.Errorf("%+v", got)
	}
	if c := got.Elements[1].Tx; c.Hash() != hashC || c.CanRevert || !c.CanDrop || c.From == (common.Address{}) {
		t.Errorf("%+v", c)
	}
	middle := got.Elements[0].Bundle
	if middle.Refunds[0].Percent != 90 || !middle.Elements[1].Tx.CanRevert {
		t.Errorf("%+v", middle)
	}
	if innermost := middle.Elements[0].Bundle; innermost.Recipients != 2 || innermost.Elements[0].Tx.From != senderA {
		t.Errorf("%+v", innermost)
	}
}

// The pool's orders become for the simulator what the same text becomes by mev_simBundle.
func TestToExec(t *testing.T) {
	params := share + `"body":[` + inner("") +
		`,{"tx":"$C","canRevert":true}],"validity":{"refund":[{"bodyIdx":0,"percent":80}]}}]`
	got, err := ToExec(&sendShare(t, params).Bundle, chain)
	if err != nil {
		t.Fatal(err)
	}
	want := simBundle(t, params).Bundle
	if got.Elements[1].Tx.Hash() != want.Elements[1].Tx.Hash() || got.Elements[1].Tx.From != want.Elements[1].Tx.From ||
		!got.Elements[1].Tx.CanRevert ||
		!reflect.DeepEqual(got.Refunds, want.Refunds) || got.Elements[0].Bundle.Elements[0].Tx.From != senderA {
		t.Errorf("%+v, want %+v", got, want)
	}
	if _, err := ToExec(&sendShare(t, share+`"body":[{"hash":"#A"},{"tx":"$B"}]}]`).Bundle, chain); !errors.Is(err,
		ErrUnmatched) {
		t.Error(err)
	}
	if _, err := ToExec(&rpc.Bundle{Elements: []rpc.Element{{Tx: &rpc.Transaction{Raw: []byte{2}}}}}, chain); err == nil {
		t.Error("a broken order was converted")
	}
}
