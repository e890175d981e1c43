package orders

import (
	"testing"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/devnet/chain"
	"github.com/gavel-relay/gavel/devnet/chain/chaintest"
	"github.com/gavel-relay/gavel/internal/eth"
)

// market is a market whose orders an intake takes.
type market struct {
	*chaintest.Market

	t      *testing.T
	node   *chain.Node
	intake *Intake
}

// newMarket opens a chain for it.
func newMarket(t *testing.T) *market {
	t.Helper()
	return marketOn(t, chaintest.OpenChain(t, &eth.Spec{
		GenesisTime: time.Unix(1_700_000_000, 0), GenesisForkVersion: phase0.Version{9}, SlotDuration: 12 * time.Second,
		SlotsPerEpoch: 4, Forks: []eth.ForkPoint{{Fork: eth.Capella, Version: phase0.Version{9, byte(eth.Capella)}}},
	}))
}

// marketOn is on a chain that others may use too: nothing is imported into it.
func marketOn(t *testing.T, node *chain.Node) *market {
	t.Helper()
	intake := New(chaintest.Wallet("builder", 0), chaintest.Signer())
	handler, err := intake.Handler()
	if err != nil {
		t.Fatal(err)
	}
	return &market{Market: chaintest.New(t, handler), t: t, node: node, intake: intake}
}

// draft is block 1 with the orders that go together there, and their results.
func (s *market) draft() (*chain.Draft, []*result) {
	s.t.Helper()
	draft, err := s.node.Draft(s.t.Context(), chaintest.Args(s.node))
	if err != nil {
		s.t.Fatal(err)
	}
	return s.intake.merge(s.t.Context(), draft, s.intake.waiting(draft, nil))
}

// block is block 1 in names; a payout is an arrow to who gets it.
func (s *market) block() string {
	s.t.Helper()
	draft, _ := s.draft()
	built, err := draft.Finish(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	return s.Names(built.Block.Transactions())
}
