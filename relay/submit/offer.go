package submit

import (
	"encoding/json"
	"fmt"

	"github.com/attestantio/go-eth2-client/spec/deneb"
	"github.com/attestantio/go-eth2-client/spec/electra"
	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/payload"
	"github.com/gavel-relay/gavel/relay"
)

// offer is what an instance needs of another one's bid, to serve the same bytes, to await its
// payload, and to execute it if nobody else does. All but the counts is SSZ.
type offer struct {
	Fork string `json:"fork"`
	// Message and Signature are what the builder signed.
	Message   []byte              `json:"message"`
	Signature phase0.BLSSignature `json:"signature"`
	Later     bool                `json:"signature_later,omitempty"` // the signature is not verified yet
	// as ExecutionPayloadHeader of deneb, whatever the fork
	Header   []byte                `json:"header"`
	Blobs    []deneb.KZGCommitment `json:"commitments,omitempty"`
	Requests []byte                `json:"requests,omitempty"`
	// NumTx and NumBlobs are the counts that only the payload shows.
	NumTx    int `json:"num_tx,omitempty"`
	NumBlobs int `json:"num_blobs,omitempty"`
	// ParentRoot and RequestsRoot are what a bid that stands in a beacon block has besides (gloas).
	ParentRoot   phase0.Root `json:"parent_root,omitzero"`
	RequestsRoot phase0.Root `json:"requests_root,omitzero"`
}

// encodeOffer writes the offer of a bid.
func encodeOffer(s *relay.Submission, bid *preparedBid) (json.RawMessage, error) {
	o := offer{
		Fork: bid.fork.String(), Signature: s.Signature, Later: s.Identified, Blobs: bid.commitments,
		NumTx: bid.trace.NumTx, NumBlobs: bid.trace.NumBlobs, ParentRoot: bid.parentRoot, RequestsRoot: bid.requestsRoot,
	}
	var err error
	if o.Message, err = s.Trace.MarshalSSZ(); err != nil {
		return nil, fmt.Errorf("encode the message of a bid: %w", err)
	}
	if o.Header, err = bid.header.MarshalSSZ(); err != nil {
		return nil, fmt.Errorf("encode the header of a bid: %w", err)
	}
	if bid.requests != nil {
		if o.Requests, err = bid.requests.MarshalSSZ(); err != nil {
			return nil, fmt.Errorf("encode the requests of a bid: %w", err)
		}
	}
	return json.Marshal(o)
}

// decodeOffer reads an offer: the bid, and its submission without the payload.
func decodeOffer(data json.RawMessage) (*relay.Submission, *preparedBid, error) {
	var o offer
	if err := json.Unmarshal(data, &o); err != nil {
		return nil, nil, fmt.Errorf("decode the offer of a bid: %w", err)
	}
	fork, err := eth.ParseFork(o.Fork)
	if err != nil {
		return nil, nil, fmt.Errorf("decode the offer of a bid: %w", err)
	}
	s := &relay.Submission{Fork: fork, Trace: new(relay.BidTrace), Signature: o.Signature, Identified: o.Later}
	bid := &preparedBid{fork: fork, header: new(payload.Header), commitments: o.Blobs, parentRoot: o.ParentRoot,
		requestsRoot: o.RequestsRoot}
	if err := s.Trace.UnmarshalSSZ(o.Message); err != nil {
		return nil, nil, fmt.Errorf("decode the message of a bid: %w", err)
	}
	if err := bid.header.UnmarshalSSZ(o.Header); err != nil {
		return nil, nil, fmt.Errorf("decode the header of a bid: %w", err)
	}
	if len(o.Requests) > 0 {
		bid.requests = new(electra.ExecutionRequests)
		if err := bid.requests.UnmarshalSSZ(o.Requests); err != nil {
			return nil, nil, fmt.Errorf("decode the requests of a bid: %w", err)
		}
	}
	bid.trace = bareTrace(s.Trace)
	bid.trace.NumTx, bid.trace.NumBlobs, bid.trace.BlockNumber = o.NumTx, o.NumBlobs, bid.header.BlockNumber
	return s, bid, nil
}
