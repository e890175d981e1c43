package check

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/attestantio/go-eth2-client/spec/bellatrix"
	"github.com/attestantio/go-eth2-client/spec/capella"
	"github.com/attestantio/go-eth2-client/spec/deneb"
	"github.com/attestantio/go-eth2-client/spec/phase0"
	utilcapella "github.com/attestantio/go-eth2-client/util/capella"
	"github.com/holiman/uint256"

	builderv1 "github.com/attestantio/go-builder-client/api/v1"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/bls"
	"github.com/gavel-relay/gavel/internal/eth/payload"
	"github.com/gavel-relay/gavel/internal/golden"
	"github.com/gavel-relay/gavel/relay"
)

var builderKey = bls.Derive("builder", 0)

// goodCase is a submission in a fork that keeps every rule.
func goodCase(t *testing.T, fork eth.Fork) *Case {
	t.Helper()
	spec := &eth.Spec{
		GenesisTime: time.Unix(1_700_000_000, 0), SlotDuration: 12 * time.Second, SlotsPerEpoch: 32,
		GenesisForkVersion: phase0.Version{0x20, 0, 0, 0x89},
		Forks:              []eth.ForkPoint{{Fork: fork, Epoch: 0, Version: phase0.Version{0x26, 0, 0, 0x89}}},
	}
	feeRecipient, proposer := bellatrix.ExecutionAddress{0xfe}, bls.Derive("validator", 3).PublicKey()
	c := &Case{
		Spec: spec, HeadSlot: 9,
		Duty: &relay.RegisteredDuty{
			Duty: relay.Duty{Slot: 10, Index: 3, Proposer: proposer},
			Registration: &relay.SignedRegistration{Message: &builderv1.ValidatorRegistration{FeeRecipient: feeRecipient,
				GasLimit: 60_000_000}},
		},
		Attributes: &relay.Attributes{Slot: 10, ParentHash: phase0.Hash32{1}, ParentNumber: 41, PrevRandao: [32]byte{5}},
		Submission: &relay.Submission{
			Fork: fork,
			Trace: &relay.BidTrace{
				Slot: 10, ParentHash: phase0.Hash32{1}, BlockHash: phase0.Hash32{2}, BuilderPubkey: builderKey.PublicKey(),
				ProposerPubkey: proposer, ProposerFeeRecipient: feeRecipient, GasLimit: 60_000_000, GasUsed: 21_000,
				Value: uint256.NewInt(9),
			},
			Payload: &payload.Payload{
				ParentHash: phase0.Hash32{1}, BlockHash: phase0.Hash32{2}, BlockNumber: 42, PrevRandao: [32]byte{5},
				GasLimit: 60_000_000, GasUsed: 21_000,
				Timestamp: 1_700_000_120, BaseFeePerGas: uint256.NewInt(7),
			},
		},
	}
	if fork.HasAccessLists() {
		c.Submission.Gloas, c.Attributes.ParentNumber = &payload.Gloas{AccessList: []byte{0xc0}, Slot: 10}, 0
	}
	if fork.HasWithdrawals() {
		c.Attributes.Withdrawals, c.Submission.Payload.Withdrawals = withdrawals(), withdrawals()
	}
	if fork.HasBlobs() {
		c.Submission.Blobs = bundle(fork, 1)
	}
	sign(t, c, builderKey)
	return c
}

func withdrawals() []*capella.Withdrawal {
	return []*capella.Withdrawal{{Index: 1, ValidatorIndex: 7, Amount: 3}, {Index: 2, ValidatorIndex: 8, Amount: 4}}
}

// bundle has so many blobs, with as many proofs as the fork wants.
func bundle(fork eth.Fork, blobs int) *payload.Blobs {
	return &payload.Blobs{
		Commitments: make([]deneb.KZGCommitment, blobs), Proofs: make([]deneb.KZGProof, blobs*fork.ProofsPerBlob()),
		Blobs: make([]deneb.Blob, blobs),
	}
}

// goodHeader is a good bid whose payload follows.
func goodHeader(t *testing.T, fork eth.Fork) *Case {
	t.Helper()
	c := goodCase(t, fork)
	s := c.Submission
	root, err := (&utilcapella.ExecutionPayloadWithdrawals{Withdrawals: c.Attributes.Withdrawals}).HashTreeRoot()
	if err != nil {
		t.Fatal(err)
	}
	c.Header = &relay.HeaderSubmission{
		Fork: fork, Trace: s.Trace, Signature: s.Signature,
		Header: &payload.Header{
			ParentHash: s.Payload.ParentHash, BlockHash: s.Payload.BlockHash, BlockNumber: s.Payload.BlockNumber,
			PrevRandao: s.Payload.PrevRandao, GasLimit: s.Payload.GasLimit, GasUsed: s.Payload.GasUsed,
			Timestamp: s.Payload.Timestamp, WithdrawalsRoot: root,
		},
	}
	if s.Blobs != nil {
		c.Header.Commitments = s.Blobs.Commitments
	}
	c.Submission = SubmissionOfHeader(c.Header)
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

// spoiled is a way to break one rule, and the refusal that must answer. The submission is signed
// anew afterwards, unless the signature is what is wrong.
type spoiled struct {
	what  string
	from  eth.Fork // the first fork that has what is spoiled; 0 is all
	spoil func(*Case)
	want  relay.Refusal
}

var spoiledMessages = []spoiled{
	{"slot is the head's", 0, func(c *Case) { c.HeadSlot = 10 }, relay.SubmissionPastSlot},
	{"slot is before the head's", 0, func(c *Case) { c.HeadSlot = 11 }, relay.SubmissionPastSlot},
	{"slot was missed", 0, func(c *Case) { c.NowSlot = 11 }, relay.SubmissionPastSlot},
	{"builder is blocked", 0, func(c *Case) { c.Builder.Blocked = true }, relay.SubmissionBlocked},
	{"payload of the slot was delivered", 0, func(c *Case) { c.Delivered = true }, relay.SubmissionDelivered},
	{"no duty", 0, func(c *Case) { c.Duty = nil }, relay.SubmissionNoDuty},
	{"proposer not registered", 0, func(c *Case) { c.Duty.Registration = nil }, relay.SubmissionNoDuty},
	{"other proposer", 0, func(c *Case) { c.Submission.Trace.ProposerPubkey[0] ^= 1 }, relay.SubmissionWrongProposer},
	{"other fee recipient", 0, func(c *Case) {
		c.Submission.Trace.ProposerFeeRecipient[19] = 1
	}, relay.SubmissionFeeRecipient},
	{"attributes unknown", 0, func(c *Case) { c.Attributes = nil }, relay.SubmissionNoAttributes},
}

var spoiledHeaders = []spoiled{
	{"timestamp + 1", 0, func(c *Case) { c.Submission.Payload.Timestamp++ }, relay.SubmissionTimestamp},
	{"timestamp - 1", 0, func(c *Case) { c.Submission.Payload.Timestamp-- }, relay.SubmissionTimestamp},
	{"block hashes differ", 0, func(c *Case) { c.Submission.Trace.BlockHash[31] ^= 1 }, relay.SubmissionBlockHash},
	{"parent hashes differ", 0, func(c *Case) { c.Submission.Trace.ParentHash[31] ^= 1 }, relay.SubmissionParentHash},
	{"gas limits differ", 0, func(c *Case) { c.Submission.Trace.GasLimit++ }, relay.SubmissionTraceGasLimit},
	{"gas used differs", 0, func(c *Case) { c.Submission.Trace.GasUsed++ }, relay.SubmissionTraceGasUsed},
	{"other number", 0, func(c *Case) { c.Submission.Payload.BlockNumber++ }, relay.SubmissionBlockNumber},
	{"other randao", 0, func(c *Case) { c.Submission.Payload.PrevRandao[0] ^= 1 }, relay.SubmissionPrevRandao},
}

// spoiledBodies are for bids that come with their payload, spoiledRoots for those whose payload
// follows.
var (
	spoiledBodies = []spoiled{
		{"a withdrawal is missing", eth.Capella, func(c *Case) {
			c.Submission.Payload.Withdrawals = c.Submission.Payload.Withdrawals[:1]
		}, relay.SubmissionWithdrawals},
		{"two withdrawals are swapped", eth.Capella, func(c *Case) {
			w := c.Submission.Payload.Withdrawals
			w[0], w[1] = w[1], w[0]
		}, relay.SubmissionWithdrawals},
		{"an amount is 1 more", eth.Capella, func(c *Case) {
			c.Submission.Payload.Withdrawals[1].Amount++
		}, relay.SubmissionWithdrawals},
		{"a commitment is missing", eth.Deneb, func(c *Case) {
			c.Submission.Blobs.Commitments = nil
		}, relay.SubmissionBlobCounts},
		{"a proof is missing", eth.Deneb, func(c *Case) {
			c.Submission.Blobs.Proofs = c.Submission.Blobs.Proofs[1:]
		}, relay.SubmissionBlobCounts},
		{"a blob is missing", eth.Deneb, func(c *Case) { c.Submission.Blobs.Blobs = nil }, relay.SubmissionBlobCounts},
		{"one blob too many", eth.Deneb, func(c *Case) {
			c.Submission.Blobs = bundle(c.Submission.Fork, mostBlobs[c.Submission.Fork]+1)
		}, relay.SubmissionBlobLimit},
	}
	spoiledRoots = []spoiled{
		{"another root of withdrawals", eth.Capella, func(c *Case) {
			c.Header.Header.WithdrawalsRoot[0] ^= 1
		}, relay.SubmissionWithdrawals},
		{"one commitment too many", eth.Deneb, func(c *Case) {
			c.Header.Commitments = make([]deneb.KZGCommitment, mostBlobs[c.Header.Fork]+1)
		}, relay.SubmissionBlobLimit},
	}
)

// mostBlobs is how many blobs a block may have (EIP-4844, EIP-7691).
var mostBlobs = map[eth.Fork]int{eth.Deneb: 6, eth.Electra: 9, eth.Fulu: 9, eth.Gloas: 9}

// spoiledNumbers are ways to spoil what payloads have from gloas on.
var spoiledNumbers = []spoiled{
	{"the slot's number is another", eth.Gloas, func(c *Case) { c.Submission.Gloas.Slot++ }, relay.SubmissionSlotNumber},
}

// wrongSignatures are not signed anew.
var wrongSignatures = []spoiled{
	{"the value is a wei more than was signed", 0, func(c *Case) {
		c.Submission.Trace.Value = uint256.NewInt(10)
	}, relay.SubmissionSignature},
	{"the key is the point at infinity", 0, func(c *Case) {
		c.Submission.Trace.BuilderPubkey, c.Submission.Signature = phase0.BLSPubKey{0xc0}, phase0.BLSSignature{0xc0}
	}, relay.SubmissionBuilderKey},
	{"the signature is the point at infinity", 0, func(c *Case) {
		c.Submission.Signature = phase0.BLSSignature{0xc0}
	}, relay.SubmissionBuilderKey},
	{"the key is no point", 0, func(c *Case) {
		c.Submission.Trace.BuilderPubkey = phase0.BLSPubKey(bytes.Repeat([]byte{0xff}, 48))
	}, relay.SubmissionBuilderKey},
	{"the key lacks its compression bit", 0, func(c *Case) {
		c.Submission.Trace.BuilderPubkey[0] &= 0x7f
	}, relay.SubmissionBuilderKey},
	{"the signature is no point", 0, func(c *Case) {
		c.Submission.Signature = phase0.BLSSignature(bytes.Repeat([]byte{0xff}, 96))
	}, relay.SubmissionBuilderKey},
}

func TestGoodSubmissionPasses(t *testing.T) {
	for _, fork := range eth.KnownForks() {
		if refused := Run(goodCase(t, fork)); refused != nil {
			t.Errorf("%s: %v", fork, refused)
		}
		if !fork.HasBlindedBlocks() {
			continue
		}
		if refused := Run(goodHeader(t, fork)); refused != nil {
			t.Errorf("%s, the payload follows: %v", fork, refused)
		}
	}
}

// Each spoiled submission is refused by the rule that it breaks, in each fork that has what is
// spoiled, and each refusal of the table is seen.
func TestSpoiledSubmissions(t *testing.T) {
	seen := map[Bid][]string{}
	for _, bid := range []struct {
		name string
		kind Bid
		good func(*testing.T, eth.Fork) *Case
		ways []spoiled
	}{
		{"whole", Whole, goodCase, slices.Concat(spoiledMessages, spoiledHeaders, spoiledBodies,
			spoiledNumbers)},
		{"its payload follows", HeaderOnly, goodHeader, slices.Concat(spoiledMessages, spoiledHeaders, spoiledRoots)},
	} {
		for _, fork := range eth.KnownForks() {
			if !fork.HasBlindedBlocks() && bid.kind == HeaderOnly {
				continue
			}
			for _, way := range bid.ways {
				if fork < way.from || fork.HasAccessLists() && way.want.ID == relay.SubmissionBlockNumber.ID {
					continue // the number of the parent is not announced from gloas on
				}
				t.Run(bid.name+", "+fork.String()+": "+way.what, func(t *testing.T) {
					c := bid.good(t, fork)
					way.spoil(c)
					sign(t, c, builderKey)
					wantRefusal(t, c, way.want)
				})
			}
		}
		for _, way := range wrongSignatures {
			t.Run(bid.name+", "+way.what, func(t *testing.T) {
				c := bid.good(t, eth.Fulu)
				way.spoil(c)
				wantRefusal(t, c, way.want)
			})
		}
		for _, way := range slices.Concat(bid.ways, wrongSignatures) {
			seen[bid.kind] = append(seen[bid.kind], way.want.ID)
		}
	}
	for _, rule := range Table {
		for bid, ids := range seen {
			for _, refusal := range rule.Refuses {
				if (rule.For == Both || rule.For == bid) && !slices.Contains(ids, refusal.ID) {
					t.Errorf("nothing is refused by %s of the rule %q", refusal.ID, rule.Name)
				}
			}
		}
	}
}

func TestSignaturesOfOthers(t *testing.T) {
	t.Run("other key", func(t *testing.T) {
		c := goodCase(t, eth.Fulu)
		sign(t, c, bls.Derive("builder", 1))
		wantRefusal(t, c, relay.SubmissionSignature)
	})
	t.Run("other network's domain", func(t *testing.T) {
		c := goodCase(t, eth.Fulu)
		ours := c.Spec.GenesisForkVersion
		c.Spec.GenesisForkVersion = phase0.Version{}
		sign(t, c, builderKey)
		c.Spec.GenesisForkVersion = ours
		wantRefusal(t, c, relay.SubmissionSignature)
	})
}

// The number of proofs is the fork's.
func TestProofsOfAnotherFork(t *testing.T) {
	for fork, other := range map[eth.Fork]eth.Fork{eth.Electra: eth.Fulu, eth.Fulu: eth.Electra} {
		c := goodCase(t, fork)
		c.Submission.Blobs = bundle(other, 1)
		wantRefusal(t, c, relay.SubmissionBlobCounts)
	}
}

// wantRefusal wants a refusal, which the table must name for a rule of such bids.
func wantRefusal(t *testing.T, c *Case, want relay.Refusal) {
	t.Helper()
	refused := Run(c)
	if refused == nil {
		t.Fatalf("passes, want %s", want.ID)
	}
	if refused.ID != want.ID {
		t.Errorf("%s (%v), want %s", refused.ID, refused, want.ID)
	}
	if !slices.ContainsFunc(Table, func(rule Check) bool {
		return slices.ContainsFunc(rule.Refuses, func(r relay.Refusal) bool { return r.ID == refused.ID })
	}) {
		t.Errorf("the table does not have %s", refused.ID)
	}
}

// A rule looks at no more of a submission than the table says: without the rest it passes.
func TestRulesNeedNoMoreThanTheySay(t *testing.T) {
	without := map[Part]func(*relay.Submission){
		Message: func(s *relay.Submission) { s.Payload, s.Blobs = nil, nil },
		Header: func(s *relay.Submission) {
			s.Payload.Transactions, s.Payload.Withdrawals, s.Blobs = nil, nil, nil
		},
		Block: func(s *relay.Submission) { s.Blobs = nil },
		Sidecars: func(s *relay.Submission) {
			s.Signature = phase0.BLSSignature{}
		},
	}
	for part, drop := range without {
		whole, header := goodCase(t, eth.Fulu), goodHeader(t, eth.Fulu)
		drop(whole.Submission)
		drop(header.Submission)
		for _, c := range []*Case{whole, header} {
			if refused := UpTo(part, c); refused != nil {
				t.Errorf("up to part %d: %v", part, refused)
			}
		}
	}
}

// Only rules of later parts may find what is spoiled in later parts, and the first broken rule of
// the table answers.
func TestRulesRunInTheOrderOfTheTable(t *testing.T) {
	c := goodCase(t, eth.Fulu)
	c.Submission.Payload.Timestamp++ // header
	c.Attributes = nil               // message, but later in the table
	c.Submission.Blobs = nil         // sidecars: the rule would panic
	for part, want := range map[Part]relay.Refusal{
		Message: relay.SubmissionNoAttributes, Header: relay.SubmissionTimestamp, Signed: relay.SubmissionTimestamp,
	} {
		if refused := UpTo(part, c); refused == nil || refused.ID != want.ID {
			t.Errorf("up to part %d: %v, want %s", part, refused, want.ID)
		}
	}
}

func TestChecksDocs(t *testing.T) {
	var b strings.Builder
	b.WriteString("| rule | of | looks at | refusals | clauses |\n|---|---|---|---|---|\n")
	parts := map[Part]string{Message: "message", Header: "header", Block: "block", Sidecars: "blobs", Signed: "signature"}
	bids := map[Bid]string{Both: "all bids", Whole: "bids with their payload", HeaderOnly: "header submissions"}
	for _, rule := range Table {
		var refusals, clauses []string
		for _, r := range rule.Refuses {
			refusals = append(refusals, "`"+r.ID+"`")
			if r.Clauses != "" && !slices.Contains(clauses, r.Clauses) {
				clauses = append(clauses, r.Clauses)
			}
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", rule.Name, bids[rule.For], parts[rule.Needs],
			strings.Join(refusals, ", "), strings.Join(clauses, ", "))
	}
	golden.Section(t, "../../docs/relay.md", "checks", b.String())
}

// What was found of a signature ahead counts for that very signature alone.
func TestSignatureThatWasVerifiedAhead(t *testing.T) {
	good := goodCase(t, eth.Fulu)
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
		c := goodCase(t, eth.Fulu)
		ahead := same
		row.spoil(&ahead, c.Submission)
		c.Verified = &ahead
		if refused := Signature(c); (refused != nil) != row.refused {
			t.Errorf("%s: %v", name, refused)
		}
	}
}
