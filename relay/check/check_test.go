package check

import (
	"slices"
	"testing"
	"time"

	"github.com/attestantio/go-eth2-client/spec/bellatrix"
	"github.com/attestantio/go-eth2-client/spec/capella"
	"github.com/attestantio/go-eth2-client/spec/deneb"
	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/holiman/uint256"

	builderv1 "github.com/attestantio/go-builder-client/api/v1"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/bls"
	"github.com/gavel-relay/gavel/internal/eth/payload"
	"github.com/gavel-relay/gavel/relay"
)

var builderKey = bls.Derive("builder", 0)

// goodCase is a submission in fulu that keeps every rule.
func goodCase(t *testing.T) *Case {
	t.Helper()
	spec := &eth.Spec{
		GenesisTime: time.Unix(1_700_000_000, 0), SlotDuration: 12 * time.Second, SlotsPerEpoch: 32,
		GenesisForkVersion: phase0.Version{0x20, 0, 0, 0x89},
		Forks:              []eth.ForkPoint{{Fork: eth.Fulu, Epoch: 0, Version: phase0.Version{0x26, 0, 0, 0x89}}},
	}
	withdrawals := func() []*capella.Withdrawal {
		return []*capella.Withdrawal{{Index: 1, ValidatorIndex: 7, Amount: 3}, {Index: 2, ValidatorIndex: 8, Amount: 4}}
	}
	feeRecipient, proposer := bellatrix.ExecutionAddress{0xfe}, bls.Derive("validator", 3).PublicKey()
	c := &Case{
		Spec: spec, HeadSlot: 9,
		Duty: &relay.RegisteredDuty{
			Duty: relay.Duty{Slot: 10, Index: 3, Proposer: proposer},
			Registration: &relay.SignedRegistration{Message: &builderv1.ValidatorRegistration{FeeRecipient: feeRecipient,
				GasLimit: 60_000_000}},
		},
		Attributes: &relay.Attributes{Slot: 10, ParentHash: phase0.Hash32{1}, ParentNumber: 41, PrevRandao: [32]byte{5},
			Withdrawals: withdrawals()},
		Submission: &relay.Submission{
			Fork: eth.Fulu,
			Trace: &relay.BidTrace{
				Slot: 10, ParentHash: phase0.Hash32{1}, BlockHash: phase0.Hash32{2}, BuilderPubkey: builderKey.PublicKey(),
				ProposerPubkey: proposer, ProposerFeeRecipient: feeRecipient, GasLimit: 60_000_000, GasUsed: 21_000,
				Value: uint256.NewInt(9),
			},
			Payload: &payload.Payload{
				ParentHash: phase0.Hash32{1}, BlockHash: phase0.Hash32{2}, BlockNumber: 42, PrevRandao: [32]byte{5},
				GasLimit: 60_000_000, GasUsed: 21_000,
				Timestamp: 1_700_000_120, BaseFeePerGas: uint256.NewInt(7), Withdrawals: withdrawals(),
			},
			Blobs: &payload.Blobs{
				Commitments: make([]deneb.KZGCommitment, 1), Proofs: make([]deneb.KZGProof, 128), Blobs: make([]deneb.Blob, 1),
			},
		},
	}
	sign(t, c, builderKey)
	return c
}

func sign(t *testing.T, c *Case, key *bls.SecretKey) {
	t.Helper()
	root, err := c.Submission.Trace.HashTreeRoot()
	if err != nil {
		t.Fatal(err)
	}
	c.Submission.Signature = key.Sign(eth.SigningRoot(root, c.Spec.BuilderDomain()))
}

func TestGoodSubmissionPasses(t *testing.T) {
	if refused := Run(goodCase(t)); refused != nil {
		t.Fatal(refused)
	}
}

// Each row breaks one rule of a good submission, signed anew by its builder, and names the refusal
// that must answer.
func TestRows(t *testing.T) {
	for _, row := range []struct {
		what string
		mend func(*Case)
		want relay.Refusal
	}{
		{"slot is the head's", func(c *Case) { c.HeadSlot = 10 }, relay.SubmissionPastSlot},
		{"slot is before the head's", func(c *Case) { c.HeadSlot = 11 }, relay.SubmissionPastSlot},
		{"slot was missed", func(c *Case) { c.NowSlot = 11 }, relay.SubmissionPastSlot},
		{"payload of the slot was delivered", func(c *Case) { c.Delivered = true }, relay.SubmissionDelivered},
		{"no duty", func(c *Case) { c.Duty = nil }, relay.SubmissionNoDuty},
		{"proposer not registered", func(c *Case) { c.Duty.Registration = nil }, relay.SubmissionNoDuty},
		{"other proposer", func(c *Case) { c.Submission.Trace.ProposerPubkey[0] ^= 1 }, relay.SubmissionWrongProposer},
		{"other fee recipient", func(c *Case) {
			c.Submission.Trace.ProposerFeeRecipient[19] = 1
		}, relay.SubmissionFeeRecipient},
		{"timestamp + 1", func(c *Case) { c.Submission.Payload.Timestamp++ }, relay.SubmissionTimestamp},
		{"timestamp - 1", func(c *Case) { c.Submission.Payload.Timestamp-- }, relay.SubmissionTimestamp},
		{"block hashes differ", func(c *Case) { c.Submission.Trace.BlockHash[31] ^= 1 }, relay.SubmissionBlockHash},
		{"parent hashes differ", func(c *Case) { c.Submission.Trace.ParentHash[31] ^= 1 }, relay.SubmissionParentHash},
		{"gas limits differ", func(c *Case) { c.Submission.Trace.GasLimit++ }, relay.SubmissionTraceGasLimit},
		{"gas used differs", func(c *Case) { c.Submission.Trace.GasUsed++ }, relay.SubmissionTraceGasUsed},
		{"attributes unknown", func(c *Case) { c.Attributes = nil }, relay.SubmissionNoAttributes},
		{"other number", func(c *Case) { c.Submission.Payload.BlockNumber++ }, relay.SubmissionBlockNumber},
		{"other randao", func(c *Case) { c.Submission.Payload.PrevRandao[0] ^= 1 }, relay.SubmissionPrevRandao},
		{"a withdrawal is missing", func(c *Case) {
			c.Submission.Payload.Withdrawals = c.Submission.Payload.Withdrawals[:1]
		}, relay.SubmissionWithdrawals},
		{"two withdrawals are swapped", func(c *Case) {
			w := c.Submission.Payload.Withdrawals
			w[0], w[1] = w[1], w[0]
		}, relay.SubmissionWithdrawals},
		{"an amount is 1 more", func(c *Case) { c.Submission.Payload.Withdrawals[1].Amount++ }, relay.SubmissionWithdrawals},
		{"a commitment is missing", func(c *Case) { c.Submission.Blobs.Commitments = nil }, relay.SubmissionBlobCounts},
		{"a proof is missing", func(c *Case) {
			c.Submission.Blobs.Proofs = c.Submission.Blobs.Proofs[:127]
		}, relay.SubmissionBlobCounts},
		{"a blob is missing", func(c *Case) { c.Submission.Blobs.Blobs = nil }, relay.SubmissionBlobCounts},
		{"one blob too many", func(c *Case) {
			*c.Submission.Blobs = payload.Blobs{
				Commitments: make([]deneb.KZGCommitment, 10), Proofs: make([]deneb.KZGProof, 1280), Blobs: make([]deneb.Blob, 10),
			}
		}, relay.SubmissionBlobLimit},
	} {
		t.Run(row.want.ID+" "+row.what, func(t *testing.T) {
			c := goodCase(t)
			row.mend(c)
			sign(t, c, builderKey)
			wantRefusal(t, c, row.want)
		})
	}
}

func TestSignatureRows(t *testing.T) {
	t.Run("REL-SUB-04 other key", func(t *testing.T) {
		c := goodCase(t)
		sign(t, c, bls.Derive("builder", 1))
		wantRefusal(t, c, relay.SubmissionSignature)
	})
	t.Run("REL-SUB-04 other network's domain", func(t *testing.T) {
		c := goodCase(t)
		ours := c.Spec.GenesisForkVersion
		c.Spec.GenesisForkVersion = phase0.Version{}
		sign(t, c, builderKey)
		c.Spec.GenesisForkVersion = ours
		wantRefusal(t, c, relay.SubmissionSignature)
	})
	t.Run("REL-SUB-04 value + 1 after signing", func(t *testing.T) {
		c := goodCase(t)
		c.Submission.Trace.Value = uint256.NewInt(10)
		wantRefusal(t, c, relay.SubmissionSignature)
	})
	t.Run("REL-SUB-04 key at infinity", func(t *testing.T) {
		c := goodCase(t)
		c.Submission.Trace.BuilderPubkey, c.Submission.Signature = phase0.BLSPubKey{0xc0}, phase0.BLSSignature{0xc0}
		wantRefusal(t, c, relay.SubmissionBuilderKey)
	})
	t.Run("REL-SUB-04 signature is no point", func(t *testing.T) {
		c := goodCase(t)
		c.Submission.Signature = phase0.BLSSignature{1}
		wantRefusal(t, c, relay.SubmissionBuilderKey)
	})
}

// What a fork does not have is not checked in it.
func TestForksWithoutWithdrawalsAndBlobs(t *testing.T) {
	c := goodCase(t)
	c.Spec.Forks[0].Fork, c.Submission.Fork = eth.Bellatrix, eth.Bellatrix
	c.Submission.Payload.Withdrawals, c.Submission.Blobs, c.Attributes.Withdrawals = nil, nil, nil
	if refused := Run(c); refused != nil {
		t.Error(refused)
	}
	c = goodCase(t)
	c.Spec.Forks[0].Fork, c.Submission.Fork = eth.Electra, eth.Electra
	wantRefusal(t, c, relay.SubmissionBlobCounts) // 128 proofs for one blob are fulu's way
}

func wantRefusal(t *testing.T, c *Case, want relay.Refusal) {
	t.Helper()
	refused := Run(c)
	if refused == nil {
		t.Fatalf("passes, want %s", want.ID)
	}
	if refused.ID != want.ID {
		t.Errorf("%s (%v), want %s", refused.ID, refused, want.ID)
	}
}

// What is checked before a submission is whole leaves out what is not known then, and nothing that
// costs little.
func TestRulesOfPartsOfASubmission(t *testing.T) {
	names := func(rules []Check) (list []string) {
		for _, rule := range rules {
			list = append(list, rule.Name)
		}
		return list
	}
	all := names(All)
	if left := all[len(OfBlock):]; !slices.Equal(left, []string{"blobs", "signature"}) {
		t.Errorf("without proofs and blobs, %v is not checked", left)
	}
	if left := all[len(BeforeSignature):]; !slices.Equal(left, []string{"signature"}) {
		t.Errorf("before the signature, %v is not checked", left)
	}
	message := goodCase(t)
	message.Submission.Payload, message.Submission.Blobs = nil, nil
	if refused := First(OfMessage, message); refused != nil {
		t.Error(refused)
	}
	block := goodCase(t)
	block.Submission.Blobs = &payload.Blobs{Commitments: block.Submission.Blobs.Commitments}
	if refused := First(OfBlock, block); refused != nil {
		t.Error(refused)
	}
}

// What was found of a signature ahead counts for that very signature alone.
func TestSignatureThatWasVerifiedAhead(t *testing.T) {
	good := goodCase(t)
	root, err := good.Submission.Trace.HashTreeRoot()
	if err != nil {
		t.Fatal(err)
	}
	same := Verified{
		Builder: good.Submission.Trace.BuilderPubkey, Root: eth.SigningRoot(root, good.Spec.BuilderDomain()),
		Signature: good.Submission.Signature,
	}
	for name, row := range map[string]struct {
		spoil   func(ahead *Verified, s *relay.Submission)
		refused bool
	}{
		"found right": {func(*Verified, *relay.Submission) {}, false},
		"found wrong": {func(a *Verified, _ *relay.Submission) {
			a.Err = bls.ErrMismatch
		}, true},
		"another's was found wrong": {func(a *Verified, _ *relay.Submission) {
			a.Err, a.Builder[0] = bls.ErrMismatch, 1
		}, false},
		"another message's was found wrong": {func(a *Verified, _ *relay.Submission) {
			a.Err, a.Root[0] = bls.ErrMismatch, 1
		}, false},
		"another signature was found wrong": {func(a *Verified, _ *relay.Submission) {
			a.Err, a.Signature[0] = bls.ErrMismatch, 1
		}, false},
		"another was found right, and this is not": {func(_ *Verified, s *relay.Submission) {
			s.Signature[5] ^= 1
		}, true},
	} {
		c := goodCase(t)
		ahead := same
		row.spoil(&ahead, c.Submission)
		c.Verified = &ahead
		if refused := Signature(c); (refused != nil) != row.refused {
			t.Errorf("%s: %v", name, refused)
		}
	}
}
