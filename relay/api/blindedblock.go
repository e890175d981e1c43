package api

import (
	"net/http"
	"time"

	"github.com/gavel-relay/gavel/internal/serve"
	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/relay/wire"
)

// blindedBlockV1 publishes a signed blinded block and answers with the payload in JSON or SSZ
// (builder-specs, submitBlindedBlock).
func (a *proposerHandlers) blindedBlockV1(w http.ResponseWriter, r *http.Request) {
	at := a.Clock.Now()
	accepted, ok := serve.Negotiate(r, wire.JSON.ContentType(), wire.SSZ.ContentType())
	if !ok {
		Refuse(w, r, relay.NotAcceptable.Plain())
		return
	}
	contents, err := a.deliver(w, r, at, true)
	if err != nil {
		Refuse(w, r, err)
		return
	}
	media := wire.JSON
	if accepted == wire.SSZ.ContentType() {
		media = wire.SSZ
	}
	raw, err := wire.EncodePayload(media, contents)
	if err != nil {
		Refuse(w, r, err)
		return
	}
	w.Header().Set(VersionHeader, contents.Fork.String())
	serve.Bytes(w, http.StatusOK, accepted, raw)
}

// blindedBlockV2 publishes a signed blinded block and does not return the payload. It answers 202
// without a body after a beacon node has accepted the block (builder-specs, submitBlindedBlockV2).
func (a *proposerHandlers) blindedBlockV2(w http.ResponseWriter, r *http.Request) {
	if _, err := a.deliver(w, r, a.Clock.Now(), false); err != nil {
		Refuse(w, r, err)
		return
	}
	w.WriteHeader(http.StatusAccepted)
}

func (a *proposerHandlers) deliver(w http.ResponseWriter, r *http.Request, at time.Time,
	reveal bool) (*relay.Contents, error) {
	block, refused := a.readBlindedBlock(w, r)
	if refused != nil {
		return nil, refused
	}
	return a.Deliverer.Deliver(r.Context(), at, block, reveal)
}

// readBlindedBlock decodes the body in the fork of its slot. The version header is needed for SSZ
// and optional for JSON.
func (a *proposerHandlers) readBlindedBlock(w http.ResponseWriter,
	r *http.Request) (*relay.BlindedBlock, *relay.Refused) {
	media, refused := Media(r)
	if refused != nil {
		return nil, refused
	}
	body, refused := Body(w, r, maxBlindedBlock)
	if refused != nil {
		return nil, refused
	}
	slot, err := wire.SlotOfBlinded(media, body)
	if err != nil {
		return nil, relay.Malformed.With("%v", err)
	}
	fork, refused := Fork(r, a.Spec.ForkAt(slot), media == wire.SSZ)
	if refused != nil {
		return nil, refused
	}
	block, err := wire.DecodeBlinded(fork, media, body)
	if err != nil {
		return nil, relay.Malformed.With("%v", err)
	}
	return block, nil
}
