package sidecar

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/gavel-relay/gavel/conformance/probe"
	"github.com/gavel-relay/gavel/conformance/scripted"
	"github.com/gavel-relay/gavel/conformance/suite"
)

// describeEncodings adds specs about getHeader in JSON and in SSZ.
func describeEncodings(s *suite.Set) {
	s.It("SID-HDR-29", "names the fork in JSON", func(t *suite.T) {
		a := open(t)
		a.prepareHandsOn(a.offerHonest(0, low))
		var envelope struct {
			Version string `json:"version"`
		}
		answer := a.ask(nil)
		err := answer.JSON(&envelope)
		t.Check(err == nil && envelope.Version == a.Fork.String(), "version "+a.Fork.String(), answer)
	})
	s.It("SID-HDR-30", "answers JSON when nothing is accepted by name", func(t *suite.T) {
		a := open(t)
		want := a.offerHonest(0, low)
		answer := t.Get(client(t), a.path())
		t.Status(answer, http.StatusOK)
		t.Check(media(answer) == jsonType, jsonType, media(answer))
		a.checkSame(want, a.read(answer))
	})
	s.It("SID-HDR-31", "answers SSZ, with its fork", func(t *suite.T) {
		a := open(t)
		want := a.offerHonest(0, low)
		answer := a.ask(map[string]string{"Accept": sszType})
		allowNoSSZ(t, answer)
		named := answer.Header.Get(versionHeader)
		t.Check(named == a.Fork.String(), versionHeader+" "+a.Fork.String(), strconv.Quote(named))
		got, err := probe.ReadBid(a.Fork, sszType, answer.Body)
		t.Check(err == nil, "a signed builder bid", err)
		a.checkSame(want, got)
	})
	s.It("SID-HDR-32", "sends what is preferred", func(t *suite.T) {
		a := open(t)
		a.prepareHandsOn(a.offerHonest(0, low))
		for accept, want := range map[string]string{
			"application/octet-stream;q=1.0,application/json;q=0.9":  sszType,
			"application/json;q=1,application/octet-stream;q=0.5":    jsonType,
			"application/json;q=0.2, application/octet-stream;q=0.8": sszType,
		} {
			answer := a.ask(map[string]string{"Accept": accept})
			t.Prepared(answer, "ask for a header", http.StatusOK)
			t.Check(media(answer) == want, want+" for Accept: "+accept, media(answer))
		}
	})
	// A relay of each encoding, and a beacon node of each.
	for _, accept := range []string{jsonType, sszType} {
		for _, answers := range []string{jsonType, sszType} {
			s.It("SID-HDR-33", "hands "+encodingName(answers)+" of a relay on as "+encodingName(accept), func(t *suite.T) {
				a := open(t)
				bid := a.makeHonestBid(a.relay(0), "a block", low)
				raw := scripted.Envelope(a.Fork, probe.Bid(a.Fork, bid))
				if answers == sszType {
					var err error
					raw, err = probe.Bid(a.Fork, bid).MarshalSSZ()
					t.Ready(err, "encode a bid")
				}
				a.offer(0, scripted.Raw(http.StatusOK, answers, a.Fork.String(), raw))
				answer := a.ask(map[string]string{"Accept": accept})
				if accept == sszType {
					allowNoSSZ(t, answer)
					got, err := probe.ReadBid(a.Fork, sszType, answer.Body)
					t.Check(err == nil, "a signed builder bid", err)
					a.checkSame(bid, got)
					return
				}
				t.Status(answer, http.StatusOK)
				t.Check(!strings.Contains(string(answer.Body), "null"), "lists without elements as []", "null")
				a.checkSame(bid, a.read(answer))
			})
		}
	}
}

// encodingName is the name of an encoding.
func encodingName(media string) string {
	if media == sszType {
		return "SSZ"
	}
	return "JSON"
}

// allowNoSSZ ends the spec as unsupported if the target answers JSON or 406 in place of SSZ.
func allowNoSSZ(t *suite.T, answer *probe.Answer) {
	if answer.Status == http.StatusNotAcceptable || answer.Status == http.StatusOK && media(answer) == jsonType {
		t.Unsupported("status %d %s for Accept: %s", answer.Status, media(answer), sszType)
	}
	t.Status(answer, http.StatusOK)
	t.Check(media(answer) == sszType, sszType, media(answer))
}
