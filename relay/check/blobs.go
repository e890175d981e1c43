package check

import (
	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/relay"
)

// Blobs requires a bundle whose lists fit together (REL-SUB-28) and no more blobs than the slot's
// epoch allows. Proofs are verified when the block is executed, since that costs a hundred times as
// much as all other rules.
func Blobs(c *Case) *relay.Refused {
	if !c.Submission.Fork.HasBlobs() {
		return nil
	}
	bundle := c.Submission.Blobs
	commitments, proofs, blobs := len(bundle.Commitments), len(bundle.Proofs), len(bundle.Blobs)
	wantProofs := blobs * c.Submission.Fork.ProofsPerBlob()
	if commitments != blobs || proofs != wantProofs {
		return relay.SubmissionBlobCounts.With("%d blobs, %d commitments, %d proofs (expected %d)", blobs, commitments,
			proofs, wantProofs)
	}
	if limit := c.Spec.MaxBlobs(phase0.Slot(c.Submission.Trace.Slot)); uint64(blobs) > limit {
		return relay.SubmissionBlobLimit.With("%d blobs, at most %d", blobs, limit)
	}
	return nil
}
