package app_test

import (
	"net/http"
	"testing"

	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/bls"
	"github.com/gavel-relay/gavel/relay/app"
)

// heavy is a good submission with as many blobs as a block of electra may have, 1.2 MB, of any
// builder.
func (h *relayUnderTest) heavy(t *testing.T, key *bls.SecretKey, wei uint64) *submission {
	t.Helper()
	args := h.args(t)
	args.Transactions[2] = h.blobTransaction(t, 2, 0, 1, 2, 0, 1, 2)
	args.Transactions = append(args.Transactions, h.blobTransaction(t, 3, 0, 1, 2))
	args.Payment.ValueWei = uint256.NewInt(wei)
	s := h.build(t, args)
	s.key = key
	s.sign()
	return s
}

// A stranger replaces its bid by valid blocks without end, more than the escrow has room for, from
// the very address of two honest strangers. The block whose header was served before, and the one
// that leads, are delivered all the same, also when the relay has been started again and has
// nothing but the escrow.
func TestFloodOfValidBlocks(t *testing.T) {
	const escrowBytes = 44 << 20
	folder := t.TempDir() // before the relay, which is closed before it is removed
	h := newRelay(t, eth.Electra, relayOptions{configure: func(c *app.Config) {
		c.DataDir, c.Journal.EscrowBytes, c.Journal.FactsBytes, c.Journal.EvidenceBytes = folder, escrowBytes, 64<<20, 64<<20
	}})
	for _, signed := range []string{"the one that was served", "the one that leads"} {
		h.into(0)
		h.submitted(t, h.heavy(t, builderKeys[0], 500))
		block := h.blind(t, h.header(t))
		leading := h.heavy(t, builderKeys[1], 1000)
		h.submitted(t, leading)
		sent := 0
		for i := uint64(0); sent < escrowBytes*5/4; i++ {
			s := h.heavy(t, bls.Derive("flood", i%3), 10+i)
			sent += len(s.ssz(t))
			h.submitted(t, s)
		}
		h.wantTop(t, leading)
		if signed == "the one that leads" {
			block = h.blind(t, h.header(t))
		}
		h.restart(t)
		if h.reveal(t, v2Path, block).wantStatus(t, http.StatusAccepted); t.Failed() {
			t.Fatal(signed)
		}
		h.next(t)
	}
}
