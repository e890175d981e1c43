package beacon

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/gloas"
)

func (n *network) wantLedger(when string, want Ledger) {
	n.t.Helper()
	if got, err := n.beacon.Ledger(); err != nil || got != want || !got.Right() {
		n.t.Errorf("%s: %+v, %v, want %+v", when, got, err, want)
	}
}

// soldIn publishes the block of a slot with a builder's bid, whose payload nobody reveals.
func (n *network) soldIn(slot phase0.Slot, url string) *gloas.BeaconBlock {
	n.t.Helper()
	n.begin(slot)
	block, from := n.producedIn(slot, configFor(url))
	if from != url {
		n.t.Fatal("the builder's bid was not taken")
	}
	n.mustPublish(block)
	return block
}

// A value that was promised is pending until the votes of its slot are counted, and then withdrawn
// by a payload, to the Gwei; while that is not revealed it is pending still.
func TestLedger(t *testing.T) {
	n := newNetworkIn(t, eth.Gloas)
	server := httptest.NewServer(&stakedBuilder{n: n, value: 700})
	t.Cleanup(server.Close)
	n.wantLedger("at genesis", Ledger{})
	n.soldIn(1, server.URL)
	n.wantLedger("sold", Ledger{Promised: 700, Pending: 700})
	n.endSlot(1)
	decided := phase0.Slot(2 * n.spec.SlotsPerEpoch)
	for slot := phase0.Slot(2); slot < decided; slot++ {
		n.selfBuild(slot, true)
		n.wantLedger("not decided", Ledger{Promised: 700, Pending: 700})
	}
	n.selfBuild(decided, false)
	n.wantLedger("in a payload that is withheld", Ledger{Promised: 700, Pending: 700})
	n.selfBuild(decided+1, true)
	n.wantLedger("in the next one", Ledger{Promised: 700, Withdrawn: 700})
}

// What a slot has promised whose proposer has signed two blocks is void.
func TestLedgerOfASlashing(t *testing.T) {
	n := newNetworkIn(t, eth.Gloas)
	server := httptest.NewServer(&stakedBuilder{n: n, value: 700})
	t.Cleanup(server.Close)
	block := n.soldIn(1, server.URL)
	other, body := *block, *block.Body
	body.Graffiti[0], other.Body = 1, &body
	n.mustPublish(&other)
	n.endSlot(1)
	n.selfBuild(2, true)
	n.wantLedger("after the slashing", Ledger{Void: 700})
}

// What a slot has promised whose block nobody has voted for is void too, once the votes are
// counted.
func TestLedgerWithoutVotes(t *testing.T) {
	n := newNetworkIn(t, eth.Gloas)
	server := httptest.NewServer(&stakedBuilder{n: n, value: 700})
	t.Cleanup(server.Close)
	n.soldIn(1, server.URL)
	decided := phase0.Slot(2 * n.spec.SlotsPerEpoch)
	for slot := phase0.Slot(2); slot < decided; slot++ {
		n.selfBuild(slot, true)
	}
	n.wantLedger("not decided", Ledger{Promised: 700, Pending: 700})
	n.selfBuild(decided, true)
	n.wantLedger("decided", Ledger{Void: 700})
}

// Who runs the node is told which builder refuses to bid, and why.
func TestBidRefused(t *testing.T) {
	n := newNetworkIn(t, eth.Gloas)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Refusal", "auth-data")
		w.WriteHeader(http.StatusBadRequest)
	}))
	t.Cleanup(server.Close)
	told := 0
	n.beacon.cfg.BidRefused = func(slot phase0.Slot, url string, status int, refusal string) {
		told++
		if slot != 1 || url != server.URL || status != http.StatusBadRequest || refusal != "auth-data" {
			t.Errorf("slot %d: %s refuses with %d %q", slot, url, status, refusal)
		}
	}
	n.begin(1)
	if block, _ := n.producedIn(1, configFor(server.URL)); told != 1 ||
		block.Body.SignedExecutionPayloadBid.Message.BuilderIndex != gloas.SelfBuild {
		t.Errorf("told %d times, or the node has not built its own payload", told)
	}
}
