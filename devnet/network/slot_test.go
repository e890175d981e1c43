package network_test

import (
	"testing"

	"github.com/attestantio/go-eth2-client/spec/bellatrix"
	"github.com/attestantio/go-eth2-client/spec/capella"
	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/ethereum/go-ethereum/common"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/devnet/chain"
	"github.com/gavel-relay/gavel/devnet/network"
)

// What a block pays an account is what its transactions bring, to the wei, and not what withdrawals
// do. An account that spends more than it is paid, and a block that is not there, are errors.
func TestPaidBy(t *testing.T) {
	n := open(t, config(1))
	builder, payee := n.Builders[0], n.Payees[2]
	built, err := n.Chain.Build(t.Context(), chain.BuildArgs{
		Parent: phase0.Hash32(n.Chain.Genesis().Hash()), Slot: 1, Coinbase: network.Address(builder),
		GasLimitTarget: 60_000_000,
		Payment:        &chain.Payment{From: builder, To: payee, ValueWei: uint256.NewInt(12_345)},
		Withdrawals:    []*capella.Withdrawal{{Index: 1, Address: bellatrix.ExecutionAddress(payee), Amount: 7}},
	})
	if err != nil {
		t.Fatal(err)
	}
	err = n.Chain.Import(t.Context(), built.Fork, built.Payload, nil, phase0.Root{}, built.Requests)
	if err != nil {
		t.Fatal(err)
	}
	hash := phase0.Hash32(built.Block.Hash())
	for name, c := range map[string]struct {
		hash  phase0.Hash32
		payee common.Address
		want  uint64
		fails bool
	}{
		"the payee": {hash, payee, 12_345, false}, "nobody": {hash, n.Friend, 0, false},
		"who pays": {hash, network.Address(builder), 0, true}, "no block": {phase0.Hash32{1}, payee, 0, true},
	} {
		paid, err := n.PaidBy(c.hash, c.payee)
		if (err != nil) != c.fails || !c.fails && !paid.Eq(uint256.NewInt(c.want)) {
			t.Errorf("%s: %v, %v", name, paid, err)
		}
	}
}
