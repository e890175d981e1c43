package probe

import (
	builderbellatrix "github.com/attestantio/go-builder-client/api/bellatrix"
	buildercapella "github.com/attestantio/go-builder-client/api/capella"
	builderdeneb "github.com/attestantio/go-builder-client/api/deneb"
	builderelectra "github.com/attestantio/go-builder-client/api/electra"
	builderfulu "github.com/attestantio/go-builder-client/api/fulu"
	apibellatrix "github.com/attestantio/go-eth2-client/api/v1/bellatrix"
	apicapella "github.com/attestantio/go-eth2-client/api/v1/capella"
	apideneb "github.com/attestantio/go-eth2-client/api/v1/deneb"
	apielectra "github.com/attestantio/go-eth2-client/api/v1/electra"
	apifulu "github.com/attestantio/go-eth2-client/api/v1/fulu"
	"github.com/attestantio/go-eth2-client/spec/bellatrix"
	"github.com/attestantio/go-eth2-client/spec/capella"
	"github.com/attestantio/go-eth2-client/spec/deneb"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/payload"
)

// forks has, for each fork, functions that convert to and from the library's types of that fork.
// The table is the suite's own; the services do not use it.
var forks = eth.Column[form]{
	eth.Bellatrix: {
		submission: func(s *builderfulu.SubmitBlockRequest) Document {
			return &builderbellatrix.SubmitBlockRequest{
				Message: s.Message, ExecutionPayload: payload.ToBellatrix(s.ExecutionPayload), Signature: s.Signature,
			}
		},
		payload: func(p *deneb.ExecutionPayload) rooted { return payload.ToBellatrix(p) },
		header:  func(h *deneb.ExecutionPayloadHeader) rooted { return payload.HeaderToBellatrix(h) },
		bid: func(b *builderelectra.SignedBuilderBid) Document {
			return &builderbellatrix.SignedBuilderBid{Message: bellatrixBid(b.Message), Signature: b.Signature}
		},
		bidMessage: func(b *builderelectra.BuilderBid) rooted { return bellatrixBid(b) },
		readBid:    readBellatrixBid,
		blinded: func(s *apielectra.SignedBlindedBeaconBlock) Document {
			return &apibellatrix.SignedBlindedBeaconBlock{Message: bellatrixBlinded(s.Message), Signature: s.Signature}
		},
		blindedMessage: func(m *apielectra.BlindedBeaconBlock) rooted { return bellatrixBlinded(m) },
		readPayload:    readBellatrixPayload,
		local:          func() Document { return new(bellatrix.BeaconBlock) },
	},
	eth.Capella: {
		submission: func(s *builderfulu.SubmitBlockRequest) Document {
			return &buildercapella.SubmitBlockRequest{
				Message: s.Message, ExecutionPayload: payload.ToCapella(s.ExecutionPayload), Signature: s.Signature,
			}
		},
		payload: func(p *deneb.ExecutionPayload) rooted { return payload.ToCapella(p) },
		header:  func(h *deneb.ExecutionPayloadHeader) rooted { return payload.HeaderToCapella(h) },
		bid: func(b *builderelectra.SignedBuilderBid) Document {
			return &buildercapella.SignedBuilderBid{Message: capellaBid(b.Message), Signature: b.Signature}
		},
		bidMessage: func(b *builderelectra.BuilderBid) rooted { return capellaBid(b) },
		readBid:    readCapellaBid,
		blinded: func(s *apielectra.SignedBlindedBeaconBlock) Document {
			return &apicapella.SignedBlindedBeaconBlock{Message: capellaBlinded(s.Message), Signature: s.Signature}
		},
		blindedMessage: func(m *apielectra.BlindedBeaconBlock) rooted { return capellaBlinded(m) },
		readPayload:    readCapellaPayload,
		local:          func() Document { return new(capella.BeaconBlock) },
	},
	eth.Deneb: {
		submission: func(s *builderfulu.SubmitBlockRequest) Document {
			return &builderdeneb.SubmitBlockRequest{
				Message: s.Message, ExecutionPayload: s.ExecutionPayload, BlobsBundle: toOlderBlobs(s.BlobsBundle),
				Signature: s.Signature,
			}
		},
		payload: toWidestPayload,
		header:  toWidestHeader,
		bid: func(b *builderelectra.SignedBuilderBid) Document {
			return &builderdeneb.SignedBuilderBid{Message: denebBid(b.Message), Signature: b.Signature}
		},
		bidMessage: func(b *builderelectra.BuilderBid) rooted { return denebBid(b) },
		readBid:    readDenebBid,
		blinded: func(s *apielectra.SignedBlindedBeaconBlock) Document {
			return &apideneb.SignedBlindedBeaconBlock{Message: denebBlinded(s.Message), Signature: s.Signature}
		},
		blindedMessage: func(m *apielectra.BlindedBeaconBlock) rooted { return denebBlinded(m) },
		readPayload:    readPayloadOfOlderBlobs,
		local:          func() Document { return new(apideneb.BlockContents) },
	},
	eth.Electra: {
		submission: func(s *builderfulu.SubmitBlockRequest) Document {
			return &builderelectra.SubmitBlockRequest{
				Message: s.Message, ExecutionPayload: s.ExecutionPayload, BlobsBundle: toOlderBlobs(s.BlobsBundle),
				ExecutionRequests: s.ExecutionRequests, Signature: s.Signature,
			}
		},
		payload:        toWidestPayload,
		header:         toWidestHeader,
		bid:            newestBid,
		bidMessage:     newestBidMessage,
		readBid:        readNewestBid,
		blinded:        newestBlinded,
		blindedMessage: newestBlindedMessage,
		readPayload:    readPayloadOfOlderBlobs,
		local:          func() Document { return new(apielectra.BlockContents) },
	},
	eth.Fulu: {
		submission:     func(s *builderfulu.SubmitBlockRequest) Document { return s },
		payload:        toWidestPayload,
		header:         toWidestHeader,
		bid:            newestBid,
		bidMessage:     newestBidMessage,
		readBid:        readNewestBid,
		blinded:        newestBlinded,
		blindedMessage: newestBlindedMessage,
		readPayload:    readNewestPayload,
		local:          func() Document { return new(apifulu.BlockContents) },
	},
}

// form converts types of the newest fork to those of one fork, and reads them back.
type form struct {
	submission     func(*builderfulu.SubmitBlockRequest) Document
	payload        func(*deneb.ExecutionPayload) rooted
	header         func(*deneb.ExecutionPayloadHeader) rooted
	bid            func(*builderelectra.SignedBuilderBid) Document
	bidMessage     func(*builderelectra.BuilderBid) rooted
	readBid        func(media string, raw []byte) (*builderelectra.SignedBuilderBid, error)
	blinded        func(*apielectra.SignedBlindedBeaconBlock) Document
	blindedMessage func(*apielectra.BlindedBeaconBlock) rooted
	readPayload    func(media string, raw []byte) (*builderfulu.ExecutionPayloadAndBlobsBundle, error)
	local          func() Document // makes an empty local block, to decode into
}

// Has says whether the suite can build and read blocks of a fork. The other functions must only be
// called for such forks; a world has no other fork.
func Has(fork eth.Fork) bool {
	_, err := forks.Of(fork, "forms")
	return err == nil
}

func toWidestPayload(p *deneb.ExecutionPayload) rooted              { return p }
func toWidestHeader(h *deneb.ExecutionPayloadHeader) rooted         { return h }
func newestBid(b *builderelectra.SignedBuilderBid) Document         { return b }
func newestBidMessage(b *builderelectra.BuilderBid) rooted          { return b }
func newestBlinded(s *apielectra.SignedBlindedBeaconBlock) Document { return s }
func newestBlindedMessage(m *apielectra.BlindedBeaconBlock) rooted  { return m }
