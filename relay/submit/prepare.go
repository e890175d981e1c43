package submit

import (
	"fmt"
	"sync"

	"github.com/attestantio/go-eth2-client/spec/deneb"
	"github.com/attestantio/go-eth2-client/spec/electra"
	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/bls"
	"github.com/gavel-relay/gavel/internal/eth/payload"
	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/relay/wire"
)

// preparedBid is all that signing a bid needs. It is kept for losing bids too, so that a
// cancellation can fall back to them at once; the payload itself is in the escrow.
type preparedBid struct {
	fork        eth.Fork
	header      *payload.Header
	commitments []deneb.KZGCommitment
	requests    *electra.ExecutionRequests
	trace       relay.Trace
	ahead       *relay.Work[*relay.SignedAhead] // nil unless it was begun while the body was on its way; owned by sign
	askedGas    uint64                          // the gas limit that the proposer had registered when the bid came
	verified    bool                            // the block was executed and found valid; guarded by the pipeline's mutex
	// nil until it leads; guarded by the pipeline's mutex once the bid is in the book
	signed *relay.SignedBid
}

// prepare hashes the payload into its header.
func prepare(s *relay.Submission) (*preparedBid, error) {
	header, err := headerOf(s)
	if err != nil {
		return nil, err
	}
	bid := &preparedBid{fork: s.Fork, header: header, requests: s.Requests, trace: s.FlatTrace(), ahead: s.Ahead.Signed}
	if s.Blobs != nil {
		bid.commitments = s.Blobs.Commitments
	}
	return bid, nil
}

// headerOf takes the transactions' root that was begun ahead, if there is one.
func headerOf(s *relay.Submission) (*payload.Header, error) {
	if s.Ahead.TransactionsRoot == nil {
		return payload.HeaderOf(s.Fork, s.Payload)
	}
	transactions, err := s.Ahead.TransactionsRoot()
	if err != nil {
		return nil, fmt.Errorf("hash transactions: %w", err)
	}
	return payload.HeaderWith(s.Fork, s.Payload, transactions)
}

// prepareHeader is prepare for a bid whose payload follows.
func prepareHeader(h *relay.HeaderSubmission) *preparedBid {
	trace := bareTrace(h.Trace)
	trace.NumBlobs, trace.BlockNumber = len(h.Commitments), h.Header.BlockNumber
	return &preparedBid{fork: h.Fork, header: h.Header, commitments: h.Commitments, requests: h.Requests, trace: trace}
}

// message is what is signed of the bid.
func (p *preparedBid) message(relayKey *bls.SecretKey) wire.Bid {
	return wire.Bid{
		Fork: p.fork, Header: p.header, Commitments: p.commitments, Requests: p.requests, ValueWei: p.trace.ValueWei,
		Relay: relayKey.PublicKey(),
	}
}

// sign begins to sign the bid that proposers see, once, unless the relay has signed it while its
// body was on the way. It leads meanwhile; who asks for it waits.
func (p *preparedBid) sign(key relay.Key, relayKey *bls.SecretKey, domain phase0.Domain,
	failed func(error)) *relay.SignedBid {
	if p.signed != nil {
		return p.signed
	}
	bid := relay.SignedBid{
		Key: key, Fork: p.fork, BlockHash: p.trace.BlockHash, Builder: p.trace.Builder, ValueWei: p.trace.ValueWei,
		Trace: p.trace, BlockNumber: p.header.BlockNumber, FeeRecipient: p.header.FeeRecipient,
	}
	message, ahead := p.message(relayKey), p.ahead
	p.ahead = nil
	if ahead != nil && ahead.Done() {
		if bid.SSZ, bid.JSON = signedAhead(&message, ahead); bid.SSZ != nil {
			p.signed = &bid
			return p.signed
		}
		ahead = nil
	}
	leading := bid
	leading.Signing = sync.OnceValues(func() (*relay.SignedBid, error) {
		whole := bid
		if whole.SSZ, whole.JSON = signedAhead(&message, ahead); whole.SSZ != nil {
			return &whole, nil
		}
		var err error
		if whole.SSZ, whole.JSON, err = wire.SignedBid(message, relayKey, domain); err != nil {
			failed(err)
			return nil, err
		}
		return &whole, nil
	})
	p.signed = &leading
	go func() { _, _ = leading.Signing() }() // what fails is told by failed
	return p.signed
}

// signedAhead is the bid that was signed while its body was on the way, if it is this very one; nil
// if not, or if there is none.
func signedAhead(message *wire.Bid, ahead *relay.Work[*relay.SignedAhead]) (ssz, json []byte) {
	if ahead == nil {
		return nil, nil
	}
	signed := ahead.Do()
	if signed == nil || signed.Fork != message.Fork {
		return nil, nil
	}
	if root, err := message.Root(); err != nil || root != signed.Root { // an error comes again when it is signed anew
		return nil, nil
	}
	return signed.SSZ, signed.JSON
}
