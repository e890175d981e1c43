package wire

import (
	"github.com/attestantio/go-eth2-client/spec/bellatrix"
	"github.com/attestantio/go-eth2-client/spec/capella"
	"github.com/attestantio/go-eth2-client/spec/deneb"
	"github.com/attestantio/go-eth2-client/spec/electra"
	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/payload"
	"github.com/gavel-relay/gavel/relay"
)

// Limits of lists (consensus-specs presets). For SSZ the libraries' types have them; the JSON
// reader needs them here.
const (
	maxTransactionBytes      = 1 << 30
	maxExtraDataBytes        = 32
	maxWithdrawals           = 16
	maxCommitments           = 4096
	maxProofs, maxCellProofs = maxCommitments, 1 << 25
	maxDepositRequests       = 8192
	maxWithdrawalRequests    = 16
	maxConsolidationRequests = 2
)

// decodeSubmissionJSON reads a SubmitBlockRequest in one pass, directly into the relay's type.
func decodeSubmissionJSON(fork eth.Fork, body []byte) (*relay.Submission, error) {
	s := &relay.Submission{Fork: fork, Trace: new(relay.BidTrace), Payload: new(payload.Payload)}
	if fork.HasBlobs() {
		s.Blobs = new(payload.Blobs)
	}
	if fork.HasRequests() {
		s.Requests = new(electra.ExecutionRequests)
	}
	if err := decodeJSON(body, submissionShapes[fork], s); err != nil {
		return nil, err
	}
	return s, nil
}

func decodeJSON[T any](body []byte, as shape[T], into *T) error {
	c := newCursor(body)
	if err := as.read(&c, into); err != nil {
		return err
	}
	return c.End()
}

var submissionShapes = perFork(func(fork eth.Fork) shape[relay.Submission] {
	type s = relay.Submission
	return containerShape(fork,
		func(s *s) container { return container{s.Trace, s.Requests, &s.Signature} },
		within("execution_payload", payloadShape(fork), func(s *s) *payload.Payload { return s.Payload }),
		within("blobs_bundle", bundleShape(fork), func(s *s) *payload.Blobs { return s.Blobs }))
})

// container is what a submission and a header submission have in common.
type container struct {
	trace     *relay.BidTrace
	requests  *electra.ExecutionRequests // nil before electra
	signature *phase0.BLSSignature
}

// containerShape is the shape of a submission or of a header submission. Only block and blobs,
// which come from deneb on, differ between the two.
func containerShape[T any](fork eth.Fork, at func(*T) container, block, blobs field[T]) shape[T] {
	s := shape[T]{within("message", traceShape, func(t *T) *relay.BidTrace { return at(t).trace }), block}
	if fork.HasBlobs() {
		s = append(s, blobs)
	}
	if fork.HasRequests() {
		s = append(s, within("execution_requests", requestsShape,
			func(t *T) *electra.ExecutionRequests { return at(t).requests }))
	}
	return append(s, fixed("signature", func(t *T) []byte { return at(t).signature[:] }))
}

// perFork makes the shape of each fork, once.
func perFork[T any](of func(eth.Fork) shape[T]) eth.Column[shape[T]] {
	shapes := eth.Column[shape[T]]{}
	for _, fork := range eth.Forks() {
		shapes[fork] = of(fork)
	}
	return shapes
}

var traceShape = shape[relay.BidTrace]{
	number("slot", func(t *relay.BidTrace) *uint64 { return &t.Slot }),
	fixed("parent_hash", func(t *relay.BidTrace) []byte { return t.ParentHash[:] }),
	fixed("block_hash", func(t *relay.BidTrace) []byte { return t.BlockHash[:] }),
	fixed("builder_pubkey", func(t *relay.BidTrace) []byte { return t.BuilderPubkey[:] }),
	fixed("proposer_pubkey", func(t *relay.BidTrace) []byte { return t.ProposerPubkey[:] }),
	fixed("proposer_fee_recipient", func(t *relay.BidTrace) []byte { return t.ProposerFeeRecipient[:] }),
	number("gas_limit", func(t *relay.BidTrace) *uint64 { return &t.GasLimit }),
	number("gas_used", func(t *relay.BidTrace) *uint64 { return &t.GasUsed }),
	wei("value", func(t *relay.BidTrace) **uint256.Int { return &t.Value }),
}

func payloadShape(fork eth.Fork) shape[payload.Payload] {
	type p = payload.Payload
	return blockShape(fork,
		func(p *p) blockFields {
			return blockFields{
				p.ParentHash[:], p.FeeRecipient[:], p.StateRoot[:], p.ReceiptsRoot[:], p.LogsBloom[:], p.PrevRandao[:],
				p.BlockHash[:],
				&p.BlockNumber, &p.GasLimit, &p.GasUsed, &p.Timestamp, &p.BlobGasUsed, &p.ExcessBlobGas,
				&p.ExtraData, &p.BaseFeePerGas,
			}
		},
		orNull(field[p]{"transactions", readTransactions}),
		orNull(objectList("withdrawals", maxWithdrawals, withdrawalShape,
			func(p *p) *[]*capella.Withdrawal { return &p.Withdrawals })))
}

func readTransactions(c *cursor, p *payload.Payload) error {
	p.Transactions = []bellatrix.Transaction{}
	most := eth.MostTransactions(len(c.Doc) / 2)
	return c.list(hexList, eth.MaxTransactions, func() error {
		tx, err := c.bytes(maxTransactionBytes)
		if err != nil {
			return err
		}
		if len(tx) == 0 {
			return errEmptyTransaction
		}
		if len(p.Transactions) == most {
			return tooShort(most + 1)
		}
		p.Transactions = append(p.Transactions, tx)
		return nil
	})
}

var withdrawalShape = shape[capella.Withdrawal]{
	number("index", func(w *capella.Withdrawal) *capella.WithdrawalIndex { return &w.Index }),
	number("validator_index", func(w *capella.Withdrawal) *phase0.ValidatorIndex { return &w.ValidatorIndex }),
	fixed("address", func(w *capella.Withdrawal) []byte { return w.Address[:] }),
	number("amount", func(w *capella.Withdrawal) *phase0.Gwei { return &w.Amount }),
}

func bundleShape(fork eth.Fork) shape[payload.Blobs] {
	return shape[payload.Blobs]{
		orNull(fixedList("commitments", maxCommitments, commitmentBytes,
			func(b *payload.Blobs) *[]deneb.KZGCommitment { return &b.Commitments })),
		orNull(fixedList("proofs", mostProofs(fork), func(p *deneb.KZGProof) []byte { return p[:] },
			func(b *payload.Blobs) *[]deneb.KZGProof { return &b.Proofs })),
		orNull(fixedList("blobs", maxCommitments, func(b *deneb.Blob) []byte { return b[:] },
			func(b *payload.Blobs) *[]deneb.Blob { return &b.Blobs })),
	}
}

// mostProofs is how many proofs a bundle may have.
func mostProofs(fork eth.Fork) int {
	if fork.HasCellProofs() {
		return maxCellProofs
	}
	return maxProofs
}

func commitmentBytes(k *deneb.KZGCommitment) []byte { return k[:] }

var requestsShape = shape[electra.ExecutionRequests]{
	orNull(objectList("deposits", maxDepositRequests, depositShape,
		func(r *electra.ExecutionRequests) *[]*electra.DepositRequest { return &r.Deposits })),
	orNull(objectList("withdrawals", maxWithdrawalRequests, withdrawalRequestShape,
		func(r *electra.ExecutionRequests) *[]*electra.WithdrawalRequest { return &r.Withdrawals })),
	orNull(objectList("consolidations", maxConsolidationRequests, consolidationShape,
		func(r *electra.ExecutionRequests) *[]*electra.ConsolidationRequest { return &r.Consolidations })),
}

var depositShape = shape[electra.DepositRequest]{
	fixed("pubkey", func(d *electra.DepositRequest) []byte { return d.Pubkey[:] }),
	bytesOf("withdrawal_credentials", phase0.HashLength, func(d *electra.DepositRequest) *[]byte {
		return &d.WithdrawalCredentials
	}),
	number("amount", func(d *electra.DepositRequest) *phase0.Gwei { return &d.Amount }),
	fixed("signature", func(d *electra.DepositRequest) []byte { return d.Signature[:] }),
	number("index", func(d *electra.DepositRequest) *uint64 { return &d.Index }),
}

var withdrawalRequestShape = shape[electra.WithdrawalRequest]{
	fixed("source_address", func(w *electra.WithdrawalRequest) []byte { return w.SourceAddress[:] }),
	fixed("validator_pubkey", func(w *electra.WithdrawalRequest) []byte { return w.ValidatorPubkey[:] }),
	number("amount", func(w *electra.WithdrawalRequest) *phase0.Gwei { return &w.Amount }),
}

var consolidationShape = shape[electra.ConsolidationRequest]{
	fixed("source_address", func(r *electra.ConsolidationRequest) []byte { return r.SourceAddress[:] }),
	fixed("source_pubkey", func(r *electra.ConsolidationRequest) []byte { return r.SourcePubkey[:] }),
	fixed("target_pubkey", func(r *electra.ConsolidationRequest) []byte { return r.TargetPubkey[:] }),
}
