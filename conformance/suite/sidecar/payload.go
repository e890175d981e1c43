package sidecar

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"

	builderelectra "github.com/attestantio/go-builder-client/api/electra"
	apielectra "github.com/attestantio/go-eth2-client/api/v1/electra"
	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/conformance/probe"
	"github.com/gavel-relay/gavel/conformance/scripted"
	"github.com/gavel-relay/gavel/conformance/suite"
)

// sold is an auction in which a bid of some relays was handed on, and the proposer has signed it.
type sold struct {
	*sale

	bid   *builderelectra.SignedBuilderBid
	block *apielectra.SignedBlindedBeaconBlock
	hash  phase0.Hash32
}

// sell has relays offer the same block, and the proposer sign it. The relays that offer it refuse
// it until the spec says otherwise.
func sell(t *suite.T, offering ...int) *sold {
	a := open(t)
	p := a.Payload("sold")
	var bid *builderelectra.SignedBuilderBid
	for _, i := range offering {
		bid = a.makeHonestBid(a.relay(i), "sold", mid)
		a.offer(i, a.answerBid(bid))
	}
	a.prepareHandsOn(bid)
	return &sold{sale: a, bid: bid, block: a.Blind(bid), hash: p.BlockHash}
}

// answerBlock has a relay answer the block.
func (s *sold) answerBlock(index int, endpoint scripted.Endpoint, answer scripted.Answer) {
	s.relay(index).On(endpoint, s.hash[:], answer)
}

// submit sends the signed block in an encoding.
func (s *sold) submit(path, encoding string) *probe.Answer {
	document := probe.Blinded(s.Fork, s.block)
	raw, err := document.MarshalJSON()
	if encoding == sszType {
		raw, err = document.MarshalSSZ()
	}
	s.t.Ready(err, "encode a blinded block")
	request := post(path, encoding, raw)
	request.Header[versionHeader] = s.Fork.String()
	request.Header["Accept"] = jsonType
	answer := s.t.Do(client(s.t), request)
	if path == payloadPathV2 && answer.Status == http.StatusNotFound {
		s.t.Unsupported("404 to v2")
	}
	return answer
}

// checkHeard waits until a relay was sent the block, and fails the spec unless it is the one that
// was signed, with its fork.
func (s *sold) checkHeard(index int, endpoint scripted.Endpoint) {
	relay := s.relay(index)
	var asked []scripted.Asked
	err := s.t.Eventually(s.t.Target.Budgets.Settle(), func() error {
		if asked = relay.Heard(endpoint, s.hash[:]); len(asked) == 0 {
			return fmt.Errorf("relay %s was not sent the block", relay.Name)
		}
		return nil
	})
	s.t.Check(err == nil, "the signed block at relay "+relay.Name, err)
	got := asked[0]
	named := got.Header.Get(versionHeader)
	s.t.Check(named == s.Fork.String(), versionHeader+" "+s.Fork.String(), "Eth-Consensus-Version "+named)
	want, wantErr := probe.Blinded(s.Fork, s.block).MarshalSSZ()
	document := probe.Blinded(s.Fork, s.block)
	if strings.HasPrefix(got.Header.Get("Content-Type"), sszType) {
		err = document.UnmarshalSSZ(got.Body)
	} else {
		err = document.UnmarshalJSON(got.Body)
	}
	s.t.Check(err == nil, "a signed blinded block", err)
	raw, err := document.MarshalSSZ()
	s.t.Check(err == nil && wantErr == nil && bytes.Equal(raw, want), "the block that the proposer has signed", "another")
}

// describePayload adds specs about POST /eth/v2/builder/blinded_blocks.
func describePayload(s *suite.Set) {
	s.It("SID-PAY-01", "answers 202 without a body when a relay has taken the block", func(t *suite.T) {
		a := sell(t, 0)
		a.answerBlock(0, scripted.PayloadV2, scripted.Say(http.StatusAccepted))
		answer := a.submit(payloadPathV2, jsonType)
		t.Status(answer, http.StatusAccepted)
		t.Check(len(answer.Body) == 0, "no body", answer)
	})
	s.It("SID-PAY-02", "sends the block to each relay that offered it", func(t *suite.T) {
		a := sell(t, 0, 2)
		a.answerBlock(0, scripted.PayloadV2, scripted.Say(http.StatusAccepted))
		a.answerBlock(2, scripted.PayloadV2, scripted.Say(http.StatusAccepted))
		t.Status(a.submit(payloadPathV2, jsonType), http.StatusAccepted)
		a.checkHeard(0, scripted.PayloadV2)
		a.checkHeard(2, scripted.PayloadV2)
	})
	s.It("SID-PAY-03", "changes nothing of the block in SSZ", func(t *suite.T) {
		a := sell(t, 1)
		a.answerBlock(1, scripted.PayloadV2, scripted.Say(http.StatusAccepted))
		answer := a.submit(payloadPathV2, sszType)
		if answer.Status == http.StatusUnsupportedMediaType {
			t.Unsupported("415 to SSZ")
		}
		t.Status(answer, http.StatusAccepted)
		a.checkHeard(1, scripted.PayloadV2)
	})
	s.It("SID-PAY-04", "refuses when no relay takes the block", func(t *suite.T) {
		a := sell(t, 0, 1)
		answer := a.submit(payloadPathV2, jsonType)
		t.Check(answer.Status >= http.StatusBadRequest, "a refusal", answer)
		a.checkHeard(0, scripted.PayloadV2)
		a.checkHeard(1, scripted.PayloadV2)
	})
	s.It("SID-PAY-04", "refuses when relays answer a block with errors", func(t *suite.T) {
		a := sell(t, 0, 1)
		a.answerBlock(0, scripted.PayloadV2, scripted.Refuse(http.StatusInternalServerError))
		a.answerBlock(1, scripted.PayloadV2, scripted.HangUp)
		answer := a.submit(payloadPathV2, jsonType)
		t.Check(answer.Status >= http.StatusBadRequest, "a refusal", answer)
	})
	s.It("SID-PAY-05", "is content with one relay that takes the block", func(t *suite.T) {
		a := sell(t, 0, 1, 2)
		a.answerBlock(0, scripted.PayloadV2, scripted.Refuse(http.StatusInternalServerError))
		a.answerBlock(1, scripted.PayloadV2, scripted.HangUp)
		a.answerBlock(2, scripted.PayloadV2, scripted.Say(http.StatusAccepted))
		t.Status(a.submit(payloadPathV2, jsonType), http.StatusAccepted)
	})
	s.It("SID-PAY-06", "does not wait for a relay that hangs when another has taken the block", func(t *suite.T) {
		a := sell(t, 0, 1)
		a.answerBlock(0, scripted.PayloadV2, scripted.Hang)
		a.answerBlock(1, scripted.PayloadV2, scripted.Say(http.StatusAccepted))
		answer := a.submit(payloadPathV2, jsonType)
		t.Status(answer, http.StatusAccepted)
		t.Check(answer.Took < tolerance, "an answer within "+tolerance.String(), answer.Took)
	})
	s.It("SID-PAY-07", "sends the block by v1 to a relay without v2", func(t *suite.T) {
		a := sell(t, 0)
		a.answerBlock(0, scripted.PayloadV2, scripted.Refuse(http.StatusNotFound))
		a.answerBlock(0, scripted.PayloadV1, scripted.Document(a.Fork, a.Revealed(a.Payload("sold")), scripted.Negotiated))
		t.Status(a.submit(payloadPathV2, jsonType), http.StatusAccepted)
		a.checkHeard(0, scripted.PayloadV1)
	})
	s.It("SID-PAY-08", "refuses a block that no relay knows", func(t *suite.T) {
		a := sell(t, 0)
		a.answerBlock(0, scripted.PayloadV2, scripted.Say(http.StatusAccepted))
		other := a.Payload("never offered")
		a.block = a.Blind(a.Bid(other, a.relay(0).Key.Public, mid))
		answer := a.submit(payloadPathV2, jsonType)
		t.Check(answer.Status >= http.StatusBadRequest, "a refusal", answer)
	})
	for _, row := range []struct{ title, media, body string }{
		{"refuses text that is no JSON", jsonType, "<html>"},
		{"refuses a block without a message", jsonType, "{}"},
		{"refuses SSZ that is too short", sszType, "\x01\x02\x03"},
	} {
		unreadable := func(t *suite.T) *probe.Answer {
			request := post(payloadPathV2, row.media, []byte(row.body))
			request.Header[versionHeader] = t.Relays.Network.Fork.String()
			return t.Do(client(t), request)
		}
		s.It("SID-PAY-09", row.title, func(t *suite.T) {
			answer := unreadable(t)
			t.Check(answer.Status >= http.StatusBadRequest, "a refusal", answer)
			refusal(t, answer, answer.Status)
		})
		s.It("SID-PAY-15", row.title+" with 400", func(t *suite.T) {
			t.Status(unreadable(t), http.StatusBadRequest, http.StatusUnsupportedMediaType)
		})
	}
	s.It("SID-PAY-10", "takes JSON without the name of its fork", func(t *suite.T) {
		a := sell(t, 0)
		a.answerBlock(0, scripted.PayloadV2, scripted.Say(http.StatusAccepted))
		raw, err := probe.Blinded(a.Fork, a.block).MarshalJSON()
		t.Ready(err, "encode a blinded block")
		t.Status(t.Do(client(t), post(payloadPathV2, jsonType, raw)), http.StatusAccepted)
	})
}
