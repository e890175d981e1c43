package monitor

import (
	"errors"
	"fmt"
	"time"

	builderspec "github.com/attestantio/go-builder-client/spec"
	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/bls"
)

// HeaderRequest is a request for a header, with what the answer is compared with.
type HeaderRequest struct {
	Slot     phase0.Slot
	Parent   phase0.Hash32
	Proposer phase0.BLSPubKey
	// ParentGasLimit is the gas limit of the parent block; 0 is unknown, and the bid's gas limit is
	// not judged then.
	ParentGasLimit uint64
	// GasLimit is what the proposer registered; 0 is unknown, and any limit within one block's step
	// is right then.
	GasLimit uint64
}

// Answer is the relay's answer.
type Answer struct {
	Took time.Duration // wall time
	// Bid is nil for "no bid", and if Err is set.
	Bid *builderspec.VersionedSignedBuilderBid
	// Err is set unless the relay answered with a bid or "no bid". Refused says that the error is a
	// refusal, with a status below 500, which is no fault.
	Err     error
	Refused bool
}

// JudgeHeader returns the faults of one answer. relay is the relay's key; with the zero key any
// signer is right. patience is how long proposers wait (wall time).
func JudgeHeader(network *eth.Spec, relay phase0.BLSPubKey, asked HeaderRequest, answer Answer,
	patience time.Duration) []Finding {
	var found findings
	switch {
	case answer.Refused:
	case answer.Err != nil:
		found.add(Unavailable, "getHeader: %v", answer.Err)
	case answer.Took > patience:
		found.add(Slow, "getHeader took %dms, proposers wait %dms", answer.Took.Milliseconds(), patience.Milliseconds())
	}
	if answer.Bid != nil {
		found.judgeBid(network, relay, asked, answer.Bid)
	}
	return found.in(asked.Slot)
}

// findings collects faults; relay, slot and time are filled in later.
type findings []Finding

func (f *findings) add(class Class, format string, args ...any) {
	*f = append(*f, Finding{Class: class, Detail: fmt.Sprintf(format, args...)})
}

func (f findings) in(slot phase0.Slot) []Finding {
	for i := range f {
		f[i].Slot = slot
	}
	return f
}

func (f *findings) judgeBid(network *eth.Spec, relay phase0.BLSPubKey, asked HeaderRequest,
	v *builderspec.VersionedSignedBuilderBid) {
	bid, err := read(v)
	if err != nil {
		f.add(Signature, "the bid cannot be read: %v", err)
		return
	}
	switch {
	case relay != (phase0.BLSPubKey{}) && bid.signer != relay:
		f.add(Signature, "signed by %#x", bid.signer[:])
	case bls.Verify(bid.signer, eth.SigningRoot(bid.root, network.BuilderDomain()), bid.signature) != nil:
		f.add(Signature, "the signature does not verify")
	}
	if bid.parent != asked.Parent {
		f.add(ParentHash, "on %#x, asked on %#x", bid.parent[:], asked.Parent[:])
	}
	if want := network.Timestamp(asked.Slot); bid.timestamp != want {
		f.add(Timestamp, "%d, the slot's is %d", bid.timestamp, want)
	}
	if bid.valueWei.IsZero() {
		f.add(Value, "the header is worth nothing")
	}
	f.judgeGasLimit(asked, bid.gasLimit)
}

func (f *findings) judgeGasLimit(asked HeaderRequest, limit uint64) {
	switch {
	case asked.ParentGasLimit == 0:
	case asked.GasLimit != 0:
		if want := eth.ExpectedGasLimit(asked.ParentGasLimit, asked.GasLimit); limit != want {
			f.add(GasLimit, "%d, the proposer registered %d, which makes %d after %d", limit, asked.GasLimit, want,
				asked.ParentGasLimit)
		}
	case eth.ExpectedGasLimit(asked.ParentGasLimit, limit) != limit:
		f.add(GasLimit, "%d is too far from the parent's %d", limit, asked.ParentGasLimit)
	}
}

// header has the fields of a bid that are judged.
type header struct {
	signer              phase0.BLSPubKey
	root                phase0.Root
	signature           phase0.BLSSignature
	parent, hash        phase0.Hash32
	timestamp, gasLimit uint64
	valueWei            *uint256.Int
}

func read(v *builderspec.VersionedSignedBuilderBid) (h header, err error) {
	var problems []error
	keep := func(e error) { problems = append(problems, e) }
	var e error
	h.signer, e = v.Builder()
	keep(e)
	h.root, e = v.MessageHashTreeRoot()
	keep(e)
	h.signature, e = v.Signature()
	keep(e)
	h.parent, e = v.ParentHash()
	keep(e)
	h.hash, e = v.BlockHash()
	keep(e)
	h.timestamp, e = v.Timestamp()
	keep(e)
	h.valueWei, e = v.Value()
	keep(e)
	h.gasLimit, e = v.BlockGasLimit()
	keep(e)
	return h, errors.Join(problems...)
}
