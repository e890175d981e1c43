package sidecar

import (
	"net/http"

	"github.com/gavel-relay/gavel/conformance/probe"
	"github.com/gavel-relay/gavel/conformance/scripted"
	"github.com/gavel-relay/gavel/conformance/suite"
)

// describeFailures adds specs about getHeader, with relays that do not do as they should.
func describeFailures(s *suite.Set) {
	half := func(a *sale) []byte {
		raw, err := probe.Bid(a.Fork, a.makeHonestBid(a.relay(0), "half", high)).MarshalSSZ()
		a.t.Ready(err, "encode a bid")
		return raw[:len(raw)/2]
	}
	rows := []struct {
		clause, title string
		answer        func(a *sale) scripted.Answer
	}{
		{"SID-HDR-18", "text that is no JSON",
			func(*sale) scripted.Answer {
				return scripted.Raw(http.StatusOK, jsonType, "", []byte("<html>busy</html>"))
			}},
		{"SID-HDR-18", "an empty object",
			func(*sale) scripted.Answer { return scripted.Raw(http.StatusOK, jsonType, "", []byte("{}")) }},
		{"SID-HDR-18", "an empty body",
			func(*sale) scripted.Answer { return scripted.Raw(http.StatusOK, jsonType, "", nil) }},
		{"SID-HDR-18", "members that are null", func(a *sale) scripted.Answer {
			return scripted.Raw(http.StatusOK, jsonType, "", []byte(`{"version":"`+a.Fork.String()+
				`","data":{"message":null,"signature":null}}`))
		}},
		{"SID-HDR-18", "half a bid in SSZ",
			func(a *sale) scripted.Answer { return scripted.Raw(http.StatusOK, sszType, a.Fork.String(), half(a)) }},
		{"SID-HDR-18", "SSZ of a fork that there is not",
			func(a *sale) scripted.Answer { return scripted.Raw(http.StatusOK, sszType, "altona", half(a)) }},
		{"SID-HDR-19", "an error",
			func(*sale) scripted.Answer { return scripted.Refuse(http.StatusInternalServerError) }},
		{"SID-HDR-19", "a refusal", func(*sale) scripted.Answer { return scripted.Refuse(http.StatusBadRequest) }},
		{"SID-HDR-19", "a closed connection", func(*sale) scripted.Answer { return scripted.HangUp }},
		{"SID-HDR-20", "silence", func(*sale) scripted.Answer { return scripted.Hang }},
	}
	for _, row := range rows {
		s.It(row.clause, "hands on the bid of another relay beside "+row.title, func(t *suite.T) {
			a := open(t)
			a.offer(0, row.answer(a))
			a.offer(2, row.answer(a))
			a.checkHandsOn(a.offerHonest(1, low))
		})
		s.It("SID-HDR-21", "answers 204 when all that comes is "+row.title, func(t *suite.T) {
			a := open(t)
			for i := range t.Relays.All {
				a.offer(i, row.answer(a))
			}
			t.Status(a.ask(nil), http.StatusNoContent)
		})
	}
	s.It("SID-HDR-22", "asks a relay again that has failed before", func(t *suite.T) {
		for range 5 {
			failed := open(t)
			failed.offer(0, scripted.Refuse(http.StatusInternalServerError))
			t.Prepared(failed.ask(nil), "ask while a relay fails", http.StatusNoContent)
		}
		a := open(t)
		a.checkHandsOn(a.offerHonest(0, low))
	})
}
