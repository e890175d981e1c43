package vectors

import (
	"bytes"
	"slices"

	"github.com/attestantio/go-eth2-client/spec/bellatrix"
	"github.com/attestantio/go-eth2-client/spec/deneb"
	"github.com/attestantio/go-eth2-client/spec/electra"
	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/conformance/probe"
	"github.com/gavel-relay/gavel/internal/eth"
)

// submissionRows are all submissions that can be decoded, in the order of the rules.
func submissionRows() []submissionRow {
	return slices.Concat(validRows(), messageRows(), payloadRows(), withdrawalRows(), blobRows(), signatureRows(),
		executionRows(), executedBlobRows())
}

// change is a change that needs no new block hash and cannot fail.
func change(do func(*draft)) func(*draft) error {
	return func(d *draft) error { do(d); return nil }
}

// rebuildAfter is a change of the payload, after which the block hash is made right again.
func rebuildAfter(do func(*draft)) func(*draft) error {
	return func(d *draft) error { do(d); return d.rehash() }
}

func validRows() []submissionRow {
	return []submissionRow{
		{name: "valid", says: "Two transfers and the payment.", expect: accepted("REL-SUB-01", "REL-SUB-02")},
		{name: "valid-blobs", says: "Two blobs with their commitments and proofs.", from: eth.Deneb, blobs: 2,
			expect: accepted("REL-SUB-01", "REL-SUB-02")},
		{name: "valid-now", says: "The slot runs already, and has no block yet.",
			spoil: change(func(d *draft) { d.known.NowSlot = roundSlot }), expect: accepted("REL-SUB-01")},
		{name: "valid-modest", says: "The block pays a wei more than the message says.", spoil: change(func(d *draft) {
			d.Message.Value.SubUint64(d.Message.Value, 1)
		}), expect: accepted("REL-SUB-01")},
	}
}

func messageRows() []submissionRow {
	past, duty := refused(stageCheck, "submission-past-slot", "REL-SUB-11"),
		refused(stageCheck, "submission-no-duty", "REL-SUB-12")
	return []submissionRow{
		{name: "slot-of-head", says: "The chain's head is of this slot.",
			spoil: change(func(d *draft) { d.known.HeadSlot = roundSlot; d.known.NowSlot = roundSlot }), expect: past},
		{name: "slot-before-head", says: "The chain's head is of a later slot.", spoil: change(func(d *draft) {
			d.known.HeadSlot = roundSlot + 1
			d.known.NowSlot = roundSlot + 1
		}), expect: past},
		{name: "slot-missed", says: "The slot is over by the clock, without a block.",
			spoil: change(func(d *draft) { d.known.NowSlot = roundSlot + 1 }), expect: past},
		{name: "builder-blocked", says: "The operator takes no submissions of this builder.",
			spoil: change(func(d *draft) { d.known.BuilderBlocked = true }), expect: refused(stageCheck, "submission-blocked")},
		{name: "slot-delivered", says: "A payload of this slot was revealed already.",
			spoil:  change(func(d *draft) { d.known.Delivered = true }),
			expect: refused(stageCheck, "submission-delivered", "REL-PAY-16")},
		{name: "duty-unknown", says: "Nobody is known to propose in the slot.",
			spoil: change(func(d *draft) { d.known.Duty = nil }), expect: duty},
		{name: "proposer-not-registered", says: "The slot's proposer has not registered.",
			spoil: change(func(d *draft) { d.known.Duty.Registration = nil }), expect: duty},
		{name: "proposer-other", says: "proposer_pubkey is a validator that does not propose in the slot.",
			spoil:  change(func(d *draft) { d.Message.ProposerPubkey = blsKey(d.seed, "other proposer").Public }),
			expect: refused(stageCheck, "submission-wrong-proposer", "REL-SUB-10")},
		{name: "fee-recipient-other", says: "proposer_fee_recipient is not the registered one, in its last bit.",
			spoil:  change(func(d *draft) { d.Message.ProposerFeeRecipient[19] ^= 1 }),
			expect: refused(stageCheck, "submission-fee-recipient", "REL-SUB-09")},
		{name: "attributes-unknown", says: "The beacon node has announced no payload attributes for this slot and parent.",
			spoil:  change(func(d *draft) { d.known.Attributes = nil }),
			expect: refused(stageCheck, "submission-no-attributes", "REL-SUB-30")},
	}
}

// payloadRows have a message and a payload that differ, or a payload that is not of the slot.
func payloadRows() []submissionRow {
	timestamp := refused(stageCheck, "submission-timestamp", "REL-SUB-13")
	return []submissionRow{
		{name: "timestamp-late", says: "timestamp is a second after the slot's start.",
			spoil: rebuildAfter(func(d *draft) { d.ExecutionPayload.Timestamp++ }), expect: timestamp},
		{name: "timestamp-early", says: "timestamp is a second before the slot's start.",
			spoil: rebuildAfter(func(d *draft) { d.ExecutionPayload.Timestamp-- }), expect: timestamp},
		{name: "block-hash-differs", says: "block_hash of message and payload differ in a bit.",
			spoil:  change(func(d *draft) { d.Message.BlockHash[31] ^= 1 }),
			expect: refused(stageCheck, "submission-block-hash", "REL-SUB-05")},
		{name: "parent-hash-differs", says: "parent_hash of message and payload differ in a bit.",
			spoil:  change(func(d *draft) { d.Message.ParentHash[31] ^= 1 }),
			expect: refused(stageCheck, "submission-parent-hash", "REL-SUB-06")},
		{name: "gas-limit-differs", says: "gas_limit of the message is one more than that of the payload.",
			spoil:  change(func(d *draft) { d.Message.GasLimit++ }),
			expect: refused(stageCheck, "submission-trace-gas-limit", "REL-SUB-07")},
		{name: "gas-used-differs", says: "gas_used of the message is one more than that of the payload.",
			spoil:  change(func(d *draft) { d.Message.GasUsed++ }),
			expect: refused(stageCheck, "submission-trace-gas-used", "REL-SUB-08")},
		{name: "block-number-other", says: "block_number is two more than the parent's.",
			spoil:  rebuildAfter(func(d *draft) { d.ExecutionPayload.BlockNumber++ }),
			expect: refused(stageCheck, "submission-block-number")},
		{name: "prev-randao-other", says: "prev_randao is not that of the payload attributes, in one bit.",
			spoil:  rebuildAfter(func(d *draft) { d.ExecutionPayload.PrevRandao[0] ^= 1 }),
			expect: refused(stageCheck, "submission-prev-randao", "REL-SUB-14")},
	}
}

func withdrawalRows() []submissionRow {
	want := refused(stageCheck, "submission-withdrawals", "REL-SUB-15")
	return []submissionRow{
		{name: "withdrawal-missing", says: "The second of two withdrawals is missing.", from: eth.Capella,
			spoil: rebuildAfter(func(d *draft) {
				d.ExecutionPayload.Withdrawals = d.ExecutionPayload.Withdrawals[:1]
			}), expect: want},
		{name: "withdrawals-swapped", says: "The two withdrawals are in the wrong order.", from: eth.Capella,
			spoil: rebuildAfter(func(d *draft) { slices.Reverse(d.ExecutionPayload.Withdrawals) }), expect: want},
		{name: "withdrawal-amount", says: "A withdrawal is a gwei more than announced.", from: eth.Capella,
			spoil: rebuildAfter(func(d *draft) { d.ExecutionPayload.Withdrawals[1].Amount++ }), expect: want},
		{name: "withdrawal-address", says: "A withdrawal goes to another address.", from: eth.Capella,
			spoil: rebuildAfter(func(d *draft) { d.ExecutionPayload.Withdrawals[0].Address[0] ^= 1 }), expect: want},
	}
}

func blobRows() []submissionRow {
	counts := refused(stageCheck, "submission-blob-counts", "REL-SUB-28")
	return []submissionRow{
		{name: "commitment-missing", says: "Two blobs, one commitment.", from: eth.Deneb, blobs: 2,
			spoil: change(func(d *draft) { d.BlobsBundle.Commitments = d.BlobsBundle.Commitments[:1] }), expect: counts},
		{name: "proof-missing", says: "The last proof is missing.", from: eth.Deneb, blobs: 1,
			spoil:  change(func(d *draft) { d.BlobsBundle.Proofs = d.BlobsBundle.Proofs[:len(d.BlobsBundle.Proofs)-1] }),
			expect: counts},
		{name: "proof-too-many", says: "There is a proof more than the blobs need.", from: eth.Deneb, blobs: 1,
			spoil:  change(func(d *draft) { d.BlobsBundle.Proofs = append(d.BlobsBundle.Proofs, d.BlobsBundle.Proofs[0]) }),
			expect: counts},
		{name: "blob-missing", says: "One commitment and its proofs, but no blob.", from: eth.Deneb, blobs: 1,
			spoil: change(func(d *draft) { d.BlobsBundle.Blobs = []deneb.Blob{} }), expect: counts},
		{name: "blobs-too-many", says: "One blob more than the fork allows; each has its commitment and proofs.",
			from: eth.Deneb, blobs: 1, spoil: change(func(d *draft) {
				b, proofs := d.BlobsBundle, len(d.BlobsBundle.Proofs)
				for range mostBlobs[d.fork] {
					b.Commitments, b.Blobs = append(b.Commitments, b.Commitments[0]), append(b.Blobs, b.Blobs[0])
					b.Proofs = append(b.Proofs, b.Proofs[:proofs]...)
				}
			}), expect: refused(stageCheck, "submission-blob-limit")},
	}
}

func signatureRows() []submissionRow {
	wrong := refused(stageCheck, "submission-signature", "REL-SUB-04")
	key := refused(stageCheck, "submission-builder-key", "REL-SUB-04")
	return []submissionRow{
		{name: "signature-other-key", says: "Another key signed.",
			spoil: change(func(d *draft) { d.signer = blsKey(d.seed, "other builder") }), expect: wrong},
		{name: "signature-other-network", says: "It was signed for a network with another genesis version.",
			spoil: change(func(d *draft) {
				d.domain = probe.Domain(probe.DomainBuilder, phase0.Version{}, phase0.Root{})
			}), expect: wrong},
		{name: "signature-other-purpose", says: "It was signed in the domain of blocks.",
			spoil: change(func(d *draft) { d.domain = proposerDomain(d.fork) }), expect: wrong},
		{name: "signature-other-message", says: "The value was raised by a wei after signing.",
			after:  func(d *draft) { d.Message.Value = new(uint256.Int).AddUint64(d.Message.Value, 1) },
			expect: wrong},
		{name: "signature-infinity", says: "The signature is the point at infinity.",
			after: func(d *draft) { d.Signature = phase0.BLSSignature{0xc0} }, expect: key},
		{name: "signature-no-point", says: "The signature is no point of the curve.",
			after:  func(d *draft) { d.Signature = phase0.BLSSignature(bytes.Repeat([]byte{0xff}, 96)) },
			expect: key},
		{name: "key-infinity", says: "Key and signature are the points at infinity, which fit every message.",
			after: func(d *draft) {
				d.Message.BuilderPubkey, d.Signature = phase0.BLSPubKey{0xc0}, phase0.BLSSignature{0xc0}
			}, expect: key},
		{name: "key-no-point", says: "The key is no point of the curve.",
			after:  func(d *draft) { d.Message.BuilderPubkey = phase0.BLSPubKey(bytes.Repeat([]byte{0xff}, 48)) },
			expect: key},
	}
}

// invalid is the refusal of a block that breaks a rule when it is executed.
func invalid(rule string, clauses ...string) Expect {
	e := refused(stageExecute, "submission-invalid", clauses...)
	e.Rule = rule
	return e
}

func executionRows() []submissionRow {
	hash, state, limit := invalid("block_hash", "REL-SUB-18"), invalid("state", "REL-SUB-17"),
		invalid("gas_limit", "REL-SUB-19")
	return []submissionRow{
		{name: "block-hash-wrong", says: "Message and payload agree on a block hash that is not the block's.",
			spoil: change(func(d *draft) { d.Message.BlockHash[0] ^= 1; d.ExecutionPayload.BlockHash[0] ^= 1 }), expect: hash},
		{name: "beacon-root-other", says: "The block was built on another parent beacon block root.", from: eth.Deneb,
			spoil:  change(func(d *draft) { d.known.Attributes.ParentBeaconRoot = hexOf(bytes.Repeat([]byte{1}, 32)) }),
			expect: hash},
		{name: "requests-other", says: "The execution requests are not those that the block commits to.", from: eth.Electra,
			spoil: change(func(d *draft) {
				d.ExecutionRequests.Withdrawals = append(d.ExecutionRequests.Withdrawals, &electra.WithdrawalRequest{Amount: 5})
			}), expect: invalid("block_hash", "REL-SUB-35")},
		{name: "base-fee-other", says: "base_fee_per_gas is a wei more than the parent makes it.",
			spoil: rebuildAfter(func(d *draft) {
				d.ExecutionPayload.BaseFeePerGas = new(uint256.Int).AddUint64(d.ExecutionPayload.BaseFeePerGas, 1)
			}), expect: invalid("header")},
		{name: "gas-limit-too-high",
			says:  "The proposer registered a lower gas limit, towards which the block does not move.",
			spoil: change(func(d *draft) { d.known.Duty.Registration.GasLimit = gasLimit / 2 }), expect: limit},
		{name: "gas-limit-too-low",
			says:  "The proposer registered a higher gas limit, towards which the block does not move.",
			spoil: change(func(d *draft) { d.known.Duty.Registration.GasLimit = gasLimit * 2 }), expect: limit},
		{name: "nonce-again", says: "A transaction is there twice, so that its nonce is used.",
			spoil: rebuildAfter(func(d *draft) {
				p := d.ExecutionPayload
				p.Transactions = append([]bellatrix.Transaction{p.Transactions[0]}, p.Transactions...)
			}), expect: invalid("execution")},
		{name: "state-root-other", says: "state_root is not the state's after the block, in one bit.",
			spoil: rebuildAfter(func(d *draft) { d.ExecutionPayload.StateRoot[0] ^= 1 }), expect: state},
		{name: "receipts-root-other", says: "receipts_root is not that of the block's receipts, in one bit.",
			spoil: rebuildAfter(func(d *draft) { d.ExecutionPayload.ReceiptsRoot[0] ^= 1 }), expect: state},
		{name: "gas-used-wrong", says: "Message and payload agree on a gas_used that is one more than the block's.",
			spoil: rebuildAfter(func(d *draft) { d.Message.GasUsed++; d.ExecutionPayload.GasUsed++ }), expect: state},
		{name: "value-too-high", says: "The message promises a wei more than the block pays.",
			spoil:  change(func(d *draft) { d.Message.Value = new(uint256.Int).AddUint64(d.Message.Value, 1) }),
			expect: invalid("payment", "REL-SUB-16")},
		{name: "paid-to-another", says: "The registered fee recipient is another account, which the block does not pay.",
			spoil: change(func(d *draft) {
				d.Message.ProposerFeeRecipient[0] ^= 1
				d.known.Duty.Registration.FeeRecipient = hexOf(d.Message.ProposerFeeRecipient[:])
			}), expect: invalid("payment", "REL-SUB-16")},
	}
}

// executedBlobRows have blobs that do not fit to what the block commits to.
func executedBlobRows() []submissionRow {
	proofs := invalid("blobs", "REL-SUB-28")
	return []submissionRow{
		{name: "commitments-swapped", says: "The commitments are in the wrong order.", from: eth.Deneb, blobs: 2,
			spoil:  change(func(d *draft) { slices.Reverse(d.BlobsBundle.Commitments) }),
			expect: invalid("block_hash", "REL-SUB-18")},
		{name: "blob-other", says: "A field element of a blob is not what was committed to.", from: eth.Deneb, blobs: 1,
			spoil: change(func(d *draft) { d.BlobsBundle.Blobs[0][31] ^= 1 }), expect: proofs},
		{name: "proofs-swapped", says: "The proofs of two blobs, or of two cells, are in the wrong order.", from: eth.Deneb,
			blobs: 2, spoil: change(func(d *draft) {
				p := d.BlobsBundle.Proofs
				p[0], p[1] = p[1], p[0]
			}), expect: proofs},
	}
}
