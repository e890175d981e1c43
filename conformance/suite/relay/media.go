package relay

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/gavel-relay/gavel/conformance/probe"
	"github.com/gavel-relay/gavel/conformance/suite"
)

// describeMedia adds specs about headers that say what a body is.
func describeMedia(r *specs) {
	// isJSON fails the spec unless the answer says that it is JSON.
	isJSON := func(t *suite.T, answer *probe.Answer, what string) {
		t.Prepared(answer, what, http.StatusOK)
		kind, _, _ := strings.Cut(answer.Header.Get("Content-Type"), ";")
		t.Check(strings.TrimSpace(kind) == jsonType, jsonType+" as the Content-Type to "+what, answer)
	}
	r.It("REL-GEN-10", "says that lists for builders and for everybody are JSON", func(t *suite.T) {
		isJSON(t, t.Get(builderAPI(t), dutiesPath), "GET "+dutiesPath)
		isJSON(t, t.Get(dataAPI(t), deliveredPath+"?limit=1"), "GET "+deliveredPath)
		isJSON(t, t.Get(dataAPI(t), receivedPath+"?slot=1"), "GET "+receivedPath)
	})
	r.It("REL-GEN-12", "says that bids and payloads are JSON", func(t *suite.T) {
		a, _, block := r.prepareWon(t, 0)
		isJSON(t, a.header(jsonType), "getHeader")
		isJSON(t, a.ask(payloadPath, block), "getPayload")
	})
	for _, row := range []struct{ id, title, media, version string }{
		{"REL-PAY-22", "reveals to JSON without Eth-Consensus-Version", jsonType, ""},
		{"REL-PAY-23", "reveals to JSON without Content-Type", "", "fork"},
	} {
		r.It(row.id, row.title, func(t *suite.T) {
			a, s, block := r.prepareWon(t, 0)
			request := post(payloadPath, row.media, encode(t, probe.Blinded(a.fork(), block)))
			if row.version != "" {
				request.Header["Eth-Consensus-Version"] = a.fork().String()
			}
			checkPayloadOf(t, a.readPayload(t.Do(proposerAPI(t), request)), s)
		})
	}
	r.It("REL-HDR-27", "does not send what is refused by q=0", func(t *suite.T) {
		a := r.open(t)
		a.prepareServed(a.prepareSubmitted(a.block("a", gwei(1000))))
		for _, zero := range []string{"0", "0.0", "0.000"} {
			answer := a.header("application/json;q=" + zero)
			sent := fmt.Sprint(answer.Status, " ", answer.Header.Get("Content-Type"))
			t.Check(answer.Status == http.StatusNotAcceptable ||
				answer.Status == http.StatusOK && strings.HasPrefix(answer.Header.Get("Content-Type"), sszType),
				"406, or another form than JSON", sent)
		}
	})
}
