package bundle

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/google/uuid"

	"github.com/gavel-relay/gavel/rpc"
)

// Params may be anything: no panic, every error is a refusal, and what is accepted keeps the rules.

// seed adds what the tables of refusals and of clients have for a method.
func seed(f *testing.F, method string) {
	f.Helper()
	for _, r := range readers {
		for _, no := range r.nos {
			if r.method == method && len(no.params) < 1000 {
				f.Add([]byte(fill(no.params)))
			}
		}
	}
	for _, group := range clients {
		for _, c := range group.bodies {
			var request struct {
				Method string
				Params json.RawMessage
			}
			if json.Unmarshal(fill(c.body), &request) == nil && request.Method == method {
				f.Add([]byte(request.Params))
			}
		}
	}
}

// mustRefuse fails the test if an error is none of the catalogue's.
func mustRefuse(t *testing.T, err error) {
	t.Helper()
	var refused *rpc.Refused
	if !errors.As(err, &refused) {
		t.Fatalf("%T: %v", err, err)
	}
}

// checkOrder fails the test if an order breaks a rule, or cannot be simulated and sent.
func checkOrder(t *testing.T, order *rpc.Order) {
	t.Helper()
	in, b := intake(), &order.Bundle
	if b.Window.LastBlock <= in.Head.Number || b.Window.FirstBlock > b.Window.LastBlock || len(b.Elements) == 0 ||
		order.Signer != in.Signer {
		t.Fatalf("%+v", order)
	}
	if txs, err := flatten(nil, b); len(txs) > in.Limits.MaxTxs || err != nil && !errors.Is(err, ErrUnmatched) {
		t.Fatalf("%d transactions, %v", len(txs), err)
	}
	if _, err := ToExec(b, chain); err != nil && !errors.Is(err, ErrUnmatched) && !errors.Is(err, ErrSignature) {
		t.Fatal(err)
	}
	checkPayees(t, b)
	for _, write := range []func(*rpc.Order, uint64, uuid.UUID) (json.RawMessage, error){Outgoing, OutgoingShare} {
		_, err := write(order, b.Window.LastBlock, order.Replacement)
		if err != nil && !errors.Is(err, ErrUnmatched) && !errors.Is(err, ErrNotConvertible) {
			t.Fatal(err)
		}
	}
	text, err := json.Marshal(order)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, new(rpc.Order)); err != nil {
		t.Fatal(err)
	}
	for tx := range b.Transactions() {
		if again := new(types.Transaction); again.UnmarshalBinary(tx.Raw) != nil || again.Hash() != tx.Hash {
			t.Fatalf("%s is not the hash of %s", tx.Hash, tx.Raw)
		}
	}
}

// checkPayees fails the test if nobody knows who gets a refund: a sender that was not found yet
// must not be an owner.
func checkPayees(t *testing.T, b *rpc.Bundle) {
	t.Helper()
	owned := b.Elements[:0:0]
	for _, refund := range b.Refunds {
		owned = append(owned, b.Elements[refund.Element])
	}
	if len(b.PaidBy) > 0 {
		owned = nil // Shares name the owners
	}
	if b.Hints != 0 {
		owned = append(owned, rpc.Element{Bundle: b})
	}
	for _, e := range owned {
		for e.Bundle != nil && len(e.Bundle.Shares) == 0 {
			e = e.Bundle.Elements[0]
		}
		if e.Tx != nil && e.Tx.From == (common.Address{}) {
			t.Fatalf("the sender of %s is not known", e.Tx.Hash)
		}
	}
	for _, e := range b.Elements {
		if e.Bundle != nil {
			checkPayees(t, e.Bundle)
		}
	}
}

func FuzzReadSendBundle(f *testing.F) {
	seed(f, "eth_sendBundle")
	f.Add([]byte(
		fill(`[{"txs":["$A","$B","$C"],"refundPercent":"0x5a","refundTxHashes":["#B"],"droppingTxHashes":["#C"],"delayedRefund":true}]`)))
	f.Fuzz(func(t *testing.T, params []byte) {
		order, cancel, err := ReadSendBundle(params, intake())
		switch {
		case err != nil:
			mustRefuse(t, err)
		case (order == nil) == (cancel == uuid.Nil):
			t.Fatalf("%v and %v", order, cancel)
		case order != nil:
			checkOrder(t, order)
		}
	})
}

func FuzzReadSendShare(f *testing.F) {
	seed(f, "mev_sendBundle")
	f.Add([]byte(fill(share + `"body":[` + inner(splitTo) + `,{"tx":"$C","revertMode":"drop"}],` + refund90 + `}]`)))
	f.Fuzz(func(t *testing.T, params []byte) {
		order, err := ReadSendShare(params, intake())
		if err != nil {
			mustRefuse(t, err)
			return
		}
		checkOrder(t, order)
	})
}

func FuzzReadCallBundle(f *testing.F) {
	seed(f, "eth_callBundle")
	f.Add([]byte(
		fill(`[{"txs":["$A"],"blockNumber":101,"stateBlockNumber":{"blockHash":"#A"},"coinbase":"@","baseFee":"7","excessBlobGas":"0x1"}]`)))
	f.Fuzz(func(t *testing.T, params []byte) {
		call, err := ReadCallBundle(params, intake())
		if err != nil {
			mustRefuse(t, err)
			return
		}
		if call.Environment.Timeout > intake().Limits.MaxTimeout || call.Environment.Number == 0 || len(call.Txs) == 0 ||
			len(call.Txs) > 100 {
			t.Fatalf("%+v", call)
		}
	})
}

func FuzzReadSimBundle(f *testing.F) {
	seed(f, "mev_simBundle")
	f.Add([]byte(fill(share + `"body":[` + inner(splitTo) + `,{"tx":"$C"}],` + refund90 + `,"simOptions":{"timeout":5}},` +
		`{"parentBlock":"#A","baseFee":1}]`)))
	f.Fuzz(func(t *testing.T, params []byte) {
		simulation, err := ReadSimBundle(params, intake())
		if err != nil {
			mustRefuse(t, err)
			return
		}
		if simulation.Environment.Timeout > intake().Limits.MaxTimeout || len(simulation.Bundle.Elements) == 0 {
			t.Fatalf("%+v", simulation)
		}
	})
}

// The same text may be read by both methods for private transactions, and by both for cancels.
func FuzzReadPrivate(f *testing.F) {
	for _, method := range []string{"eth_sendPrivateTransaction", "eth_sendPrivateRawTransaction", "eth_cancelBundle",
		"eth_cancelPrivateTransaction"} {
		seed(f, method)
	}
	f.Add([]byte(
		fill(`["$A",{"fast":true,"privacy":{"hints":["full"]},"validity":{"refund":[{"address":"@","percent":"0xa"}]}}]`)))
	f.Fuzz(func(t *testing.T, params []byte) {
		for _, read := range []func(json.RawMessage, Intake) (*rpc.Order, error){ReadSendPrivate, ReadSendPrivateRaw} {
			order, err := read(params, intake())
			if err != nil {
				mustRefuse(t, err)
				continue
			}
			checkOrder(t, order)
		}
		if _, err := ReadCancelBundle(params, intake().Signer); err != nil {
			mustRefuse(t, err)
		}
		if _, err := ReadCancelPrivate(params); err != nil {
			mustRefuse(t, err)
		}
	})
}
