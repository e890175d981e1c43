package relay

import (
	"net/http"

	builderfulu "github.com/attestantio/go-builder-client/api/fulu"
	"github.com/attestantio/go-eth2-client/spec/electra"

	"github.com/gavel-relay/gavel/conformance/probe"
	"github.com/gavel-relay/gavel/conformance/suite"
	"github.com/gavel-relay/gavel/conformance/world"
	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/gloas"
	"github.com/gavel-relay/gavel/internal/eth/payload"
)

// describeGloasSubmissions adds specs about what builders submit from gloas on.
func describeGloasSubmissions(r *specs) {
	for _, row := range []struct {
		title, media, encoding, fork string
	}{
		{"JSON", jsonType, "", eth.Gloas.String()},
		{"JSON that names no fork", jsonType, "", ""},
		{"SSZ", sszType, "", eth.Gloas.String()},
		{"SSZ that names no fork", sszType, "", ""},
		{"packed JSON", jsonType, "gzip", eth.Gloas.String()},
		{"packed SSZ", sszType, "gzip", eth.Gloas.String()},
	} {
		r.It("GLO-SUB-01", "takes "+row.title, func(t *suite.T) {
			a := r.openGloas(t, world.Wanted{})
			a.prepareOffered(a.offer("first", gwei(500))) // the relay knows the slot
			o := a.offerInOrder("a", gwei(1000), world.Order{Blobs: 1})
			body := o.json()
			if row.media == sszType {
				body = o.ssz()
			}
			if row.encoding != "" {
				body = compress(t, body)
			}
			request := versioned(submitPath, row.media, row.fork, body)
			request.Header["Content-Encoding"] = row.encoding
			t.Status(t.Do(builderAPI(t), request), http.StatusOK, http.StatusAccepted)
			a.checkSold(o)
		})
	}
	for _, row := range []struct {
		clause, title string
		change        func(o, other *offered)
	}{
		{"GLO-SUB-02", "the number of another slot", func(o, _ *offered) {
			o.ExecutionPayload.SlotNumber++
			o.rehash()
		}},
		{"GLO-SUB-02", "no access list", func(o, _ *offered) { o.ExecutionPayload.BlockAccessList = nil }},
		{"GLO-SUB-02", "the access list of another block", func(o, other *offered) {
			o.ExecutionPayload.BlockAccessList = other.ExecutionPayload.BlockAccessList
		}},
		{"GLO-SUB-02", "requests that its block does not have", func(o, _ *offered) {
			o.ExecutionRequests = &gloas.ExecutionRequests{BuilderExits: []*gloas.BuilderExitRequest{{}}}
		}},
		{"GLO-SUB-02", "requests of a type before that its block does not have", func(o, _ *offered) {
			o.ExecutionRequests = &gloas.ExecutionRequests{Withdrawals: []*electra.WithdrawalRequest{{}}}
		}},
		{"GLO-SUB-03", "the access list of another block under a hash that fits", func(o, other *offered) {
			o.ExecutionPayload.BlockAccessList = other.ExecutionPayload.BlockAccessList
			o.rehash()
		}},
		{"GLO-SUB-05", "less paid than it says", func(o, _ *offered) {
			o.Message.Value.AddUint64(o.Message.Value, 1_000_000_000)
			o.sign()
		}},
		{"GLO-SUB-05", "a changed signature", func(o, _ *offered) { o.Signature[4] ^= 1 }},
	} {
		r.It(row.clause, "refuses a block with "+row.title, func(t *suite.T) {
			a := r.openGloas(t, world.Wanted{})
			good := a.prepareOffered(a.offer("a", gwei(1000)))
			o, other := a.offer("b", gwei(2000)), a.offer("b", gwei(1999))
			row.change(o, other)
			t.Status(a.sendBlock(o), http.StatusBadRequest)
			a.checkSold(good)
			t.Status(a.sendBlock(a.offer("b", gwei(2000))), http.StatusOK, http.StatusAccepted)
		})
	}
	r.It("GLO-SUB-03", "trusts a builder no more whose block has a wrong access list", func(t *suite.T) {
		a := r.openGloas(t, world.Wanted{Alone: true})
		a.prepareOffered(a.offer("a", gwei(1000)))
		keys := trustedKeys(t)
		if len(keys) == 0 {
			t.NotRun("the target does not declare relay.trustedBuilders: whom it trusts")
		}
		wrong := func(key *probe.BLSKey) *offered {
			o, other := a.offer("b", gwei(2000+100*uint64(a.blocks))), a.offer("b", gwei(1))
			o.key, o.Message.BuilderPubkey = key, key.Public
			o.ExecutionPayload.BlockAccessList = other.ExecutionPayload.BlockAccessList
			return o.rehash()
		}
		for _, key := range keys {
			if a.sendBlock(wrong(key)).Status != http.StatusOK {
				continue // an earlier spec has used up this builder
			}
			var answer *probe.Answer
			_ = t.Eventually(executedWithin, func() error {
				if answer = a.sendBlock(wrong(key)); answer.Status != http.StatusBadRequest {
					return errStillTrusted
				}
				return nil
			})
			t.Status(answer, http.StatusBadRequest)
			a.prepareOffered(a.offer("c", gwei(90_000))) // otherwise the slot is over, and all is refused
			return
		}
		t.Check(false, "a trusted builder's bid to be taken before its block is executed", "all refused")
	})
	for _, fork := range []string{eth.Fulu.String(), ""} {
		r.It("GLO-SUB-04", "refuses a submission of the fork before, named "+named(fork), func(t *suite.T) {
			a := r.openGloas(t, world.Wanted{})
			good := a.prepareOffered(a.offer("a", gwei(1000)))
			o := a.offer("b", gwei(2000))
			p, requests, _ := payload.SplitGloas(o.ExecutionPayload, o.ExecutionRequests)
			raw, err := (&builderfulu.SubmitBlockRequest{
				Message: o.Message, ExecutionPayload: p, ExecutionRequests: requests, Signature: o.Signature,
				BlobsBundle: &builderfulu.BlobsBundle{},
			}).MarshalSSZ()
			t.Ready(err, "encode a submission of fulu")
			t.Status(t.Do(builderAPI(t), versioned(submitPath, sszType, fork, raw)), http.StatusBadRequest)
			a.checkSold(good)
		})
	}
}

func named(fork string) string {
	if fork == "" {
		return "by nothing"
	}
	return fork
}
