package beacon

import (
	apibellatrix "github.com/attestantio/go-eth2-client/api/v1/bellatrix"
	apicapella "github.com/attestantio/go-eth2-client/api/v1/capella"
	apideneb "github.com/attestantio/go-eth2-client/api/v1/deneb"
	apielectra "github.com/attestantio/go-eth2-client/api/v1/electra"
	apifulu "github.com/attestantio/go-eth2-client/api/v1/fulu"
	"github.com/attestantio/go-eth2-client/spec/bellatrix"
	"github.com/attestantio/go-eth2-client/spec/capella"
	"github.com/attestantio/go-eth2-client/spec/deneb"
	"github.com/attestantio/go-eth2-client/spec/electra"
	"github.com/attestantio/go-eth2-client/spec/fulu"
	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/devnet/chain"
	"github.com/gavel-relay/gavel/internal/eth"

	"github.com/gavel-relay/gavel/internal/eth/payload"
)

// forms are the library's types of each fork, as this node makes and reads them.
var forms = eth.Column[form]{
	eth.Bellatrix: {
		local: template.bellatrix,
		read:  readAs(func(_ eth.Fork, b *bellatrix.SignedBeaconBlock) (*signedBlock, error) { return viewBellatrix(b) }),
		blinded: blindedAs(func(b *apibellatrix.SignedBlindedBeaconBlock) (payload.Blinded, phase0.BLSSignature) {
			return b.Message, b.Signature
		}),
		state: func(full *fulu.BeaconState) codec {
			state := new(bellatrix.BeaconState)
			copyFields(full, state)
			state.LatestExecutionPayloadHeader = payload.HeaderToBellatrix(full.LatestExecutionPayloadHeader)
			return state
		},
	},
	eth.Capella: {
		local: template.capella,
		read:  readAs(func(_ eth.Fork, b *capella.SignedBeaconBlock) (*signedBlock, error) { return viewCapella(b) }),
		blinded: blindedAs(func(b *apicapella.SignedBlindedBeaconBlock) (payload.Blinded, phase0.BLSSignature) {
			return b.Message, b.Signature
		}),
		state: func(full *fulu.BeaconState) codec {
			state := new(capella.BeaconState)
			copyFields(full, state)
			state.LatestExecutionPayloadHeader = payload.HeaderToCapella(full.LatestExecutionPayloadHeader)
			return state
		},
	},
	eth.Deneb: {
		local: template.deneb,
		read:  readAs(func(_ eth.Fork, c *apideneb.SignedBlockContents) (*signedBlock, error) { return viewDeneb(c) }),
		blinded: blindedAs(func(b *apideneb.SignedBlindedBeaconBlock) (payload.Blinded, phase0.BLSSignature) {
			return b.Message, b.Signature
		}),
		state: func(full *fulu.BeaconState) codec {
			state := new(deneb.BeaconState)
			copyFields(full, state)
			return state
		},
	},
	eth.Electra: {
		local: func(t template, built *chain.Built) codec {
			return &apielectra.BlockContents{KZGProofs: built.Blobs.Proofs, Blobs: built.Blobs.Blobs, Block: t.electra(built)}
		},
		read: readAs(func(fork eth.Fork, c *apielectra.SignedBlockContents) (*signedBlock, error) {
			return viewElectra(fork, c.SignedBlock, c.KZGProofs, c.Blobs)
		}),
		blinded: blindedAs(seeBlindedElectra),
		state: func(full *fulu.BeaconState) codec {
			state := new(electra.BeaconState)
			copyFields(full, state)
			return state
		},
	},
	eth.Fulu: {
		local: func(t template, built *chain.Built) codec {
			return &apifulu.BlockContents{KZGProofs: built.Blobs.Proofs, Blobs: built.Blobs.Blobs, Block: t.electra(built)}
		},
		read: readAs(func(fork eth.Fork, c *apifulu.SignedBlockContents) (*signedBlock, error) {
			return viewElectra(fork, c.SignedBlock, c.KZGProofs, c.Blobs)
		}),
		blinded: blindedAs(seeBlindedElectra),
		state:   func(full *fulu.BeaconState) codec { return full },
	},
	eth.Gloas: {local: template.gloas}, // read by decodeGloas; there is no form of its states
}

// form has the functions that make and read one fork's blocks and states.
type form struct {
	// local makes an unsigned block: a BeaconBlock, or BlockContents from deneb on.
	local func(template, *chain.Built) codec
	// read reads a published block: a SignedBeaconBlock, or SignedBlockContents from deneb on.
	read func(fork eth.Fork, decode func(codec) error) (*signedBlock, error)
	// blinded reads a SignedBlindedBeaconBlock.
	blinded func(decode func(codec) error) (payload.Blinded, phase0.BLSSignature, error)
	// state makes a state of the fork from one of the newest fork, with the fields that it has.
	state func(*fulu.BeaconState) codec
}

// readAs returns a reader of one of the library's types that keeps what importing needs.
func readAs[T any, P interface {
	*T
	codec
}](view func(eth.Fork, P) (*signedBlock, error)) func(eth.Fork, func(codec) error) (*signedBlock, error) {
	return func(fork eth.Fork, decode func(codec) error) (*signedBlock, error) {
		published := P(new(T))
		if err := decode(published); err != nil {
			return nil, err
		}
		return view(fork, published)
	}
}

// blindedAs returns a reader of one of the library's types of signed blinded blocks.
func blindedAs[T any, P interface {
	*T
	codec
}](see func(P) (payload.Blinded, phase0.BLSSignature)) func(func(codec) error) (payload.Blinded,
	phase0.BLSSignature, error) {
	return func(decode func(codec) error) (payload.Blinded, phase0.BLSSignature, error) {
		signed := P(new(T))
		if err := decode(signed); err != nil {
			return nil, phase0.BLSSignature{}, err
		}
		message, signature := see(signed)
		return message, signature, nil
	}
}

func seeBlindedElectra(b *apielectra.SignedBlindedBeaconBlock) (payload.Blinded, phase0.BLSSignature) {
	return b.Message, b.Signature
}
