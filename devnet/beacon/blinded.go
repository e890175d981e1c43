package beacon

import (
	"fmt"
	"net/http"

	apibellatrix "github.com/attestantio/go-eth2-client/api/v1/bellatrix"
	apicapella "github.com/attestantio/go-eth2-client/api/v1/capella"
	apideneb "github.com/attestantio/go-eth2-client/api/v1/deneb"
	apielectra "github.com/attestantio/go-eth2-client/api/v1/electra"
	apifulu "github.com/attestantio/go-eth2-client/api/v1/fulu"
	"github.com/attestantio/go-eth2-client/spec/bellatrix"
	"github.com/attestantio/go-eth2-client/spec/capella"
	"github.com/attestantio/go-eth2-client/spec/deneb"
	"github.com/attestantio/go-eth2-client/spec/electra"
	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/payload"
	"github.com/gavel-relay/gavel/internal/serve"
)

// A node that has no builder network still hands out blinded blocks: of its own payloads, which it
// keeps and puts back in when the signed block comes.

// maxKept bounds the local blocks that wait for their signature.
const maxKept = 16

// keep remembers a local block until it comes back signed. The caller does not hold mu.
func (b *Beacon) keep(root phase0.Root, made *produced) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.kept) >= maxKept {
		for old := range b.kept {
			delete(b.kept, old)
			break
		}
	}
	b.kept[root] = made
}

// blindedBlock produces a local block without its payload (beacon-APIs, produceBlindedBlock).
func (b *Beacon) blindedBlock(w http.ResponseWriter, r *http.Request) {
	media, made, err := b.produceAsked(r)
	if err != nil {
		serve.Refuse(w, r, err)
		return
	}
	blinded, err := blind(made)
	var root phase0.Root
	if err == nil {
		root, err = blinded.HashTreeRoot()
	}
	if err != nil {
		serve.Refuse(w, r, fmt.Errorf("blind block: %w", err))
		return
	}
	b.keep(root, made)
	w.Header().Set(versionHeader, made.fork.String())
	if media == mediaJSON {
		data(w, r, blinded, map[string]any{"version": made.fork.String()})
		return
	}
	raw, err := blinded.MarshalSSZ()
	if err != nil {
		serve.Refuse(w, r, fmt.Errorf("encode block: %w", err))
		return
	}
	serve.Bytes(w, http.StatusOK, mediaSSZ, raw)
}

// publishBlinded takes a signed blinded block of a payload that is kept (beacon-APIs,
// publishBlindedBlock and V2).
func (b *Beacon) publishBlinded(w http.ResponseWriter, r *http.Request) {
	fork := b.cfg.Spec.ForkAt(b.cfg.Spec.SlotAt(b.cfg.Clock.Now()))
	if r.Header.Get(versionHeader) != "" {
		var err error
		if fork, err = forkOf(r); err != nil {
			serve.Refuse(w, r, err)
			return
		}
	}
	body, json, level, err := readPublished(w, r)
	var root phase0.Root
	var signature phase0.BLSSignature
	if err == nil {
		root, signature, err = decodeBlinded(fork, json, body)
	}
	if err != nil {
		serve.Refuse(w, r, err)
		return
	}
	b.mu.RLock()
	made := b.kept[root]
	b.mu.RUnlock()
	if made == nil {
		serve.Refuse(w, r, bad("the payload of block %#x is not known here, and no builder is configured", root[:]))
		return
	}
	signed, err := viewSigned(made.fork, made.template.sign(made.built, signature))
	if err != nil {
		serve.Refuse(w, r, err)
		return
	}
	if made.fork >= eth.Deneb {
		signed.blobs = made.built.Blobs
	}
	b.importAnswered(w, r, signed, level)
}

// blindedCodec is a blinded block of any fork.
type blindedCodec interface {
	codec
	hasher
}

// decodeBlinded reads a signed blinded block, as far as it is needed: its root and its signature.
func decodeBlinded(fork eth.Fork, json bool, body []byte) (root phase0.Root, signature phase0.BLSSignature, err error) {
	defer func() { // the library indexes into what it reads
		if r := recover(); r != nil {
			err = bad("decode block: malformed input: %v", r)
		}
	}()
	read := func(into codec) error {
		if json {
			return into.UnmarshalJSON(body)
		}
		return into.UnmarshalSSZ(body)
	}
	var message blindedCodec
	switch fork {
	case eth.Bellatrix:
		block := new(apibellatrix.SignedBlindedBeaconBlock)
		err, message, signature = read(block), block.Message, block.Signature
	case eth.Capella:
		block := new(apicapella.SignedBlindedBeaconBlock)
		err, message, signature = read(block), block.Message, block.Signature
	case eth.Deneb:
		block := new(apideneb.SignedBlindedBeaconBlock)
		err, message, signature = read(block), block.Message, block.Signature
	default:
		block := new(apielectra.SignedBlindedBeaconBlock)
		err, message, signature = read(block), block.Message, block.Signature
	}
	if err != nil {
		return root, signature, bad("decode block: %v", err)
	}
	root, err = message.HashTreeRoot()
	return root, signature, err
}

// blind replaces a local block's payload by its header.
func blind(made *produced) (blindedCodec, error) {
	header, err := payload.HeaderOf(made.fork, made.built.Payload)
	if err != nil {
		return nil, err
	}
	switch full := made.block.(type) {
	case *bellatrix.BeaconBlock:
		body := full.Body
		return &apibellatrix.BlindedBeaconBlock{
			Slot: full.Slot, ProposerIndex: full.ProposerIndex, ParentRoot: full.ParentRoot, StateRoot: full.StateRoot,
			Body: &apibellatrix.BlindedBeaconBlockBody{
				RANDAOReveal: body.RANDAOReveal, ETH1Data: body.ETH1Data, Graffiti: body.Graffiti,
				ProposerSlashings: body.ProposerSlashings,
				AttesterSlashings: body.AttesterSlashings, Attestations: body.Attestations, Deposits: body.Deposits,
				VoluntaryExits: body.VoluntaryExits, SyncAggregate: body.SyncAggregate,
				ExecutionPayloadHeader: payload.HeaderToBellatrix(header),
			},
		}, nil
	case *capella.BeaconBlock:
		body := full.Body
		return &apicapella.BlindedBeaconBlock{
			Slot: full.Slot, ProposerIndex: full.ProposerIndex, ParentRoot: full.ParentRoot, StateRoot: full.StateRoot,
			Body: &apicapella.BlindedBeaconBlockBody{
				RANDAOReveal: body.RANDAOReveal, ETH1Data: body.ETH1Data, Graffiti: body.Graffiti,
				ProposerSlashings: body.ProposerSlashings,
				AttesterSlashings: body.AttesterSlashings, Attestations: body.Attestations, Deposits: body.Deposits,
				VoluntaryExits: body.VoluntaryExits, SyncAggregate: body.SyncAggregate,
				ExecutionPayloadHeader: payload.HeaderToCapella(header), BLSToExecutionChanges: body.BLSToExecutionChanges,
			},
		}, nil
	case *apideneb.BlockContents:
		return blindDeneb(full.Block, header), nil
	case *apielectra.BlockContents:
		return blindElectra(full.Block, header), nil
	case *apifulu.BlockContents:
		return blindElectra(full.Block, header), nil
	default:
		return nil, fmt.Errorf("a %T cannot be blinded", full)
	}
}

func blindDeneb(full *deneb.BeaconBlock, header *payload.Header) *apideneb.BlindedBeaconBlock {
	body := full.Body
	return &apideneb.BlindedBeaconBlock{
		Slot: full.Slot, ProposerIndex: full.ProposerIndex, ParentRoot: full.ParentRoot, StateRoot: full.StateRoot,
		Body: &apideneb.BlindedBeaconBlockBody{
			RANDAOReveal: body.RANDAOReveal, ETH1Data: body.ETH1Data, Graffiti: body.Graffiti,
			ProposerSlashings: body.ProposerSlashings,
			AttesterSlashings: body.AttesterSlashings, Attestations: body.Attestations, Deposits: body.Deposits,
			VoluntaryExits: body.VoluntaryExits, SyncAggregate: body.SyncAggregate, ExecutionPayloadHeader: header,
			BLSToExecutionChanges: body.BLSToExecutionChanges, BlobKZGCommitments: body.BlobKZGCommitments,
		},
	}
}

func blindElectra(full *electra.BeaconBlock, header *payload.Header) *apielectra.BlindedBeaconBlock {
	body := full.Body
	return &apielectra.BlindedBeaconBlock{
		Slot: full.Slot, ProposerIndex: full.ProposerIndex, ParentRoot: full.ParentRoot, StateRoot: full.StateRoot,
		Body: &apielectra.BlindedBeaconBlockBody{
			RANDAOReveal: body.RANDAOReveal, ETH1Data: body.ETH1Data, Graffiti: body.Graffiti,
			ProposerSlashings: body.ProposerSlashings,
			AttesterSlashings: body.AttesterSlashings, Attestations: body.Attestations, Deposits: body.Deposits,
			VoluntaryExits: body.VoluntaryExits, SyncAggregate: body.SyncAggregate, ExecutionPayloadHeader: header,
			BLSToExecutionChanges: body.BLSToExecutionChanges, BlobKZGCommitments: body.BlobKZGCommitments,
			ExecutionRequests: body.ExecutionRequests,
		},
	}
}
