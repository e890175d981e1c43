package relay

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/gavel-relay/gavel/conformance/probe"
	"github.com/gavel-relay/gavel/conformance/suite"
)

// The model of Accept (RFC 9110, 12.5.1): random headers of several media ranges with and without
// qualities, and which of JSON and SSZ may be sent for them. The most specific range that fits a
// form gives its quality, whatever stands first; 0 refuses the form.

// mediaRange is one range of an Accept header, with its quality in thousandths; -1 says nothing of
// it, which is 1000.
type mediaRange struct {
	media   string
	quality int
}

// String implements fmt.Stringer.
func (r mediaRange) String() string {
	switch {
	case r.quality < 0:
		return r.media
	case r.quality%1000 == 0:
		return fmt.Sprintf("%s;q=%d", r.media, r.quality/1000)
	}
	return r.media + ";q=0." + strings.TrimRight(fmt.Sprintf("%03d", r.quality), "0")
}

// specific says how specific a range is at a form; 0 if it does not fit.
func (r mediaRange) specific(form string) int {
	switch strings.ToLower(r.media) {
	case form:
		return 3
	case "application/*":
		return 2
	case "*/*":
		return 1
	}
	return 0
}

// qualityOf is the quality of a form, in thousandths; without any range all is acceptable.
func qualityOf(ranges []mediaRange, form string) (quality int) {
	if len(ranges) == 0 {
		return 1000
	}
	best := 0
	for _, r := range ranges {
		if s := r.specific(form); s > best {
			if best, quality = s, r.quality; quality < 0 {
				quality = 1000
			}
		}
	}
	return quality
}

// forms are the media types that may be sent; none is a refusal. Of two that are equally welcome
// the server chooses.
func forms(ranges []mediaRange) (may []string) {
	text, binary := qualityOf(ranges, jsonType), qualityOf(ranges, sszType)
	if text > 0 && text >= binary {
		may = append(may, jsonType)
	}
	if binary > 0 && binary >= text {
		may = append(may, sszType)
	}
	return may
}

// acceptPlan makes a random header, each media range once.
func acceptPlan(random *rand.Rand) (ranges []mediaRange) {
	media := []string{jsonType, sszType, "application/*", "*/*", "text/html", "application/xml", "Application/JSON"}
	qualities := []int{-1, -1, 0, 1000, 500, 501, 510, 900, 899, 1, random.IntN(1001)}
	for _, i := range random.Perm(len(media))[:1+random.IntN(4)] {
		if slices.ContainsFunc(ranges, func(r mediaRange) bool { return strings.EqualFold(r.media, media[i]) }) {
			continue
		}
		ranges = append(ranges, mediaRange{media[i], qualities[random.IntN(len(qualities))]})
	}
	return ranges
}

// acceptOf writes the header, with blanks where the RFC allows them.
func acceptOf(ranges []mediaRange) string {
	words := make([]string, len(ranges))
	for i, r := range ranges {
		words[i] = r.String()
	}
	return strings.Join(words, ", ")
}

const (
	acceptHeaders = 120
	acceptTries   = 8
)

// describeAcceptModel: bids for random Accept headers.
func describeAcceptModel(r *specs) {
	r.It("REL-MOD-06", "sends the bid in the form that random Accept headers prefer, or refuses", func(t *suite.T) {
		a := r.open(t)
		s := a.prepareSubmitted(a.block("a", gwei(1000)))
		want, err := probe.Bid(a.fork(), a.prepareServed(s)).MarshalSSZ()
		t.Ready(err, "encode a bid")
		a.readSSZ(a.header(sszType)) // ends the spec if the relay has none
		for range acceptHeaders {
			suite.JudgePlan(t, acceptPlan(t.Random), acceptTries, func(some []mediaRange) *suite.Mismatch {
				wrong := a.compareForm(some, want)
				if wrong != nil {
					wrong.Step = len(some) - 1 // the whole header is one request
				}
				return wrong
			})
		}
	})
}

// compareForm asks for the bid with a header, and compares status, media type, fork and content.
func (a *auction) compareForm(ranges []mediaRange, want []byte) *suite.Mismatch {
	may := forms(ranges)
	answer := a.header(acceptOf(ranges))
	if len(may) == 0 {
		if answer.Status == http.StatusNotAcceptable {
			return nil
		}
		return &suite.Mismatch{Clauses: []string{"REL-HDR-10", "REL-HDR-27"}, Expected: "status 406", Actual: answer}
	}
	got, _, _ := strings.Cut(answer.Header.Get("Content-Type"), ";")
	if answer.Status != http.StatusOK || !slices.Contains(may, strings.TrimSpace(got)) {
		return &suite.Mismatch{Clauses: []string{"REL-HDR-11"}, Expected: "status 200 with " + strings.Join(may, " or "),
			Actual: strconv.Itoa(answer.Status) + " " + got}
	}
	if version := answer.Header.Get("Eth-Consensus-Version"); version != a.fork().String() {
		return &suite.Mismatch{Clauses: []string{"REL-HDR-29"}, Expected: "Eth-Consensus-Version " + a.fork().String(),
			Actual: fmt.Sprintf("%q", version)}
	}
	read := a.readBid
	if got == sszType {
		read = a.readSSZ
	}
	raw, err := probe.Bid(a.fork(), read(answer)).MarshalSSZ()
	if err != nil || !bytes.Equal(raw, want) {
		return &suite.Mismatch{Clauses: []string{"REL-HDR-18"}, Expected: "the bid of the plain request", Actual: answer}
	}
	return nil
}
