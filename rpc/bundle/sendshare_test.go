package bundle

import (
	"reflect"
	"testing"

	"github.com/google/uuid"

	"github.com/gavel-relay/gavel/internal/orderflow"
	"github.com/gavel-relay/gavel/rpc"
)

func sendShare(t *testing.T, params string) *rpc.Order {
	t.Helper()
	order, err := ReadSendShare(fill(params), intake())
	if err != nil {
		t.Fatalf("%s: %v", params, err)
	}
	return order
}

func TestSendShare(t *testing.T) {
	order := sendShare(t,
		`[{"version":"version-1","inclusion":{"block":"0x65","maxBlock":"0x83"},"body":[{"tx":"$A","canRevert":true},`+
			`{"bundle":{"version":"beta-1","inclusion":{"block":"0x60"},"body":[{"tx":"$B","revertMode":"drop"}],"validity":{"refundConfig":[`+
			`{"address":"@","percent":"0x64"}]},"privacy":{"hints":["tx_hash"],"wantRefund":70}}}],"validity":{"refund":[{"bodyIdx":"0x1","percent":"0x50"}]},`+
			`"privacy":{"hints":["calldata","logs"],"builders":["Flashbots","beaverbuild.org"]},"metadata":{"originId":"me"},"replacementUuid":"$U"}]`)
	if order.Kind != rpc.KindShare || order.Signer != intake().Signer || order.Replacement != uuid.MustParse(replacement) {
		t.Errorf("%+v", order)
	}
	if !reflect.DeepEqual(order.Builders, []string{"default", "beaverbuild.org"}) {
		t.Errorf("builders %q", order.Builders)
	}
	b := order.Bundle
	if want := (rpc.Window{FirstBlock: 101, LastBlock: 131}); b.Window != want {
		t.Errorf("window %+v, want %+v", b.Window, want)
	}
	if b.Hints != orderflow.Hash|orderflow.Calldata|orderflow.Logs || b.WantRefundPercent != 90 ||
		!reflect.DeepEqual(b.Refunds, []rpc.ElementRefund{{Element: 1, Percent: 80}}) {
		t.Errorf("%+v", b)
	}
	if a := b.Elements[0].Tx; a.Hash != hashA || a.From != senderA || !a.CanRevert || a.CanDrop {
		t.Errorf("A is %+v", a)
	}
	inner := b.Elements[1].Bundle
	if inner.Hints != orderflow.Hash|orderflow.TxHash || inner.WantRefundPercent != 70 ||
		!reflect.DeepEqual(inner.Shares, []rpc.Share{{Address: recipient, Percent: 100}}) {
		t.Errorf("inner %+v", inner)
	}
	if tx := inner.Elements[0].Tx; tx.Hash != hashB || tx.CanRevert || !tx.CanDrop {
		t.Errorf("B is %+v", tx)
	}
}

// Who sets nothing gets the defaults: no hints, 90 percent, the operator's builder.
func TestSendShareDefaults(t *testing.T) {
	for _, fields := range []string{
		``, `,"validity":{},"privacy":{}`, `,"validity":{"refund":[],"refundConfig":[]}`, `,"validity":null,"privacy":null`,
		`,"privacy":{"hints":[],"builders":null,"wantRefund":null},"metadata":{}`, `,"replacementUuid":""`,
	} {
		order := sendShare(t, share+`"body":[{"tx":"$A","canRevert":null}]`+fields+`}]`)
		if order.Bundle.Hints != 0 || order.Bundle.WantRefundPercent != 90 || order.Builders != nil ||
			order.Bundle.Refunds != nil ||
			order.Replacement != uuid.Nil {
			t.Errorf("%s: %+v", fields, order)
		}
	}
	if order := sendShare(t, share+`"body":[{"tx":"$A"}],"privacy":{"wantRefund":0}}]`); order.Bundle.WantRefundPercent != 0 {
		t.Error("who wants no refund gets one")
	}
}

// An element that says null for the other kinds is of one kind.
func TestElementOfOneKind(t *testing.T) {
	order := sendShare(t, share+`"body":[{"hash":"#C","tx":null,"bundle":null},{"hash":null,"tx":"$B"}]}]`)
	if first := order.Bundle.Elements[0]; first.Match == nil || *first.Match != hashC || first.Tx != nil ||
		first.Bundle != nil {
		t.Errorf("%+v", first)
	}
	if second := order.Bundle.Elements[1]; second.Tx == nil || second.Tx.From != senderB {
		t.Errorf("who a backrun is from must be known from the beginning: %+v", second)
	}
}

// revertMode says more than canRevert.
func TestRevertModes(t *testing.T) {
	order := sendShare(t, share+`"body":[{"tx":"$A","canRevert":true,"revertMode":"fail"}]}]`)
	if order.Bundle.Elements[0].Tx.CanRevert {
		t.Error("it may revert")
	}
	for mode, want := range map[string][2]bool{"": {false, false}, "allow": {true, false}, "drop": {false, true},
		"fail": {false, false}} {
		tx := sendShare(t, share+`"body":[{"tx":"$A","revertMode":"`+mode+`"}]}]`).Bundle.Elements[0].Tx
		if got := [2]bool{tx.CanRevert, tx.CanDrop}; got != want {
			t.Errorf("revertMode %q: may revert, may be dropped: %v", mode, got)
		}
	}
}

// All of a bundle comes in one block, so its blocks are those that it and the bundles in it have in
// common.
func TestWindowsIntersect(t *testing.T) {
	for _, c := range []struct {
		outer, inner string
		want         rpc.Window
	}{
		{`"block":101,"maxBlock":120`, ``, rpc.Window{FirstBlock: 101, LastBlock: 120}},
		{`"block":101,"maxBlock":120`, `"block":105`, rpc.Window{FirstBlock: 105, LastBlock: 120}},
		{`"block":101,"maxBlock":120`, `"block":90,"maxBlock":110`, rpc.Window{FirstBlock: 101, LastBlock: 110}},
		{`"block":101,"maxBlock":120`, `"block":1,"maxBlock":1000`, rpc.Window{FirstBlock: 101, LastBlock: 120}},
		{`"block":80,"maxBlock":110`, `"maxBlock":"0x0"`, rpc.Window{FirstBlock: 80, LastBlock: 110}},
		{`"block":105`, `"block":"0x69"`, rpc.Window{FirstBlock: 105, LastBlock: 105}},
		{`"block":105,"maxBlock":"0x0"`, ``, rpc.Window{FirstBlock: 105, LastBlock: 105}},
	} {
		order := sendShare(t, `[{"version":"v0.1","inclusion":{`+c.outer+
			`},"body":[{"bundle":{"version":"v0.1","inclusion":{`+c.inner+
			`},"body":[{"tx":"$A"}]}},{"tx":"$B"}]}]`)
		if got := order.Bundle.Window; got != c.want || order.Bundle.Elements[0].Bundle.Window != c.want {
			t.Errorf("%s with %s: %+v, want %+v", c.outer, c.inner, got, c.want)
		}
	}
}

// The rule of one backrun can be another number, or none.
func TestMaxBackruns(t *testing.T) {
	const two = share + `"body":[{"hash":"#A"},{"tx":"$B"},{"tx":"$C"}]}]`
	for backruns, taken := range map[int]bool{0: true, 1: false, 2: true} {
		in := intake()
		in.Limits.MaxBackruns = backruns
		if _, err := ReadSendShare(fill(two), in); (err == nil) != taken {
			t.Errorf("two backruns where %d may be: %v", backruns, err)
		}
	}
	sendShare(t, share+`"body":[{"tx":"$A"},{"tx":"$B"},{"tx":"$C"}],"validity":{"refund":[{"bodyIdx":0,"percent":50}]}}]`)
	sendShare(t, share+`"body":[`+inner("")+`,{"tx":"$B"},{"tx":"$C"}]}]`)
}

func TestHintNames(t *testing.T) {
	for name, want := range map[string]orderflow.Hints{
		"hash": orderflow.Hash, "contract_address": orderflow.ContractAddress,
		"function_selector": orderflow.FunctionSelector, "calldata": orderflow.Calldata,
		"logs": orderflow.Logs, "default_logs": orderflow.DefaultLogs, "special_logs": orderflow.DefaultLogs,
		"tx_hash":          orderflow.TxHash,
		"transaction_hash": orderflow.TxHash, "full": orderflow.Full, "tx_full": orderflow.Full,
	} {
		order := sendShare(t, share+`"body":[{"tx":"$A"}],"privacy":{"hints":["`+name+`"]}}]`)
		if order.Bundle.Hints != want|orderflow.Hash {
			t.Errorf("%s is %b, want %b", name, order.Bundle.Hints, want|orderflow.Hash)
		}
	}
}
