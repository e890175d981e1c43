package app_test

import (
	"net/http"
	"slices"
	"testing"

	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/internal/eth"
)

// offeredAs is the same block, offered by alpha at a value of its own.
func (s *submission) offeredAs(wei uint64) *submission {
	offered, trace, blobs := *s, *s.trace, *s.blobs
	offered.trace, offered.blobs, offered.key = &trace, &blobs, builderKeys[0]
	offered.trace.Value = uint256.NewInt(wei)
	offered.sign()
	return &offered
}

// A trusted builder copies a block that is in the auction and gives it other proofs: its header is
// right, and no node takes the block. It leads, since it bids more; what is published and revealed
// is the block of the one who was copied, and the copy is demoted once it is executed.
func TestCopyWithWrongProofs(t *testing.T) {
	for _, path := range []string{v1Path, v2Path} {
		t.Run(path, func(t *testing.T) {
			h := newRelay(t, eth.Fulu, relayOptions{configure: trusting})
			block := h.worth(t, 1, 1000)
			h.submitted(t, block)
			copied := block.offeredAs(2000)
			copied.blobs.Proofs = slices.Clone(copied.blobs.Proofs)
			slices.Reverse(copied.blobs.Proofs)
			held := h.gate.hold(block.payload.BlockHash)
			h.submitted(t, copied)
			h.into(0)
			served := h.header(t)
			if served.Data.Message.Value != "2000" {
				t.Fatalf("served at %s", served.Data.Message.Value)
			}
			h.wantRevealed(t, path, h.reveal(t, path, h.blind(t, served)), block)
			close(held.open)
			poll(t, "alpha is demoted", func() bool { return len(h.demotions(t)) == 1 })
			if d := h.demotions(t)[0]; d.Name != "alpha" || !d.Delivered {
				t.Errorf("%+v", d)
			}
		})
	}
}

// Bids are cancelled while proposers ask for them. Whichever was served, its payload is delivered:
// a cancellation comes too late for a header that has left.
func TestCancelBesideGetHeader(t *testing.T) {
	h := newRelay(t, eth.Fulu, relayOptions{})
	for range 3 {
		h.into(0)
		h.submitted(t, h.worth(t, 1, 500))
		high, low := h.worth(t, 0, 1000), h.worth(t, 0, 100)
		h.submitted(t, high)
		cancelled := h.goSubmit(t, low)
		served := h.header(t)
		if got := <-cancelled; got.status != http.StatusOK && got.status != http.StatusAccepted {
			t.Fatalf("cancel: %s", got)
		}
		if value := served.Data.Message.Value; value != "1000" && value != "500" {
			t.Fatalf("served at %s", value)
		}
		if got := h.header(t).Data.Message.Value; got != "500" {
			t.Errorf("%s wei lead after the cancellation", got)
		}
		h.reveal(t, v2Path, h.blind(t, served)).wantStatus(t, http.StatusAccepted)
		h.next(t)
	}
}
