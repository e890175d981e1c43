package sidecar

import (
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/gavel-relay/gavel/conformance/probe"
	"github.com/gavel-relay/gavel/conformance/scripted"
	"github.com/gavel-relay/gavel/conformance/suite"
)

// revealAt has a relay answer v1 with the payload of a block of this name.
func (s *sold) revealAt(index int, block string) {
	s.answerBlock(index, scripted.PayloadV1, scripted.Document(s.Fork, s.Revealed(s.Payload(block)), scripted.Negotiated))
}

// checkGets fails the spec unless an answer is the payload that was sold.
func (s *sold) checkGets(answer *probe.Answer) {
	s.t.Status(answer, http.StatusOK)
	var envelope struct {
		Version string          `json:"version"`
		Data    json.RawMessage `json:"data"`
	}
	err := answer.JSON(&envelope)
	s.t.Check(err == nil && envelope.Data != nil, "an object with version and data", answer)
	s.t.Check(envelope.Version == s.Fork.String(), "version "+s.Fork.String(), envelope.Version)
	both, err := probe.ReadPayload(s.Fork, jsonType, envelope.Data)
	s.t.Check(err == nil, "a payload and its blobs", err)
	want, err := probe.PayloadRoot(s.Fork, s.Payload("sold"))
	s.t.Ready(err, "hash a payload")
	got, err := probe.PayloadRoot(s.Fork, both.ExecutionPayload)
	s.t.Check(err == nil && got == want, fmt.Sprintf("the payload with the root %#x of the header", want),
		fmt.Sprintf("%#x", got))
}

// describeRevealedPayloads adds specs about POST /eth/v1/builder/blinded_blocks.
func describeRevealedPayloads(s *suite.Set) {
	s.It("SID-PAY-11", "hands the payload on", func(t *suite.T) {
		a := sell(t, 0)
		a.revealAt(0, "sold")
		a.checkGets(a.submit(payloadPath, jsonType))
		a.checkHeard(0, scripted.PayloadV1)
	})
	s.It("SID-PAY-12", "hands on no payload of another block", func(t *suite.T) {
		a := sell(t, 0)
		a.revealAt(0, "another")
		answer := a.submit(payloadPath, jsonType)
		t.Check(answer.Status >= http.StatusBadRequest, "a refusal", answer)
	})
	s.It("SID-PAY-12", "hands on the right payload beside another", func(t *suite.T) {
		a := sell(t, 0, 1)
		a.revealAt(0, "another")
		a.answerBlock(1, scripted.PayloadV1, scripted.After(network, scripted.Document(a.Fork, a.Revealed(a.Payload("sold")),
			scripted.Negotiated)))
		a.checkGets(a.submit(payloadPath, jsonType))
	})
	for _, row := range []struct {
		title  string
		answer scripted.Answer
	}{
		{"text that is no JSON", scripted.Raw(http.StatusOK, jsonType, "", []byte("<html>"))},
		{"an empty object", scripted.Raw(http.StatusOK, jsonType, "", []byte("{}"))},
		{"an error", scripted.Refuse(http.StatusInternalServerError)},
		{"a closed connection", scripted.HangUp},
	} {
		s.It("SID-PAY-13", "refuses when all that comes is "+row.title, func(t *suite.T) {
			a := sell(t, 0)
			a.answerBlock(0, scripted.PayloadV1, row.answer)
			said := a.submit(payloadPath, jsonType)
			t.Check(said.Status >= http.StatusBadRequest, "a refusal", said)
		})
	}
	s.It("SID-PAY-14", "hands the payload on beside a relay that hangs", func(t *suite.T) {
		a := sell(t, 0, 1)
		a.answerBlock(0, scripted.PayloadV1, scripted.Hang)
		a.revealAt(1, "sold")
		answer := a.submit(payloadPath, jsonType)
		a.checkGets(answer)
		t.Check(answer.Took < tolerance, "an answer within "+tolerance.String(), answer.Took)
	})
}
