package wire

import (
	"github.com/attestantio/go-builder-client/api/bellatrix"
	"github.com/attestantio/go-builder-client/api/capella"
	"github.com/attestantio/go-builder-client/api/deneb"
	"github.com/attestantio/go-builder-client/api/electra"
	"github.com/attestantio/go-builder-client/api/fulu"
	specbellatrix "github.com/attestantio/go-eth2-client/spec/bellatrix"
	speccapella "github.com/attestantio/go-eth2-client/spec/capella"
	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/payload"
	"github.com/gavel-relay/gavel/relay"
)

// forms are the libraries' types of each fork. Code that differs between forks only by single
// fields is not here: it asks the fork which fields it has.
var forms = eth.Column[form]{
	eth.Bellatrix: {
		request: func(c *relay.Contents, signature phase0.BLSSignature) codec {
			return &bellatrix.SubmitBlockRequest{
				Message: c.Trace, ExecutionPayload: payload.ToBellatrix(c.Payload), Signature: signature,
			}
		},
		readRequest: readWhole(fromBellatrix),
		header:      func(h *payload.Header) codec { return payload.HeaderToBellatrix(h) },
		readHeader: func(ssz []byte) (*payload.Header, error) {
			header := new(specbellatrix.ExecutionPayloadHeader)
			if err := readSSZ(header, ssz); err != nil {
				return nil, err
			}
			return payload.HeaderFromBellatrix(header), nil
		},
		bid: func(b *Bid) hashed {
			return &bellatrix.BuilderBid{Header: payload.HeaderToBellatrix(b.Header), Value: b.ValueWei, Pubkey: b.Relay}
		},
		blinded:  blindedBellatrix,
		revealed: func(c *relay.Contents) codec { return payload.ToBellatrix(c.Payload) },
	},
	eth.Capella: {
		request: func(c *relay.Contents, signature phase0.BLSSignature) codec {
			return &capella.SubmitBlockRequest{
				Message: c.Trace, ExecutionPayload: payload.ToCapella(c.Payload), Signature: signature,
			}
		},
		readRequest: readWhole(fromCapella),
		header:      func(h *payload.Header) codec { return payload.HeaderToCapella(h) },
		readHeader: func(ssz []byte) (*payload.Header, error) {
			header := new(speccapella.ExecutionPayloadHeader)
			if err := readSSZ(header, ssz); err != nil {
				return nil, err
			}
			return payload.HeaderFromCapella(header), nil
		},
		bid: func(b *Bid) hashed {
			return &capella.BuilderBid{Header: payload.HeaderToCapella(b.Header), Value: b.ValueWei, Pubkey: b.Relay}
		},
		blinded:  blindedCapella,
		revealed: func(c *relay.Contents) codec { return payload.ToCapella(c.Payload) },
	},
	eth.Deneb: {
		request: func(c *relay.Contents, signature phase0.BLSSignature) codec {
			return &deneb.SubmitBlockRequest{
				Message: c.Trace, ExecutionPayload: c.Payload, BlobsBundle: toDenebBundle(c.Blobs), Signature: signature,
			}
		},
		readRequest: readWhole(fromDeneb),
		header:      widestHeader,
		readHeader:  readWidestHeader,
		bid: func(b *Bid) hashed {
			return &deneb.BuilderBid{
				Header: b.Header, BlobKZGCommitments: b.Commitments, Value: b.ValueWei, Pubkey: b.Relay,
			}
		},
		blinded:  blindedDeneb,
		revealed: withDenebBundle,
	},
	eth.Electra: {
		request: func(c *relay.Contents, signature phase0.BLSSignature) codec {
			return &electra.SubmitBlockRequest{
				Message: c.Trace, ExecutionPayload: c.Payload, BlobsBundle: toDenebBundle(c.Blobs),
				ExecutionRequests: requestsOf(c.Requests), Signature: signature,
			}
		},
		readRequest: decodeSubmissionSSZ,
		inPlace:     true,
		header:      widestHeader,
		readHeader:  readWidestHeader,
		bid:         electraBid,
		blinded:     blindedElectra,
		revealed:    withDenebBundle,
	},
	eth.Fulu: {
		request: func(c *relay.Contents, signature phase0.BLSSignature) codec {
			return &fulu.SubmitBlockRequest{
				Message: c.Trace, ExecutionPayload: c.Payload, BlobsBundle: toFuluBundle(c.Blobs),
				ExecutionRequests: requestsOf(c.Requests), Signature: signature,
			}
		},
		readRequest: decodeSubmissionSSZ,
		inPlace:     true,
		header:      widestHeader,
		readHeader:  readWidestHeader,
		bid:         electraBid,
		blinded:     blindedFulu,
		revealed: func(c *relay.Contents) codec {
			return &fulu.ExecutionPayloadAndBlobsBundle{ExecutionPayload: c.Payload, BlobsBundle: toFuluBundle(c.Blobs)}
		},
	},
}

// form makes and reads a fork's values in the libraries' types.
type form struct {
	// request is a SubmitBlockRequest, and readRequest reads one in SSZ.
	request     func(*relay.Contents, phase0.BLSSignature) codec
	readRequest func(fork eth.Fork, body []byte) (*relay.Submission, error)
	// inPlace says that readRequest does not copy blobs and transactions out of the body, and that a
	// Prefix can read its beginning.
	inPlace bool
	// header is an ExecutionPayloadHeader, and readHeader reads one in SSZ.
	header     func(*payload.Header) codec
	readHeader func(ssz []byte) (*payload.Header, error)
	// bid is a BuilderBid.
	bid func(*Bid) hashed
	// blinded is the SignedBlindedBeaconBlock; nil in a fork that has none.
	blinded *blindedForm
	// revealed is the answer of submitBlindedBlock v1.
	revealed func(*relay.Contents) codec
}

// hashed is the method of all types of the libraries that are signed.
type hashed interface {
	HashTreeRoot() ([32]byte, error)
}

// Serves says whether the relay has forms of the fork. A fork that has only a row in eth.Table is
// refused.
func Serves(fork eth.Fork) bool {
	_, err := forms.Of(fork, "auctions")
	return err == nil
}

// isInPlace says whether bodies of the fork are read without copying, so that their beginning can
// be read ahead.
func isInPlace(fork eth.Fork) bool { return forms[fork].inPlace }

func widestHeader(h *payload.Header) codec { return h }

func readWidestHeader(ssz []byte) (*payload.Header, error) {
	header := new(payload.Header)
	return header, readSSZ(header, ssz)
}

func electraBid(b *Bid) hashed {
	return &electra.BuilderBid{
		Header: b.Header, BlobKZGCommitments: b.Commitments, ExecutionRequests: requestsOf(b.Requests),
		Value: b.ValueWei, Pubkey: b.Relay,
	}
}

func withDenebBundle(c *relay.Contents) codec {
	return &deneb.ExecutionPayloadAndBlobsBundle{ExecutionPayload: c.Payload, BlobsBundle: toDenebBundle(c.Blobs)}
}
