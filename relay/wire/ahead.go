package wire

import (
	"encoding/binary"
	"fmt"
	"slices"
	"sync"

	"github.com/attestantio/go-eth2-client/spec/deneb"
	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/payload"
	"github.com/gavel-relay/gavel/relay"
)

// Ahead reads of a submission in SSZ what is here while the blobs, which are most of the body and
// come last but for a few bytes, are still on the way. Nothing is checked yet: what is worth doing
// with it, and for whom, others decide. One goroutine may use it, for one body.
//
//	message │ offsets │ signature │ transactions … │ withdrawals │ offsets, commitments │ proofs, blobs … │ requests
//	                              └▶ Message   └──▶ Transactions                        └▶ Block
//
// Each of the three is told what of the body is here; nobody may change these bytes any more.
type Ahead struct {
	// ForkAt is the fork of a slot. Bodies before electra are shaped differently; they wait to be
	// whole.
	ForkAt func(phase0.Slot) eth.Fork
	// Bytes is how long the body will be, 0 if nobody has said: only with it the requests, which are
	// its end, can be known before they are here.
	Bytes int64

	over    bool              // there is nothing to read ahead, or no more
	message *relay.Submission // nil until it is here
	hashed  hashedAhead
	made    *madePayload // nil unless it is begun
}

// madePayload is a payload of so many bytes, which is being read and hashed.
type madePayload struct {
	bytes int
	read  func() (*payload.Payload, error)
	root  func() (phase0.Root, error)
}

// Message returns, once, when message and signature are here, a submission that has these alone,
// and its fork.
func (a *Ahead) Message(body []byte) *relay.Submission {
	if a.over || a.message != nil || len(body) < submissionHead {
		return nil
	}
	s, err := readHead(a.ForkAt, body)
	if err != nil || s.Fork < eth.Electra {
		a.over = true
		return nil
	}
	a.message = s
	return s
}

// readHead reads the fixed part of a body that is shaped as from electra on; the fork that it
// returns may be earlier.
func readHead(forkAt func(phase0.Slot) eth.Fork, body []byte) (s *relay.Submission, err error) {
	defer malformed(&err)
	s = &relay.Submission{Trace: new(relay.BidTrace)}
	if err := readSSZ(s.Trace, body[:traceBytes]); err != nil {
		return nil, fmt.Errorf("message: %w", err)
	}
	s.Fork = forkAt(phase0.Slot(s.Trace.Slot))
	copy(s.Signature[:], body[submissionHead-signatureBytes:])
	return s, nil
}

// Transactions returns, after Message, a part of the hashing of the payload's transactions, for a
// goroutine of the caller's, whenever enough of them have come. It need not be called: who needs
// the root hashes what is left.
func (a *Ahead) Transactions(body []byte) (hash func()) {
	if a.over || a.message == nil || len(body) < submissionHead+payloadHead {
		return nil
	}
	bundle := binary.LittleEndian.Uint32(body[traceBytes+offsetBytes:])
	batch := a.hashed.arrived(body[submissionHead:max(submissionHead, min(uint64(bundle), uint64(len(body))))])
	if batch == nil {
		return nil
	}
	return func() { _ = batch.Do() } // who asks for the root is told what is wrong
}

// Block returns, once, after Message, when payload and commitments are here, how to read them, for
// a goroutine of the caller's: read hashes the transactions too, and returns the submission without
// proofs and blobs, or nil if something is wrong with it, or if it is not known yet what its
// requests are. Who reads the body at its end takes what read has made, or makes it.
func (a *Ahead) Block(body []byte) (read func() *relay.Submission) {
	if a.over || a.message == nil {
		return nil
	}
	bundle := int64(binary.LittleEndian.Uint32(body[traceBytes+offsetBytes:]))
	requests := int64(binary.LittleEndian.Uint32(body[traceBytes+2*offsetBytes:]))
	switch {
	case bundle < submissionHead:
		a.over = true
		return nil
	case int64(len(body)) < bundle+bundleHead:
		return nil
	}
	commitments, here := commitmentsIn(body[bundle:])
	if !here {
		return nil
	}
	a.over, a.made = true, begin(body[submissionHead:bundle:bundle], &a.hashed)
	message, made, certain := *a.message, a.made, commitments != nil && a.Bytes-requests == emptyRequestsBytes
	return func() *relay.Submission {
		if _, err := made.root(); err != nil || !certain { // who reads it at its end is told what is wrong
			return nil
		}
		message.Payload, _ = made.read()
		message.Blobs, message.Requests = &payload.Blobs{Commitments: commitments}, payload.EmptyRequests()
		message.Ahead.TransactionsRoot = made.root
		return &message
	}
}

const (
	// bundleHead is the fixed part of a blobs bundle: the offsets of its three lists.
	bundleHead = 3 * offsetBytes
	// emptyRequestsBytes is the length of requests that have none: the offsets of three lists, and
	// nothing else of that length can be read.
	emptyRequestsBytes = 3 * offsetBytes
)

// commitmentsIn are the commitments at the beginning of a bundle, once they are here; nil if what
// is here are none.
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
	return slices.Clone(list), true // a bid keeps them, and not the body
}

// begin is a payload that is read and hashed when somebody asks, but for what of it was hashed
// before.
func begin(raw []byte, hashed *hashedAhead) *madePayload {
	m := &madePayload{bytes: len(raw), read: sync.OnceValues(func() (*payload.Payload, error) { return readPayload(raw) })}
	if len(hashed.batches) > 0 {
		hashed.arrived(raw)
	}
	roots, batches := hashed.roots, hashed.batches
	root := sync.OnceValues(func() (phase0.Root, error) { return rootOf(m.read, roots, batches) })
	m.root = func() (phase0.Root, error) {
		for _, batch := range batches { // what nobody does yet; then it is waited for the others
			if !batch.Begun() {
				_ = batch.Do() // root tells what is wrong
			}
		}
		return root()
	}
	return m
}

// rootOf is the root of a payload's transactions, of which some may have been hashed in batches;
// then all have.
func rootOf(read func() (*payload.Payload, error), roots [][32]byte,
	batches []*relay.Work[error]) (phase0.Root, error) {
	p, err := read()
	if err != nil {
		return phase0.Root{}, err
	}
	if len(batches) == 0 {
		return payload.TransactionsRoot(p.Transactions)
	}
	for _, batch := range batches {
		if err := batch.Do(); err != nil {
			return phase0.Root{}, err
		}
	}
	return payload.RootOfTransactions(roots)
}

// payload is the payload in a part of the body: the one that was begun, or else it is read now.
func (a *Ahead) payload(raw []byte) (*payload.Payload, func() (phase0.Root, error), error) {
	if a == nil || a.made == nil || a.made.bytes != len(raw) {
		read, err := readPayload(raw)
		return read, nil, err
	}
	read, err := a.made.read()
	return read, a.made.root, err
}

// DecodeSubmission is the function of that name for the body that has arrived.
func (a *Ahead) DecodeSubmission(fork eth.Fork, media Media, body []byte) (*relay.Submission, error) {
	request, err := newRequest(fork)
	if err != nil {
		return nil, err
	}
	switch {
	case media == JSON:
		return decodeSubmissionJSON(fork, body)
	case fork >= eth.Electra:
		return decodeSubmissionSSZ(fork, body, a)
	}
	if err := checkTransactionCount(fork, body); err != nil {
		return nil, err
	}
	if err := decodeSSZ(body, request); err != nil {
		return nil, err
	}
	return fromRequest(fork, request)
}
