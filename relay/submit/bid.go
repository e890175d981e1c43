package submit

import (
	"fmt"

	"github.com/attestantio/go-eth2-client/spec/deneb"
	"github.com/attestantio/go-eth2-client/spec/electra"
	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/bls"
	"github.com/gavel-relay/gavel/internal/eth/gloas"
	"github.com/gavel-relay/gavel/internal/eth/payload"
	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/relay/speculate"
	"github.com/gavel-relay/gavel/relay/wire"
)

// preparedBid is all that signing a bid needs. Losing bids keep theirs too, so that one of them can
// lead at once after a cancellation. The payload itself is in the escrow.
type preparedBid struct {
	fork        eth.Fork
	header      *payload.Header
	commitments []deneb.KZGCommitment
	requests    *electra.ExecutionRequests
	trace       relay.Trace
	signing     *speculate.Signing // nil unless it was begun while the body arrived; owned by sign
	askedGas    uint64             // the gas limit that the proposer had registered when the bid came
	// parentRoot and requestsRoot are what a bid that stands in a beacon block has besides (gloas).
	parentRoot, requestsRoot phase0.Root
	verified                 bool // the block was executed and found valid; guarded by the pipeline's mutex
	// nil until it leads; guarded by the pipeline's mutex once the bid is in the book
	signed *relay.SignedBid
}

// prepare hashes the payload into its header.
func prepare(s *relay.Submission, ahead *speculate.Ahead) (*preparedBid, error) {
	header, err := headerOf(s, ahead)
	if err != nil {
		return nil, err
	}
	bid := &preparedBid{fork: s.Fork, header: header, requests: s.Requests, trace: s.FlatTrace(), signing: ahead.Signing()}
	if s.Blobs != nil {
		bid.commitments = s.Blobs.Commitments
	}
	if s.Gloas != nil {
		_, requests := payload.JoinGloas(s.Payload, s.Requests, s.Gloas)
		if bid.requestsRoot, err = gloas.Mainnet.ExecutionRequests.Root(requests); err != nil {
			return nil, fmt.Errorf("hash execution requests: %w", err)
		}
	}
	return bid, nil
}

// headerOf makes the payload's header. It uses the transactions' root that was begun ahead, if
// there is one.
func headerOf(s *relay.Submission, ahead *speculate.Ahead) (*payload.Header, error) {
	if !ahead.HasRoot() {
		return payload.HeaderOf(s.Fork, s.Payload)
	}
	transactions, err := ahead.TransactionsRoot()
	if err != nil {
		return nil, fmt.Errorf("hash transactions: %w", err)
	}
	return payload.HeaderWith(s.Fork, s.Payload, transactions)
}

// prepareHeader makes the bid of a header whose payload follows.
func prepareHeader(h *relay.HeaderSubmission) *preparedBid {
	trace := bareTrace(h.Trace)
	trace.NumBlobs, trace.BlockNumber = len(h.Commitments), h.Header.BlockNumber
	return &preparedBid{fork: h.Fork, header: h.Header, commitments: h.Commitments, requests: h.Requests, trace: trace}
}

// message is the part of the bid that the relay signs.
func (p *preparedBid) message(relayKey *bls.SecretKey) wire.Bid {
	return wire.Bid{
		Fork: p.fork, Header: p.header, Commitments: p.commitments, Requests: p.requests, ValueWei: p.trace.ValueWei,
		Relay: relayKey.PublicKey(),
	}
}
