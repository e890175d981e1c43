package wire

import (
	"encoding/binary"
	"fmt"
	"sync"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/payload"
	"github.com/gavel-relay/gavel/relay"
)

// Ahead reads the payload of a submission in SSZ, and hashes its transactions, as soon as they are here: the blobs, which are most of the body, follow
// them and are still on the way. Nothing is checked yet, so it is for builders that the relay knows. One goroutine may use it, for one body.
//
//	message │ offsets │ signature │ payload … │ blobs …
//	                                          └▶ from here on payload and root are made
type Ahead struct {
	// ForkAt is the fork of a slot. Bodies before electra are shaped differently; they wait to be whole.
	ForkAt func(phase0.Slot) eth.Fork

	over bool         // it is begun, or will never be
	made *madePayload // nil unless it is begun
}

// madePayload is a payload of so many bytes, which is being read and hashed.
type madePayload struct {
	bytes int
	read  func() (*payload.Payload, error)
	root  func() (phase0.Root, error)
}

// Arrived is told what of the body is here; nobody may change these bytes any more. Once, when the payload is whole, it returns the work that can be
// done, for a goroutine of the caller's; else nil. Whoever needs the payload or the root first does that work, or waits for it.
func (a *Ahead) Arrived(body []byte) (work func()) {
	if a.over || len(body) < submissionHead {
		return nil
	}
	slot, err := slotAt(body, 0)
	end := binary.LittleEndian.Uint32(body[traceBytes+offsetBytes:])
	switch {
	case err != nil || a.ForkAt(slot) < eth.Electra || end < submissionHead:
		a.over = true
	case uint64(len(body)) >= uint64(end):
		a.over, a.made = true, begin(body[submissionHead:end:end])
		return func() { _, _ = a.made.root() } // who asks is told what is wrong
	}
	return nil
}

// begin is a payload that is read and hashed when somebody asks.
func begin(raw []byte) *madePayload {
	m := &madePayload{bytes: len(raw), read: sync.OnceValues(func() (*payload.Payload, error) { return readPayload(raw) })}
	m.root = sync.OnceValues(func() (phase0.Root, error) {
		read, err := m.read()
		if err != nil {
			return phase0.Root{}, err
		}
		return payload.TransactionsRoot(read.Transactions)
	})
	return m
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

func readPayload(raw []byte) (p *payload.Payload, err error) {
	defer malformed(&err)
	p = new(payload.Payload)
	if err := readSSZ(p, raw); err != nil {
		return nil, fmt.Errorf("execution_payload: %w", err)
	}
	return p, nil
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
	if err := decode(media, body, request); err != nil {
		return nil, err
	}
	return fromRequest(fork, request)
}
