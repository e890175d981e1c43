package searcher

import (
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/params"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/devnet/chain"
	"github.com/gavel-relay/gavel/stream/client"
)

// Each row is a hint and a base fee, and whether a searcher follows: with the whole logs it knows
// what there is to earn, with less it tries its luck, with nothing it does not.
func TestDecide(t *testing.T) {
	router, stranger := chain.RouterAt, common.Address{1}
	const gwei = params.GWei
	for _, c := range []struct {
		name    string
		hint    client.Event
		baseFee uint64
		follows bool
	}{
		{"nothing but a hash", client.Event{}, gwei, false},
		{"a great swap with all its logs", client.Event{Logs: swapped(chain.PoolA, ether(30), true)}, gwei, true},
		{"in the other pool", client.Event{Logs: swapped(chain.PoolB, ether(30), true)}, gwei, true},
		{"a swap that leaves no gap", client.Event{Logs: swapped(chain.PoolA, ether(1), true)}, 0, false},
		{"a gap that does not pay for the gas", client.Event{Logs: swapped(chain.PoolA, ether(30), true)},
			1_000_000 * gwei,
			false},
		{"a pool that moves, nobody knows how far", client.Event{Logs: swapped(chain.PoolA, ether(1), false)}, gwei, true},
		{"a pool that nobody knows", client.Event{Logs: swapped(stranger, ether(30), true)}, gwei, false},
		{"a log without topics", client.Event{Logs: []client.Log{{Address: chain.PoolA}}}, gwei, false},
		{"a call of the router", client.Event{Txs: []client.Tx{{}, {To: &router}}}, gwei, true},
		{"a call of something else", client.Event{Txs: []client.Tx{{To: &stranger}}}, gwei, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := decide("searcher-1", c.hint, Market{
				Head: 7, BaseFeeWei: uint256.NewInt(c.baseFee),
				Reserves: map[common.Address]chain.Reserves{
					chain.PoolA: chain.Opening(), chain.PoolB: chain.Opening(),
				},
			})
			if d.follows != c.follows {
				t.Errorf("follows: %v, want %v", d.follows, c.follows)
			}
			if d.firstBlock != 8 || d.lastBlock != 10 {
				t.Errorf("for blocks %d to %d, want 8 to 10", d.firstBlock, d.lastBlock)
			}
		})
	}
}

// Each searcher pays another share of its profit for each hint, and never all of it.
func TestShare(t *testing.T) {
	shares := map[uint64]bool{}
	for _, name := range []string{"searcher-1", "searcher-2"} {
		for i := range 64 {
			percent := share(name, common.Hash{byte(i)})
			if percent < 50 || percent > 94 {
				t.Errorf("%s pays %d%%", name, percent)
			}
			shares[percent] = true
		}
	}
	if len(shares) < 30 {
		t.Errorf("only %d shares for 128 hints", len(shares))
	}
}
