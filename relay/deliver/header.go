package deliver

import (
	"slices"

	"github.com/gavel-relay/gavel/internal/eth/payload"
	"github.com/gavel-relay/gavel/relay"
)

// checkHeader requires the block to have exactly what was served (REL-PAY-14): the header by its
// root, the blob commitments, and the execution requests. Otherwise no node would accept the block,
// and the proposer would learn the payload without proposing it.
func checkHeader(block *relay.BlindedBlock, contents *relay.Contents) *relay.Refused {
	if block.Fork != contents.Fork {
		return relay.PayloadHeaderMismatch.With("a %s block for a %s payload", block.Fork, contents.Fork)
	}
	served, err := payload.HeaderOf(contents.Fork, contents.Payload)
	if err != nil {
		return relay.Internal.Plain()
	}
	servedRoot, err := payload.HeaderRoot(contents.Fork, served)
	if err != nil {
		return relay.Internal.Plain()
	}
	if signedRoot, err := payload.HeaderRoot(block.Fork, block.Header); err != nil || signedRoot != servedRoot {
		return relay.PayloadHeaderMismatch.With("the header's root differs")
	}
	if contents.Fork.HasBlobs() && !slices.Equal(block.Commitments, contents.Blobs.Commitments) {
		return relay.PayloadHeaderMismatch.With("the blob commitments differ")
	}
	if contents.Fork.HasRequests() && !payload.SameRequests(block.Requests, contents.Requests) {
		return relay.PayloadHeaderMismatch.With("the execution requests differ")
	}
	return nil
}
