package deliver

import (
	"bytes"
	"testing"
	"testing/synctest"

	"github.com/attestantio/go-eth2-client/spec/deneb"
	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/relay"
)

// Two builders have brought the same block, and the one that was served last has wrong proofs. The
// block is published and revealed with the other's, also to who asks again. If nobody has brought
// right ones, each is tried once.
func TestWrongProofsOfAnotherBuilder(t *testing.T) {
	for name, right := range map[string]bool{"one is right": true, "none is right": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newDeliverer(t)
				s, _ := newPayloads()
				h.deliverer.Payloads = s
				h.spoiled = bytes.Repeat([]byte{0xee}, 48)
				of := func(builder byte, proof deneb.KZGProof) {
					contents, trace, blobs := *h.contents, *h.contents.Trace, *h.contents.Blobs
					trace.BuilderPubkey = phase0.BLSPubKey{builder}
					blobs.Proofs = append([]deneb.KZGProof{proof}, blobs.Proofs[1:]...)
					contents.Trace, contents.Blobs = &trace, &blobs
					put(t, s, &contents)
					s.Header(contents.ID())
				}
				if right {
					of(1, deneb.KZGProof{1})
				}
				of(2, deneb.KZGProof(h.spoiled))
				of(3, deneb.KZGProof(h.spoiled))
				for range 2 {
					contents, err := h.deliverer.Deliver(t.Context(), h.at(0), h.block(proposerKey, nil), true)
					switch {
					case !right:
						wantRefused(t, err, relay.PayloadNotPublished)
					case err != nil || contents.Blobs.Proofs[0] != (deneb.KZGProof{1}):
						t.Errorf("%v, want the right proofs", err)
					}
				}
				if n := h.deliveries(); right != (n == 1) {
					t.Errorf("%d deliveries are listed", n)
				}
			})
		})
	}
}
