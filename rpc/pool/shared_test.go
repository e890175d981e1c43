package pool

import (
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"github.com/gavel-relay/gavel/internal/orderflow"
	"github.com/gavel-relay/gavel/rpc"
)

// TestShared: an order is found by its double hash while it is alive, from when strangers are told
// get it, which happens once and only if its signer shares anything of it. The hashes are the
// published ones.
func TestShared(t *testing.T) {
	at, alice := time.Unix(1000, 0), common.Address{1}
	hash := common.HexToHash("0xaea81b2ade05a68bc49abc821be36061fff982a311e1648a84df591a7c43740d")
	double := common.HexToHash("0x070b0edc316ed5289235e7141c7220e65a6043399f86191b7d4fa951c812157c")
	order := func(hints orderflow.Hints) *rpc.Order {
		window := rpc.Window{FirstBlock: 1, LastBlock: 2}
		tx := &rpc.Transaction{Hash: hash}
		return &rpc.Order{
			Kind: rpc.KindPrivate, Signer: alice, Bundle: rpc.Bundle{Hash: hash, Hints: hints, Window: window,
				Elements: []rpc.Element{{Tx: tx}}},
		}
	}
	p := New(Config{})
	add := func(o *rpc.Order) {
		t.Helper()
		if _, err := p.Add(at, rpc.Head{}, o); err != nil {
			t.Fatal(err)
		}
	}
	secret := order(0)
	add(secret)
	if facts := p.Share(secret.ID, orderflow.Shared{Hash: hash}); p.IsUnshared(secret.ID) || facts != nil ||
		p.Shared(double) != nil {
		t.Errorf("found what nobody may learn of: %v", facts)
	}
	shared := order(orderflow.Hash)
	add(shared)
	if !p.IsUnshared(shared.ID) || p.Shared(double) != nil {
		t.Error("found before anybody was told")
	}
	if facts := p.Share(shared.ID, orderflow.Shared{Hash: hash}); len(facts) != 1 {
		t.Errorf("told %d times", len(facts))
	}
	if facts := p.Share(shared.ID, orderflow.Shared{Hash: hash}); p.IsUnshared(shared.ID) || facts != nil {
		t.Errorf("told again: %v", facts)
	}
	if p.Shared(double) != shared || p.Shared(hash) != nil {
		t.Error("not found by its double hash, or by another one")
	}
	p.CancelPrivate(at, alice, hash)
	late := order(orderflow.Hash)
	late.Signer = common.Address{2}
	add(late)
	p.CancelPrivate(at, late.Signer, hash)
	if facts := p.Share(late.ID, orderflow.Shared{Hash: hash}); facts != nil {
		t.Errorf("told after the cancel: %v", facts)
	}
	if p.Shared(double) != nil || len(p.shared) > 0 {
		t.Error("found after its cancel")
	}
}
