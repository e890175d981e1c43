package wire

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/attestantio/go-eth2-client/spec/bellatrix"
	"github.com/attestantio/go-eth2-client/spec/deneb"
	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/payload"
	"github.com/gavel-relay/gavel/relay"
)

// Prefix reads the beginning of a submission in SSZ. Blobs are most of a body and come nearly last,
// so the block itself can be read while they arrive. Prefix reports no errors: DecodeSubmission
// reads the whole body afterwards and finds what is wrong.
//
//	message │ offsets │ signature │ transactions … │ withdrawals │ offsets, commitments │ proofs, blobs … │ requests
//	                              └▶ Message   └──▶ Transactions                        └▶ Block
//
// Each of the three methods is called with all of the body that has arrived. These bytes must not
// be changed afterwards. Only one goroutine may use a Prefix, for one body.
type Prefix struct {
	// ForkAt returns the fork of a slot. Bodies before electra have another shape, and are not read.
	ForkAt func(phase0.Slot) eth.Fork
	// Bytes is the announced length of the body; 0 if none was announced. It shows early whether the
	// body has execution requests, which are its end.
	Bytes int64
	// BatchBytes is how many bytes of transactions make a Batch; 0 means 32 KiB, which take 0.1 ms to
	// hash.
	BatchBytes int

	ended   bool              // nothing more can be read
	message *relay.Submission // nil until it is here
	list    batchReader
}

// defaultBatchBytes take 0.1 ms to hash.
const defaultBatchBytes = 32 << 10

// Batch is a run of a payload's transactions, which are slices of the body.
type Batch struct {
	// First is the place of the first of them. Count is how many the payload has in all.
	First, Count int
	Transactions []bellatrix.Transaction
}

// Message returns, once, a submission with only message, signature and fork, as soon as these are
// here.
func (p *Prefix) Message(body []byte) *relay.Submission {
	if p.ended || p.message != nil || len(body) < submissionHead {
		return nil
	}
	s, err := readHead(p.ForkAt, body)
	if err != nil || !isInPlace(s.Fork) {
		p.ended = true
		return nil
	}
	p.message = s
	return s
}

// readHead reads the fixed part of a body in the shape that it has from electra on. The slot's fork
// may be an earlier one, which the caller must check.
func readHead(forkAt func(phase0.Slot) eth.Fork, body []byte) (s *relay.Submission, err error) {
	defer recoverMalformed(&err)
	s = &relay.Submission{Trace: new(relay.BidTrace)}
	if err := readSSZ(s.Trace, body[:traceBytes]); err != nil {
		return nil, fmt.Errorf("message: %w", err)
	}
	s.Fork = forkAt(phase0.Slot(s.Trace.Slot))
	copy(s.Signature[:], body[submissionHead-signatureBytes:])
	return s, nil
}

// Transactions returns, after Message, the transactions that have arrived since the last call, if
// they are enough for a batch; otherwise an empty batch.
func (p *Prefix) Transactions(body []byte) Batch {
	if p.ended || p.message == nil || len(body) < submissionHead+payloadHead {
		return Batch{}
	}
	bundle := binary.LittleEndian.Uint32(body[traceBytes+offsetBytes:])
	end := max(submissionHead, min(uint64(bundle), uint64(len(body))))
	return p.list.next(body[submissionHead:end], cmp.Or(p.BatchBytes, defaultBatchBytes))
}

// Block is the part of a submission before its proofs and blobs.
type Block struct {
	// Rest are the transactions after the last batch, if Transactions has returned any.
	Rest Batch

	message     relay.Submission
	raw         []byte // of the payload
	commitments []deneb.KZGCommitment
	certain     bool // the commitments were read, and there are no requests
}

// Block returns, once, after Message, the payload and commitments, as soon as they are here.
func (p *Prefix) Block(body []byte) *Block {
	if p.ended || p.message == nil {
		return nil
	}
	bundle := int64(binary.LittleEndian.Uint32(body[traceBytes+offsetBytes:]))
	requests := int64(binary.LittleEndian.Uint32(body[traceBytes+2*offsetBytes:]))
	switch {
	case bundle < submissionHead:
		p.ended = true
		return nil
	case int64(len(body)) < bundle+bundleHead:
		return nil
	}
	commitments, here := commitmentsIn(body[bundle:])
	if !here {
		return nil
	}
	p.ended = true
	block := &Block{
		message: *p.message, raw: body[submissionHead:bundle:bundle], commitments: commitments,
		certain: commitments != nil && p.Bytes-requests == emptyRequestsBytes,
	}
	if p.list.list.read > 0 {
		block.Rest = p.list.next(block.raw, 0)
	}
	return block
}

// Payload reads the payload.
func (b *Block) Payload() (*payload.Payload, error) { return readPayload(b.raw) }

// Submission returns the submission without proofs and blobs. It is nil if the execution requests
// are not known, since the bid contains them.
func (b *Block) Submission(block *payload.Payload) *relay.Submission {
	if !b.certain {
		return nil
	}
	s := b.message
	s.Payload, s.Requests = block, payload.EmptyRequests()
	s.Blobs = &payload.Blobs{Commitments: b.commitments}
	return &s
}

const (
	// bundleHead is the fixed part of a blobs bundle: the offsets of its three lists.
	bundleHead = 3 * offsetBytes
	// emptyRequestsBytes is the length of empty requests: the offsets of three lists. No other valid
	// requests have this length.
	emptyRequestsBytes = 3 * offsetBytes
)

// commitmentsIn returns the commitments at the beginning of a bundle, nil if they are malformed;
// here is false while they have not arrived.
func commitmentsIn(bundle []byte) (list []deneb.KZGCommitment, here bool) {
	end := binary.LittleEndian.Uint32(bundle[offsetBytes:])
	if end < bundleHead || end > bundleHead+maxCommitments*kzgBytes {
		return nil, true
	}
	if uint64(len(bundle)) < uint64(end) {
		return nil, false
	}
	list, err := itemsOf[deneb.KZGCommitment](bundle[bundleHead:end], maxCommitments)
	if err != nil {
		return nil, true
	}
	return slices.Clone(list), true // a copy, since a bid keeps them and must not keep the body
}

// batchReader reads a payload's transactions in batches as they arrive. It ends at impossible
// offsets; then the payload is refused when it is read as a whole.
type batchReader struct {
	list  transactionList
	from  int  // where the list begins in the payload
	known bool // list and from are known
	ended bool
}

// next takes what of the payload has arrived and returns a batch. The batch is empty if fewer than
// batchBytes have arrived, unless they are the last.
func (r *batchReader) next(raw []byte, batchBytes int) Batch {
	if r.ended || !r.locate(raw) {
		return Batch{}
	}
	r.list.raw = raw[r.from:min(len(raw), r.from+r.list.bytes)]
	count, here, err := r.list.count()
	if err != nil || !here {
		r.ended = err != nil
		return Batch{}
	}
	if len(r.list.raw) < r.list.bytes && len(r.list.raw)-r.list.readTo() < batchBytes {
		return Batch{}
	}
	batch := Batch{First: r.list.read, Count: count}
	if batch.Transactions, err = r.list.next(); err != nil {
		r.ended = true
		return Batch{}
	}
	return batch
}

// locate finds the list, once the payload's fixed part has arrived.
func (r *batchReader) locate(raw []byte) bool {
	if r.known {
		return len(raw) >= r.from
	}
	if len(raw) < payloadHead {
		return false
	}
	from, to, err := transactionsOf(raw)
	if err != nil {
		r.ended = true
		return false
	}
	r.known, r.from, r.list.bytes = true, from, to-from
	return len(raw) >= from
}
