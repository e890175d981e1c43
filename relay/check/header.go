package check

import (
	"github.com/attestantio/go-eth2-client/spec/phase0"
	utilcapella "github.com/attestantio/go-eth2-client/util/capella"

	"github.com/gavel-relay/gavel/internal/eth/payload"
	"github.com/gavel-relay/gavel/relay"
)

// SubmissionOfHeader makes a submission of all that a header says of its payload, so that most
// rules apply to both.
func SubmissionOfHeader(h *relay.HeaderSubmission) *relay.Submission {
	return &relay.Submission{
		Fork: h.Fork, Trace: h.Trace, Requests: h.Requests, Signature: h.Signature, ReceivedAt: h.ReceivedAt,
		Cancellable: h.Cancellable,
		Sequence:    h.Sequence, Identified: true,
		Payload: &payload.Payload{
			ParentHash: h.Header.ParentHash, FeeRecipient: h.Header.FeeRecipient, PrevRandao: h.Header.PrevRandao,
			BlockNumber: h.Header.BlockNumber, GasLimit: h.Header.GasLimit, GasUsed: h.Header.GasUsed,
			Timestamp: h.Header.Timestamp,
			BlockHash: h.Header.BlockHash,
		},
		Blobs: &payload.Blobs{Commitments: h.Commitments},
	}
}

// HeaderWithdrawals requires the root of the announced withdrawals (REL-SUB-15).
func HeaderWithdrawals(c *Case) *relay.Refused {
	if !c.Submission.Fork.HasWithdrawals() {
		return nil
	}
	want, err := (&utilcapella.ExecutionPayloadWithdrawals{Withdrawals: c.Attributes.Withdrawals}).HashTreeRoot()
	if err != nil {
		return relay.Internal.Plain()
	}
	if got := c.Header.Header.WithdrawalsRoot; got != want {
		return relay.SubmissionWithdrawals.With("got root %#x, expected %#x", got[:], want[:])
	}
	return nil
}

// HeaderBlobs refuses more blobs than the slot's epoch allows.
func HeaderBlobs(c *Case) *relay.Refused {
	blobs := len(c.Header.Commitments)
	if limit := c.Spec.MaxBlobs(phase0.Slot(c.Header.Trace.Slot)); uint64(blobs) > limit {
		return relay.SubmissionBlobLimit.With("%d blobs, at most %d", blobs, limit)
	}
	return nil
}
