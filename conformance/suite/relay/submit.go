package relay

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"sync"

	"github.com/gavel-relay/gavel/conformance/probe"
	"github.com/gavel-relay/gavel/conformance/suite"
)

// send posts a body to the submission endpoint.
func send(t *suite.T, media, encoding string, body []byte) *probe.Answer {
	request := post(submitPath, media, body)
	if request.Header["Eth-Consensus-Version"] = "fulu"; t.World != nil {
		fork, _ := t.World.Facts.ForkAt(t.World.Facts.SlotAfter(t.Now()))
		request.Header["Eth-Consensus-Version"] = fork.String()
	}
	request.Header["Content-Encoding"] = encoding
	return t.Do(builderAPI(t), request)
}

// allowUnsupported ends the spec as unsupported on status 415, by which a relay says that it does
// not read an encoding.
func allowUnsupported(t *suite.T, answer *probe.Answer, what string) {
	if answer.Status == http.StatusUnsupportedMediaType {
		t.Unsupported("415 to %s", what)
	}
}

// describeSubmissions adds specs about POST /relay/v1/builder/blocks, for blocks that must be
// accepted, and their effect on the auction.
func describeSubmissions(r *specs) {
	r.It("REL-SUB-01", "serves a block that came as JSON", func(t *suite.T) {
		a := r.open(t)
		a.prepareBid()
		s := a.block("a", gwei(1000))
		a.checkTaken(s)
		a.checkServed(s)
	})
	r.It("REL-SUB-02", "serves a block that came as SSZ", func(t *suite.T) {
		a := r.open(t)
		a.prepareBid()
		s := a.block("a", gwei(1000))
		answer := send(t, sszType, "", s.ssz())
		allowUnsupported(t, answer, "SSZ")
		t.Status(answer, http.StatusOK)
		a.checkServed(s)
	})
	for _, form := range []struct{ name, media string }{{"JSON", jsonType}, {"SSZ", sszType}} {
		r.It("REL-SUB-03", "reads packed "+form.name, func(t *suite.T) {
			a := r.open(t)
			a.prepareBid()
			blobs := 0
			if a.fork().HasBlobs() {
				blobs = 2 // they make the body long
			}
			s := a.blockWith("a", gwei(1000), blobs, gasLimit)
			body := s.json()
			if form.media == sszType {
				body = s.ssz()
			}
			answer := send(t, form.media, "gzip", compress(t, body))
			allowUnsupported(t, answer, "gzip")
			t.Status(answer, http.StatusOK)
			a.checkServed(s)
		})
	}
	r.It("REL-SUB-20", "never serves a bid of zero", func(t *suite.T) {
		a := r.openAlone(t)
		s := a.block("a", gwei(0))
		t.Status(a.submit(s), http.StatusOK, http.StatusAccepted, http.StatusBadRequest)
		t.Check(a.bid() == nil, "no bid", "the bid of zero")
	})
	r.It("REL-SUB-21", "lowers a bid with cancellations", func(t *suite.T) {
		a := r.open(t)
		a.prepareBid()
		high, low := a.block("a", gwei(3000)), a.block("a", gwei(2000))
		cancel := func(s *submission) *probe.Answer {
			return t.Do(builderAPI(t), post(submitPath+"?cancellations=1", jsonType, s.json()))
		}
		first := cancel(high)
		if first.Status == http.StatusBadRequest && bytes.Contains(first.Body, []byte("cancellation")) {
			t.Unsupported("cancellations are off: %s", first)
		}
		t.Prepared(first, "submit a valid block", http.StatusOK)
		a.prepareServed(high)
		for _, s := range []*submission{low, a.block("a", gwei(1000))} { // and lower again
			t.Status(cancel(s), http.StatusOK, http.StatusAccepted)
			a.checkServed(s)
		}
		lowest := a.block("a", gwei(500))
		answer := t.Do(builderAPI(t), post(submitPath+"?cancellations=1", sszType, lowest.ssz()))
		if answer.Status != http.StatusUnsupportedMediaType { // to SSZ
			t.Status(answer, http.StatusOK, http.StatusAccepted)
			a.checkServed(lowest)
		}
	})
	r.It("REL-SUB-22", "keeps the higher bid without cancellations", func(t *suite.T) {
		a := r.open(t)
		high, low := a.block("a", gwei(3000)), a.block("a", gwei(2000))
		a.prepareSubmitted(high)
		a.prepareSubmitted(low)
		a.checkServed(high)
	})
	r.It("REL-SUB-23", "raises a bid", func(t *suite.T) {
		a := r.open(t)
		low, high, highest := a.block("a", gwei(2000)), a.block("a", gwei(3000)), a.block("a", gwei(4000))
		a.prepareSubmitted(low)
		a.prepareServed(low)
		t.Status(a.submit(high), http.StatusOK)
		a.checkServed(high)
		t.Status(a.submit(highest), http.StatusOK) // as often as it likes
		a.checkServed(highest)
	})
	r.It("REL-SUB-31", "serves the higher of two builders' bids, first high", func(t *suite.T) {
		a := r.open(t)
		high, low := a.block("a", gwei(3000)), a.block("b", gwei(2000))
		a.prepareSubmitted(high)
		a.prepareSubmitted(low)
		a.checkServed(high)
	})
	r.It("REL-SUB-31", "serves the higher of two builders' bids, first low", func(t *suite.T) {
		a := r.open(t)
		low, high := a.block("a", gwei(2000)), a.block("b", gwei(3000))
		a.prepareSubmitted(low)
		a.prepareSubmitted(high)
		a.checkServed(high)
	})
	r.It("REL-SUB-31", "serves the higher of two builders' bids that can be cancelled", func(t *suite.T) {
		a := r.open(t)
		high, low := a.block("a", gwei(3000)), a.block("b", gwei(2000))
		for _, s := range []*submission{high, low} {
			answer := t.Preparing().Do(builderAPI(t), post(submitPath+"?cancellations=1", jsonType, s.json()))
			if answer.Status == http.StatusBadRequest {
				t.Unsupported("cancellations are off: %s", answer)
			}
			t.Prepared(answer, "submit a valid block", http.StatusOK, http.StatusAccepted)
		}
		a.checkServed(high)
	})
	r.It("REL-SUB-32", "leaves the leading bid where it is when another is refused", func(t *suite.T) {
		a := r.open(t)
		good, bad := a.block("a", gwei(2000)), a.block("b", gwei(3000))
		a.prepareSubmitted(good)
		bad.Signature[0] ^= 0x04
		t.Prepared(a.prepare().submit(bad), "submit a block with a wrong signature", http.StatusBadRequest)
		a.checkServed(good)
		forged := a.block("a", gwei(4000)) // in the name of the builder that leads
		forged.key = probe.DeriveBLSKey("somebody else")
		t.Prepared(a.prepare().submit(forged.sign()), "submit a block in another builder's name", http.StatusBadRequest)
		a.checkServed(good)
	})
	r.It("REL-SUB-32", "leaves the leading bid where it is when a block is found invalid", func(t *suite.T) {
		a := r.open(t)
		good, bad := a.block("a", gwei(1000)), a.block("b", gwei(2000))
		a.prepareSubmitted(good)
		bad.Message.Value.AddUint64(bad.Message.Value, 1)
		t.Prepared(a.submit(bad.sign()), "submit a block that pays less than it says", http.StatusBadRequest)
		a.checkServed(good)
	})
	r.It("REL-SUB-33", "leads with the next best after a cancellation", func(t *suite.T) {
		a := r.open(t)
		high, other, low := a.block("a", gwei(3000)), a.block("b", gwei(2500)), a.block("a", gwei(2000))
		a.prepareSubmitted(other)
		for _, s := range []*submission{high, low} {
			answer := t.Do(builderAPI(t), post(submitPath+"?cancellations=1", jsonType, s.json()))
			if answer.Status == http.StatusBadRequest {
				t.Unsupported("cancellations are off: %s", answer)
			}
			t.Prepared(answer, "submit a valid block", http.StatusOK, http.StatusAccepted)
		}
		a.checkServed(other)
	})
	r.It("REL-SUB-33", "leads with the next best after a cancellation, also if it never led before", func(t *suite.T) {
		a := r.open(t)
		high, other, low := a.block("a", gwei(3000)), a.block("b", gwei(2500)), a.block("a", gwei(2000))
		for _, s := range []*submission{high, other, low} {
			answer := t.Preparing().Do(builderAPI(t), post(submitPath+"?cancellations=1", jsonType, s.json()))
			if answer.Status == http.StatusBadRequest {
				t.Unsupported("cancellations are off: %s", answer)
			}
			t.Prepared(answer, "submit a valid block", http.StatusOK, http.StatusAccepted)
		}
		a.checkServed(other)
	})
	r.It("REL-SUB-33", "leads with the best of the others after a cancellation, and not the newest", func(t *suite.T) {
		a := r.open(t)
		high, best, newest, low := a.block("a", gwei(3000)), a.block("b", gwei(2500)), a.block("c", gwei(2300)),
			a.block("a", gwei(2000))
		for _, s := range []*submission{high, best, newest, low} {
			answer := t.Preparing().Do(builderAPI(t), post(submitPath+"?cancellations=1", jsonType, s.json()))
			if answer.Status == http.StatusBadRequest {
				t.Unsupported("cancellations are off: %s", answer)
			}
			t.Prepared(answer, "submit a valid block", http.StatusOK, http.StatusAccepted)
		}
		a.checkServed(best)
	})
	r.It("REL-SUB-24", "refuses text/html", func(t *suite.T) {
		t.Status(send(t, "text/html", "", []byte("<p>")), http.StatusUnsupportedMediaType, http.StatusBadRequest)
	})
	r.It("REL-SUB-25", "refuses JSON that is no submission", func(t *suite.T) {
		for _, body := range []string{"{}", "[]", `{"message":{},"execution_payload":{},"signature":"0x"}`} {
			t.Status(send(t, jsonType, "", []byte(body)), http.StatusBadRequest)
		}
		if t.World == nil {
			return
		}
		a := r.open(t) // a block that lacks a part
		a.prepareBid()
		s := a.block("a", gwei(1000))
		var whole map[string]json.RawMessage
		t.Ready(json.Unmarshal(s.json(), &whole), "read a submission")
		for part := range whole {
			rest := maps.Clone(whole)
			delete(rest, part)
			answer := send(t, jsonType, "", encode(t, rest))
			t.Check(answer.Status == http.StatusBadRequest, "400 without "+part, answer)
		}
		a.checkNotServed(s)
	})
	r.It("REL-SUB-26", "refuses an empty body", func(t *suite.T) {
		t.Status(send(t, jsonType, "", nil), http.StatusBadRequest)
	})
	r.It("REL-SUB-27", "refuses a body that unpacks to 512 MB", func(t *suite.T) {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		_, err := io.CopyN(w, blanks{}, 512<<20)
		t.Ready(err, "pack blanks")
		t.Ready(w.Close(), "pack blanks")
		t.Status(send(t, jsonType, "gzip", b.Bytes()), http.StatusBadRequest, http.StatusRequestEntityTooLarge)
	})
	r.It("REL-SUB-36", "refuses SSZ of a length that nothing has", func(t *suite.T) {
		answer := send(t, sszType, "", bytes.Repeat([]byte{0}, 343))
		allowUnsupported(t, answer, "SSZ")
		t.Status(answer, http.StatusBadRequest)
	})
	for _, row := range []struct {
		title  string
		change func(raw []byte) []byte
	}{
		{"refuses the SSZ of a valid block with a byte more", func(raw []byte) []byte { return append(raw, 0) }},
		{"refuses the SSZ of a valid block with a byte less", func(raw []byte) []byte { return raw[:len(raw)-1] }},
	} {
		r.It("REL-SUB-42", row.title, func(t *suite.T) {
			a := r.open(t)
			a.prepareBid()
			s := a.block("a", gwei(1000))
			answer := send(t, sszType, "", row.change(s.ssz()))
			allowUnsupported(t, answer, "SSZ")
			t.Status(answer, http.StatusBadRequest)
			a.checkNotServed(s)
			t.Status(send(t, sszType, "", s.ssz()), http.StatusOK) // as it was, it is right
		})
	}
	r.It("REL-SUB-37", "asks builders for no key", func(t *suite.T) {
		answer := send(t, jsonType, "", []byte("{}"))
		t.Check(answer.Status != http.StatusUnauthorized && answer.Status != http.StatusForbidden,
			"neither 401 nor 403", answer)
		t.Status(answer, http.StatusBadRequest)
	})
}

// blanks is a reader of endless spaces.
type blanks struct{}

// Read implements io.Reader.
func (blanks) Read(into []byte) (int, error) {
	for i := range into {
		into[i] = ' '
	}
	return len(into), nil
}

const (
	// rivals is how many builders bid at once, and rounds how often they do so in a slot. An update
	// that is lost in a race is not lost each time.
	rivals, rounds = 4, 5
)

// describeRivalsAtOnce adds specs about builders who bid at the same time.
func describeRivalsAtOnce(r *specs) {
	r.It("REL-SUB-41", "serves the highest of the bids that come at once", func(t *suite.T) {
		a := r.openToPropose(t)
		var bids [rounds][]*submission
		for round := range bids {
			for builder := range rivals {
				value := gwei(uint64(1000 + 10*round + builder))
				bids[round] = append(bids[round], a.block(fmt.Sprint(builder), value))
			}
		}
		for _, list := range bids {
			a.submitAtOnce(list)
			a.checkServed(list[rivals-1])
		}
		if t.Now().After(a.start().Add(clockMargin)) {
			t.Inconclusive("the slot began before all bids were sent")
		}
	})
}

// submitAtOnce submits blocks at the same time. The spec is inconclusive unless all are
// accepted.
func (a *auction) submitAtOnce(list []*submission) {
	answers, failures := make([]*probe.Answer, len(list)), make([]error, len(list))
	client := builderAPI(a.t)
	bodies := make([]probe.Request, len(list))
	for i, s := range list {
		bodies[i] = post(submitPath, jsonType, s.json())
	}
	var group sync.WaitGroup
	for i := range list {
		group.Go(func() { answers[i], failures[i] = client.Do(a.t, bodies[i]) })
	}
	group.Wait()
	for i := range list {
		a.t.Ready(failures[i], "submit blocks at once")
		a.t.Prepared(answers[i], "submit a valid block", http.StatusOK, http.StatusAccepted)
	}
}
