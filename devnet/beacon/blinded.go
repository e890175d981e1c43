package beacon

import (
	"fmt"
	"net/http"

	apideneb "github.com/attestantio/go-eth2-client/api/v1/deneb"
	apielectra "github.com/attestantio/go-eth2-client/api/v1/electra"
	apifulu "github.com/attestantio/go-eth2-client/api/v1/fulu"
	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/eth"

	"github.com/gavel-relay/gavel/internal/eth/payload"
	"github.com/gavel-relay/gavel/internal/serve"
)

// This node has no builder network, but it can hand out blinded blocks of its own payloads. It
// keeps such a payload, and puts it back in when the signed block comes.

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
	block, err := blinded(made)
	var root phase0.Root
	if err == nil {
		root, err = block.HashTreeRoot()
	}
	if err != nil {
		serve.Refuse(w, r, fmt.Errorf("blind block: %w", err))
		return
	}
	b.keep(root, made)
	w.Header().Set(versionHeader, made.fork.String())
	if media == mediaJSON {
		data(w, r, block, map[string]any{"version": made.fork.String()})
		return
	}
	raw, err := block.MarshalSSZ()
	if err != nil {
		serve.Refuse(w, r, fmt.Errorf("encode block: %w", err))
		return
	}
	serve.Bytes(w, http.StatusOK, mediaSSZ, raw)
}

// publishBlinded takes a signed blinded block whose payload this node has kept (beacon-APIs,
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
	block, err := sign(made.block, signature)
	var signed *signedBlock
	if err == nil {
		signed, err = viewSigned(made.fork, block)
	}
	if err != nil {
		serve.Refuse(w, r, err)
		return
	}
	if made.fork.HasBlobs() {
		signed.blobs = made.built.Blobs
	}
	b.importAnswered(w, r, signed, level)
}

// decodeBlinded reads the root and the signature of a signed blinded block; nothing else is needed.
func decodeBlinded(fork eth.Fork, json bool, body []byte) (root phase0.Root, signature phase0.BLSSignature, err error) {
	defer func() { // the library can panic on malformed input
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
	form, err := forms.Of(fork, "blinded blocks")
	if err == nil && form.blinded == nil {
		err = fmt.Errorf("there are no blinded blocks in %s", fork)
	}
	if err != nil {
		return root, signature, bad("decode block: %v", err)
	}
	message, signature, err := form.blinded(read)
	if err != nil {
		return root, signature, bad("decode block: %v", err)
	}
	root, err = message.HashTreeRoot()
	return root, signature, err
}

// blinded replaces a local block's payload by its header.
func blinded(made *produced) (payload.Blinded, error) {
	header, err := payload.HeaderOf(made.fork, made.built.Payload)
	if err != nil {
		return nil, err
	}
	offer := payload.Offer{Header: header, Requests: made.built.Requests}
	if made.built.Blobs != nil {
		offer.Commitments = made.built.Blobs.Commitments
	}
	return payload.Blind(blockOf(made.block), offer)
}

// blockOf returns a local block without its blobs.
func blockOf(local codec) any {
	switch local := local.(type) {
	case *apideneb.BlockContents:
		return local.Block
	case *apielectra.BlockContents:
		return local.Block
	case *apifulu.BlockContents:
		return local.Block
	default:
		return local
	}
}
