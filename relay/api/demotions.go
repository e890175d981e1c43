package api

import (
	"net/http"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/serve"
	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/relay/wire"
)

// demotions lists the demotions, the newest first.
func (a *adminHandlers) demotions(w http.ResponseWriter, r *http.Request) {
	list := a.Demotions.Demotions()
	if list == nil {
		list = []relay.BuilderDemoted{}
	}
	serve.JSON(w, r, http.StatusOK, list)
}

// submission answers with the block of a demotion in SSZ: the fork's SubmitBlockRequest, or
// SignedBidSubmissionV6 from gloas on, with zeros for the signature, which is in the list of
// demotions.
func (a *adminHandlers) submission(w http.ResponseWriter, r *http.Request) {
	var hash phase0.Hash32
	if err := eth.ParseHex(r.PathValue("block_hash"), hash[:]); err != nil {
		Refuse(w, r, relay.InvalidHash.With("%v", err))
		return
	}
	contents, err := a.Evidence.Kept(r.Context(), hash)
	if err != nil {
		Refuse(w, r, err)
		return
	}
	if contents == nil {
		Refuse(w, r, relay.EvidenceUnknown.With("%#x", hash[:]))
		return
	}
	raw, err := wire.EncodeSubmission(wire.SSZ, &relay.Submission{
		Fork: contents.Fork, Trace: contents.Trace, Payload: contents.Payload, Blobs: contents.Blobs,
		Requests: contents.Requests, Gloas: contents.Gloas,
	})
	if err != nil {
		Refuse(w, r, err)
		return
	}
	w.Header().Set(VersionHeader, contents.Fork.String())
	serve.Bytes(w, http.StatusOK, wire.SSZ.ContentType(), raw)
}
