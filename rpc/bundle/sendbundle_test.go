package bundle

import (
	"reflect"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/google/uuid"

	"github.com/gavel-relay/gavel/internal/exec"
	"github.com/gavel-relay/gavel/rpc"
)

func sendBundle(t *testing.T, params string) *rpc.Order {
	t.Helper()
	order, cancel, err := ReadSendBundle(fill(params), intake())
	if err != nil || cancel != uuid.Nil {
		t.Fatalf("%s: %v, cancel %v", params, err, cancel)
	}
	return order
}

// A bundle as most send it.
func TestSendBundle(t *testing.T) {
	order := sendBundle(t,
		`[{"txs":["$A","$B"],"blockNumber":"0x66","minTimestamp":1210,"maxTimestamp":1230,"revertingTxHashes":["#B","#C"],`+
			`"droppingTxHashes":["#A"],"replacementUuid":"$U","builders":["Titan","flashbots","DEFAULT","titan","vendor"]}]`)
	in := intake()
	if order.Kind != rpc.KindBundle || order.Signer != in.Signer || !order.ReceivedAt.Equal(in.At) || order.ID != 0 {
		t.Errorf("%+v", order)
	}
	want := (rpc.Window{FirstBlock: 102, LastBlock: 102, MinTimestamp: 1210, MaxTimestamp: 1230})
	if order.Bundle.Window != want {
		t.Errorf("window %+v, want %+v", order.Bundle.Window, want)
	}
	a, b := order.Bundle.Elements[0].Tx, order.Bundle.Elements[1].Tx
	if a.Hash != hashA || a.Raw.String() != rawA || a.Nonce != 0 || a.CanRevert || !a.CanDrop {
		t.Errorf("A is %+v", a)
	}
	if b.Hash != hashB || !b.CanRevert || b.CanDrop {
		t.Errorf("B is %+v", b)
	}
	if order.Replacement != uuid.MustParse(replacement) ||
		!reflect.DeepEqual(order.Builders, []string{"titan", "default"}) {
		t.Errorf("%s for %q", order.Replacement, order.Builders)
	}
	if order.Bundle.Hints != 0 || order.Bundle.Refunds != nil || order.AllBuilders {
		t.Error("nobody asked for hints, refunds or all builders")
	}
}

// Without a block the next one is meant, however that is written; without times, any time.
func TestSendBundleDefaults(t *testing.T) {
	for _, fields := range []string{
		``, `,"blockNumber":null`, `,"blockNumber":"0x"`, `,"blockNumber":0`, `,"blockNumber":"0x0"`, `,"blockNumber":"0x65"`,
		`,"blockNumber":"101"`,
		`,"minTimestamp":0,"maxTimestamp":0`,
		`,"minTimestamp":null,"maxTimestamp":null,"revertingTxHashes":null,"builders":null`,
		`,"revertingTxHashes":[],"builders":[],"replacementUuid":null`,
		`,"replacementUuid":"00000000-0000-0000-0000-000000000000"`,
		`,"version":"v2","refundPercent":0,"stateBlockNumber":"latest","signingAddress":null`,
		`,"signingAddress":"0x00000000000000000000000000000000005167E5"`,
	} {
		order := sendBundle(t, `[{"txs":["$A"]`+fields+`}]`)
		if want := (rpc.Window{FirstBlock: 101, LastBlock: 101}); order.Bundle.Window != want {
			t.Errorf("%s: %+v", fields, order.Bundle.Window)
		}
		if order.Replacement != uuid.Nil || len(order.Builders) != 0 || order.Bundle.Refunds != nil {
			t.Errorf("%s: %+v", fields, order)
		}
	}
}

func TestEmptyBundleCancels(t *testing.T) {
	for _, params := range []string{
		`[{"txs":[],"replacementUuid":"$U"}]`, `[{"replacementUuid":"$U","blockNumber":"0x1"}]`, `[{"txs":null,"uuid":"$U"}]`,
		`[{"txs":[],"uuid":"$U","replacementUuid":null}]`,
	} {
		order, cancel, err := ReadSendBundle(fill(params), intake())
		if err != nil || order != nil || cancel.String() != replacement {
			t.Errorf("%s: %v, %v, %v", params, order, cancel, err)
		}
	}
	for _, params := range []string{`[{"replacementUuid":"$U"}]`, `[{"replacementUuid":"$U","builders":["x"]},null]`} {
		if cancel, err := ReadCancelBundle(fill(params), intake().Signer); err != nil || cancel.String() != replacement {
			t.Errorf("%s: %v, %v", params, cancel, err)
		}
	}
	if hash, err := ReadCancelPrivate(fill(`[{"txHash":"#A"}]`)); err != nil || hash != hashA {
		t.Errorf("%v, %v", hash, err)
	}
}

// The percentage is of what one transaction pays, the last unless one is named; it is for the first
// one's sender unless somebody is named.
func TestSendBundleRefund(t *testing.T) {
	for _, c := range []struct {
		fields string
		payer  int
		to     common.Address
	}{
		{`"refundPercent":90`, 2, senderA},
		{`"refundPercent":"0x5a","refundTxHashes":[],"refundRecipient":null`, 2, senderA},
		{`"refundPercent":90,"refundTxHashes":["#A"]`, 0, senderA},
		{`"refundPercent":90,"refundTxHashes":["#B"],"refundRecipient":"@"`, 1, recipient},
	} {
		b := sendBundle(t, `[{"txs":["$A","$B","$C"],`+c.fields+`}]`).Bundle
		if !reflect.DeepEqual(b.Refunds, []rpc.ElementRefund{{Element: 0, Percent: 90}}) ||
			!reflect.DeepEqual(b.PaidBy, []int{c.payer}) {
			t.Errorf("%s: %+v paid by %v", c.fields, b.Refunds, b.PaidBy)
		}
		if !reflect.DeepEqual(b.Shares, []rpc.Share{{Address: c.to, Percent: 100}}) || b.DelayedRefund {
			t.Errorf("%s: %+v", c.fields, b.Shares)
		}
		converted, err := ToExec(&b, chain)
		if err != nil || converted.Recipients != 1 || !reflect.DeepEqual(converted.PaidBy, []int{c.payer}) ||
			converted.Refunds[0].Percent != 90 {
			t.Errorf("%s: to the simulator %+v, %v", c.fields, converted, err)
		}
	}
	if !sendBundle(t, `[{"txs":["$A"],"refundPercent":1,"delayedRefund":true}]`).Bundle.DelayedRefund {
		t.Error("a delayed refund is not delayed")
	}
}

// Senders of many transactions stay in their order.
func TestManyTransactions(t *testing.T) {
	const n = 100
	txs := make([]string, n)
	for i := range txs {
		txs[i] = `"` + rawOf(t, transfer(i, uint64(i), 0)).String() + `"`
	}
	whole, err := ToExec(&sendBundle(t, `[{"txs":[`+join(txs)+`]}]`).Bundle, chain)
	if err != nil {
		t.Fatal(err)
	}
	elements := whole.Elements
	for i, e := range elements {
		if want := addressOf(i); e.Tx.From != want || e.Tx.Nonce() != uint64(i) {
			t.Errorf("transaction %d is of %s, want %s", i, e.Tx.From, want)
		}
	}
	if len(elements) != n {
		t.Errorf("%d elements", len(elements))
	}
	in := intake()
	in.Chain = otherChain
	_, _, err = ReadSendBundle(fill(`[{"txs":[`+join(txs)+`]}]`), in)
	if got := refusal(t, err); got[:51] != "unable to decode bundle: params[0].txs[0]: invalid " {
		t.Errorf("%q: the first mistake counts, whoever finds it first", got)
	}
}

// known are senders by their transactions' hashes; it recovers the others.
type known map[common.Hash]common.Address

// Find implements Senders.
func (k known) Find(txs []*exec.Tx) (failed int, err error) {
	for i, tx := range txs {
		if sender, found := k[tx.Hash()]; found {
			tx.From = sender
		} else if _, err := chain.Find(txs[i : i+1]); err != nil {
			return i, err
		}
	}
	return 0, nil
}

// Who is sent by whom is asked of Senders, also for what the order does not say. The order stays as
// it is.
func TestKnownSenders(t *testing.T) {
	in, senders := intake(), known{hashA: recipient}
	in.Senders = senders
	order, _, err := ReadSendBundle(fill(`[{"txs":["$A","$B"],"refundPercent":50}]`), in)
	if err != nil {
		t.Fatal(err)
	}
	a, b := order.Bundle.Elements[0].Tx, order.Bundle.Elements[1].Tx
	if order.Bundle.Shares[0].Address != recipient || a.From != recipient || b.From != (common.Address{}) {
		t.Errorf("%s gets the refund; %s and %s", order.Bundle.Shares[0].Address, a.From, b.From)
	}
	whole, err := ToExec(&order.Bundle, senders)
	if err != nil {
		t.Fatal(err)
	}
	if got := whole.Elements; got[0].Tx.From != recipient || got[1].Tx.From != senderB || b.From != (common.Address{}) {
		t.Errorf("simulated as %s and %s, the order has %s", got[0].Tx.From, got[1].Tx.From, b.From)
	}
}

// An order keeps nothing of the request's memory: it lives for long, and the request is large.
func TestOrderOwnsItsBytes(t *testing.T) {
	params := fill(`[{"txs":["$A"],"builders":["titan"]}]`)
	order, _, err := ReadSendBundle(params, intake())
	if err != nil {
		t.Fatal(err)
	}
	clear(params)
	if order.Builders[0] != "titan" || order.Bundle.Elements[0].Tx.Raw.String() != rawA {
		t.Errorf("%q %s", order.Builders[0], order.Bundle.Elements[0].Tx.Raw)
	}
}
