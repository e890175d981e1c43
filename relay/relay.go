package relay

import (
	"time"

	builderv1 "github.com/attestantio/go-builder-client/api/v1"
	"github.com/attestantio/go-eth2-client/spec/bellatrix"
	"github.com/attestantio/go-eth2-client/spec/capella"
	"github.com/attestantio/go-eth2-client/spec/deneb"
	"github.com/attestantio/go-eth2-client/spec/electra"
	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/payload"
)

// Key names one auction. A bid for another key is never served in it (decision 1).
type Key struct {
	Slot       phase0.Slot
	ParentHash phase0.Hash32
	Proposer   phase0.BLSPubKey
}

// BidTrace is what a builder signs (relay-specs, BidTrace).
type BidTrace = builderv1.BidTrace

// SignedRegistration is a proposer's signed preferences (builder-specs,
// SignedValidatorRegistrationV1).
type SignedRegistration = builderv1.SignedValidatorRegistration

// Submission is one block that a builder sent, in any fork and from any encoding. It is immutable
// once decoded.
type Submission struct {
	Fork      eth.Fork
	Trace     *BidTrace
	Payload   *payload.Payload
	Blobs     *payload.Blobs             // nil before deneb
	Requests  *electra.ExecutionRequests // nil before electra
	Gloas     *payload.Gloas             // what gloas adds to payload and requests; nil before gloas
	Signature phase0.BLSSignature
	// Raw is the SubmitBlockRequest in SSZ that the submission was read from; nil if it came in
	// another encoding. Blobs may be slices of it. It must not be changed.
	Raw []byte
	// ReceivedAt is when the body had been read completely.
	ReceivedAt time.Time
	// Cancellable is the builder's ?cancellations=1: this bid replaces its earlier ones, even if its
	// value is lower.
	Cancellable bool
	// Sequence is the builder's own number of the submission (x-sequence); 0 if the builder gave none.
	Sequence uint64
	// Identified: an API key has shown whose submission it is, so that the signature may be verified
	// later.
	Identified bool
	// Stages are those of the request that are over.
	Stages StagesUs
	// From is the network that it came from, in the form in which allowances are counted; empty if it
	// is not known.
	From string
}

// HeaderSubmission is a bid whose payload follows: only builders that the operator trusts may send
// one. It is immutable once decoded.
type HeaderSubmission struct {
	Fork        eth.Fork
	Trace       *BidTrace
	Header      *payload.Header
	Commitments []deneb.KZGCommitment      // nil before deneb
	Requests    *electra.ExecutionRequests // nil before electra
	Signature   phase0.BLSSignature
	// ReceivedAt, Cancellable and Sequence as in Submission.
	ReceivedAt  time.Time
	Cancellable bool
	Sequence    uint64
}

// Key is the auction that the submission bids in.
func (s *Submission) Key() Key {
	return Key{Slot: phase0.Slot(s.Trace.Slot), ParentHash: s.Trace.ParentHash, Proposer: s.Trace.ProposerPubkey}
}

// Bid is the part of a submission that the auction compares.
type Bid struct {
	Builder    phase0.BLSPubKey
	BlockHash  phase0.Hash32
	ValueWei   *uint256.Int
	ReceivedAt time.Time
	// FeeRecipient is whom the block pays: whom the proposer had registered when the bid came.
	FeeRecipient FeeRecipient
	// Cancellable and Sequence as in Submission.
	Cancellable bool
	Sequence    uint64
}

// Bid is what the submission offers in its auction.
func (s *Submission) Bid() Bid {
	return Bid{
		Builder: s.Trace.BuilderPubkey, BlockHash: s.Trace.BlockHash, ValueWei: s.Trace.Value, ReceivedAt: s.ReceivedAt,
		FeeRecipient: s.Trace.ProposerFeeRecipient, Cancellable: s.Cancellable, Sequence: s.Sequence,
	}
}

// SignedBid is a top bid as it is served. The relay signs it once, when it begins to lead, and
// encodes it in both forms. Its byte slices must not be changed.
type SignedBid struct {
	Key       Key
	Fork      eth.Fork
	BlockHash phase0.Hash32
	Builder   phase0.BLSPubKey
	ValueWei  *uint256.Int
	// Trace is the bid in the form of facts. If it is of a header whose payload has not come, the
	// number of transactions is missing.
	Trace Trace
	// BlockNumber and FeeRecipient are the payload's. Its fee recipient is often the builder, which
	// pays the proposer by a transaction.
	BlockNumber  uint64
	FeeRecipient FeeRecipient

	SSZ  []byte // SignedBuilderBid
	JSON []byte // {"version":…,"data":…}

	// Signing is set if the bid began to lead while it was still being signed. It waits for the
	// signature (0.5 ms) and returns the bid with its encodings. It is nil if they are here.
	Signing func() (*SignedBid, error)
}

// Duty says who proposes in a slot.
type Duty struct {
	Slot  phase0.Slot
	Index phase0.ValidatorIndex
	// Proposer is the validator's public key.
	Proposer phase0.BLSPubKey
}

// RegisteredDuty is a duty of a proposer that has registered: one entry of the Builder API's
// validators.
type RegisteredDuty struct {
	Duty
	Registration *SignedRegistration
}

// Validator is a row of the beacon node's validator table that the relay needs.
type Validator struct {
	Index  phase0.ValidatorIndex
	Pubkey phase0.BLSPubKey
}

// Attributes are what a block for a slot on a parent must carry (the payload_attributes event).
type Attributes struct {
	Slot         phase0.Slot
	ParentHash   phase0.Hash32
	ParentNumber uint64
	// ParentRoot is the parent beacon block's root: from deneb on part of the execution block's hash.
	ParentRoot  phase0.Root
	Timestamp   uint64
	PrevRandao  [32]byte
	Withdrawals []*capella.Withdrawal // nil before capella
}

// Head is the head of the beacon chain.
type Head struct {
	Slot phase0.Slot
	Root phase0.Root
	// CurrentDependent and PreviousDependent are the roots that the duties of the next and the current
	// epoch depend on.
	CurrentDependent, PreviousDependent phase0.Root
}

// BlindedBlock is a proposer's signed blinded block of any fork: the fields that the relay
// compares, and in Contents the whole block, which package wire unblinds.
type BlindedBlock struct {
	Fork          eth.Fork
	Slot          phase0.Slot
	ProposerIndex phase0.ValidatorIndex
	Signature     phase0.BLSSignature
	Header        *payload.Header
	Commitments   []deneb.KZGCommitment      // nil before deneb
	Requests      *electra.ExecutionRequests // nil before electra
	// Root is the hash tree root of the blinded message; it equals the root of the unblinded one.
	Root phase0.Root
	// Contents is the decoded library type. Only package wire reads it.
	Contents any
}

// Contents is the part of a submission that the escrow keeps: all that a proposer needs after it
// has signed.
type Contents struct {
	Fork     eth.Fork
	Trace    *BidTrace
	Payload  *payload.Payload
	Blobs    *payload.Blobs
	Requests *electra.ExecutionRequests
	Gloas    *payload.Gloas
	// Raw as in Submission.
	Raw []byte
}

// FeeRecipient is an execution address.
type FeeRecipient = bellatrix.ExecutionAddress

// Contents returns the part of the submission that the escrow keeps.
func (s *Submission) Contents() *Contents {
	return &Contents{
		Fork: s.Fork, Trace: s.Trace, Payload: s.Payload, Blobs: s.Blobs, Requests: s.Requests, Gloas: s.Gloas, Raw: s.Raw,
	}
}
