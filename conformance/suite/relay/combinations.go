package relay

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"strings"

	builderfulu "github.com/attestantio/go-builder-client/api/fulu"
	"github.com/klauspost/compress/zstd"

	"github.com/gavel-relay/gavel/conformance/probe"
	"github.com/gavel-relay/gavel/conformance/suite"
	"github.com/gavel-relay/gavel/internal/eth"
)

// Combinations of what a request may say about its form. A plan has each pair of values of the
// factors; a case has at most one value that is not allowed, so that it is known what is refused.
// Each fork has the same plan: the world's fork is the version that is right.

// The values of factors. The first of each is the plain one.
const (
	plain = "plain" // the plain value of a factor

	acceptJSON      = jsonType
	acceptSSZ       = sszType
	acceptAny       = "*/*"
	preferSSZ       = sszType + ";q=1.0," + jsonType + ";q=0.9"
	preferJSON      = sszType + ";q=0.5," + jsonType + ";q=0.9"
	acceptText      = "text/html" // not allowed
	jsonWithCharset = jsonType + "; charset=utf-8"
	textType        = "text/plain" // not allowed
	zipEncoding     = "gzip"
	zstdEncoding    = "zstd"
	noEncoding      = "br" // not allowed
	rightVersion    = "right"
	otherVersion    = "other" // not allowed
	absent          = "-"     // the request has no body
)

// combination is a case: what a request says about its form.
type combination struct{ operation, accept, content, encoding, version string }

func combinationOf(c suite.Combination) combination { return combination{c[0], c[1], c[2], c[3], c[4]} }

func (c combination) String() string {
	return fmt.Sprintf("%s with Accept %s, Content-Type %s, Content-Encoding %s, Eth-Consensus-Version %s",
		c.operation, c.accept,
		c.content, c.encoding, c.version)
}

// The operations of plans.
const (
	registering = "registerValidator"
	asking      = "getHeader"
	revealing   = "submitBlindedBlock"
	publishing  = "submitBlindedBlockV2"
	submitting  = "submitBlock"
)

// formFactors are the factors of requests to an operation.
func formFactors(operation string) []suite.Factor {
	return []suite.Factor{
		{Name: "operation", Values: []string{operation}},
		{Name: "Accept", Values: []string{plain, acceptJSON, acceptSSZ, acceptAny, preferSSZ, preferJSON, acceptText}},
		{Name: "Content-Type", Values: []string{jsonType, sszType, jsonWithCharset, textType, absent}},
		{Name: "Content-Encoding", Values: []string{plain, zipEncoding, zstdEncoding, noEncoding, absent}},
		{Name: "Eth-Consensus-Version", Values: []string{rightVersion, plain, otherVersion, absent}},
	}
}

// isPossible says whether there is such a request, and whether it is known how it must be answered.
func (c combination) isPossible() bool {
	hasBody := c.operation != asking
	for _, value := range []string{c.content, c.encoding, c.version} {
		if (value == absent) == hasBody {
			return false
		}
	}
	switch {
	case c.operation == registering && c.version != plain, // registrations have no fork
		!c.answersBody() && c.accept == acceptText, // there is nothing to refuse
		// relays take it from the slot, or refuse
		c.operation == submitting && c.content == sszType && c.version == plain,
		c.version == otherVersion && !strings.HasPrefix(c.operation, "submitBlinded"): // their descriptions do not say
		return false
	}
	return len(c.listWrong()) <= 1
}

// answersBody says whether the answer to a right request has a body, whose form Accept chooses.
func (c combination) answersBody() bool { return c.operation == asking || c.operation == revealing }

// listWrong are the statuses of refusals, one element for each thing that is not allowed.
func (c combination) listWrong() (list [][]int) {
	if c.accept == acceptText {
		list = append(list, []int{http.StatusNotAcceptable})
	}
	if c.content == textType {
		list = append(list, []int{http.StatusUnsupportedMediaType, http.StatusBadRequest})
	}
	if c.encoding == noEncoding {
		list = append(list, []int{http.StatusUnsupportedMediaType, http.StatusBadRequest})
	}
	if c.version == otherVersion || strings.HasPrefix(c.operation, "submitBlinded") && c.content == sszType &&
		c.version == plain {
		list = append(list, []int{http.StatusBadRequest})
	}
	return list
}

// listOptional are the requests with one thing alone that a relay need not take. A relay that
// refuses one of them does not offer it, and then may refuse its combinations.
func (c combination) listOptional() (list []combination) {
	basic := combination{c.operation, plain, jsonType, plain, rightVersion}
	switch c.operation {
	case asking:
		basic = combination{asking, plain, absent, absent, absent}
	case registering:
		basic.version = plain
	}
	add := func(change func(one *combination)) {
		one := basic
		change(&one)
		list = append(list, one)
	}
	if c.content == sszType {
		add(func(one *combination) { one.content = sszType })
	}
	if c.encoding == zipEncoding || c.encoding == zstdEncoding {
		add(func(one *combination) { one.encoding = c.encoding })
	}
	if c.accept == acceptSSZ && c.answersBody() {
		add(func(one *combination) { one.accept = acceptSSZ })
	}
	return list
}

// media are the content types that an answer may have; the first one is preferred.
func (c combination) media() []string {
	switch c.accept {
	case acceptSSZ:
		return []string{sszType}
	case preferSSZ:
		return []string{sszType, jsonType}
	case preferJSON:
		return []string{jsonType, sszType}
	default:
		return []string{jsonType}
	}
}

// request makes the request of a case, in a slot of the fork. The body is given in both forms.
func (c combination) request(t *suite.T, fork eth.Fork, method, path string, asJSON, asSSZ []byte) probe.Request {
	request := probe.Request{Method: method, Path: path, Header: map[string]string{}}
	if c.accept != plain {
		request.Header["Accept"] = c.accept
	}
	if c.content == absent {
		return request
	}
	request.Header["Content-Type"] = c.content
	if request.Body = asJSON; c.content == sszType {
		request.Body = asSSZ
	}
	switch c.encoding {
	case zipEncoding:
		request.Body = compress(t, request.Body)
	case zstdEncoding:
		w, err := zstd.NewWriter(nil)
		t.Ready(err, "pack a body")
		request.Body = w.EncodeAll(request.Body, nil)
	}
	if c.encoding != plain {
		request.Header["Content-Encoding"] = c.encoding
	}
	switch c.version {
	case rightVersion:
		request.Header["Eth-Consensus-Version"] = fork.String()
	case otherVersion:
		request.Header["Eth-Consensus-Version"] = "bellatrix"
		if fork.String() == "bellatrix" {
			request.Header["Eth-Consensus-Version"] = "deneb"
		}
	}
	return request
}

// inForm sends a request in the form of a case, and returns the answer with what shows that it had
// its effect: it is called after a right answer, and fails the spec otherwise.
type inForm func(c combination) (answer *probe.Answer, holds func())

// describeCombinations adds specs about each pair of what requests may say about their form, for
// each operation. What is allowed has a plan of its own: a pair that occurs only beside something
// wrong is never answered.
func describeCombinations(r *specs) {
	for _, group := range []struct {
		must, should string
		operations   []string
	}{
		{"REL-CMB-01", "REL-CMB-02", []string{asking, registering, revealing, publishing}},
		{"REL-CMB-03", "REL-CMB-04", []string{submitting}},
	} {
		for _, operation := range group.operations {
			right := suite.Pairwise(formFactors(operation), func(c suite.Combination) bool {
				return combinationOf(c).isPossible() && len(combinationOf(c).listWrong()) == 0
			})
			all := suite.Pairwise(formFactors(operation),
				func(c suite.Combination) bool { return combinationOf(c).isPossible() })
			r.It(group.must, "takes "+operation+" in each form", func(t *suite.T) {
				judgeForms(t, right, r.prepareForms(t, operation))
			})
			r.It(group.should, "refuses "+operation+" in wrong forms, and heeds preferences", func(t *suite.T) {
				judgeWrongForms(t, all, r.prepareForms(t, operation))
			})
		}
	}
}

// judgeForms fails the spec unless each case that is allowed is answered as the plain request is. A
// case may be refused that uses what the relay does not offer at all.
func judgeForms(t *suite.T, plan suite.Covering, send inForm) {
	var judged []suite.Combination
	offers := map[combination]bool{}
	offered := func(one combination) bool {
		if _, known := offers[one]; !known {
			answer, _ := send(one)
			offers[one] = answer.Status < 400
		}
		return offers[one]
	}
	for _, values := range plan.Cases {
		c := combinationOf(values)
		answer, holds := send(c)
		refused := answer.Status == http.StatusUnsupportedMediaType || answer.Status == http.StatusNotAcceptable ||
			answer.Status == http.StatusBadRequest
		if refused && slices.ContainsFunc(c.listOptional(), func(one combination) bool { return !offered(one) }) {
			continue
		}
		t.Check(answer.Status < 300, "the answer of the plain request to "+c.String(), answer)
		holds()
		judged = append(judged, values)
	}
	t.RecordPlan(plan, judged)
}

// judgeWrongForms fails the spec unless each case with something that is not allowed is refused by
// its status, and others are answered in the form that Accept prefers.
func judgeWrongForms(t *suite.T, plan suite.Covering, send inForm) {
	var judged []suite.Combination
	for _, values := range plan.Cases {
		c := combinationOf(values)
		wrong := c.listWrong()
		switch {
		case len(wrong) > 0:
			answer, _ := send(c)
			t.Check(slices.Contains(wrong[0], answer.Status), fmt.Sprintf("one of %v to %s", wrong[0], c), answer)
		case c.answersBody() && len(c.media()) > 1:
			answer, _ := send(c)
			got, _, _ := strings.Cut(answer.Header.Get("Content-Type"), ";")
			if answer.Status >= 300 || c.media()[0] == sszType && got == jsonType && !isAnswered200(send, c, acceptSSZ) {
				continue // it does not offer SSZ
			}
			t.Check(got == c.media()[0], c.media()[0]+" to "+c.String(), got)
		default:
			continue
		}
		judged = append(judged, values)
	}
	t.RecordPlan(plan, judged)
}

// isAnswered200 says whether the case is answered with 200 for another Accept.
func isAnswered200(send inForm, c combination, accept string) bool {
	c.accept = accept
	answer, _ := send(c)
	return answer.Status == http.StatusOK
}

// prepareForms prepares an operation. What it prepares is used by all cases of a spec.
func (r *specs) prepareForms(t *suite.T, operation string) inForm {
	switch operation {
	case asking:
		a := r.open(t)
		s := a.prepareSubmitted(a.block("a", gwei(1000)))
		bid, err := probe.Bid(a.fork(), a.prepareServed(s)).MarshalSSZ()
		t.Ready(err, "encode a bid")
		return func(c combination) (*probe.Answer, func()) {
			answer := t.Do(proposerAPI(t), c.request(t, a.fork(), http.MethodGet, a.headerPath(), nil, nil))
			return answer, func() {
				got, err := probe.Bid(a.fork(), readAs(t, c, answer, a.readSSZ, a.readBid)).MarshalSSZ()
				t.Check(err == nil && bytes.Equal(got, bid), "the bid of the plain request to "+c.String(), answer)
			}
		}
	case registering:
		return func(c combination) (*probe.Answer, func()) {
			one := r.freshRegistration(t)
			raw, err := one.MarshalSSZ()
			t.Ready(err, "encode a registration")
			answer := t.Do(proposerAPI(t), c.request(t, t.World.Facts.ForkOf(), http.MethodPost, registerPath,
				fmt.Appendf(nil, "[%s]", encode(t, one)), raw))
			return answer, func() {
				err := waitHeld(t, one)
				t.Check(err == nil, "the registration in the data API after "+c.String(), err)
			}
		}
	case submitting:
		a := r.open(t)
		a.prepareBid()
		value := uint64(1000)
		return func(c combination) (*probe.Answer, func()) {
			value += 10
			s := a.block("a", gwei(value))
			answer := t.Do(builderAPI(t), c.request(t, a.fork(), http.MethodPost, submitPath, s.json(), s.ssz()))
			return answer, func() { a.checkServed(s) }
		}
	}
	return r.revealer(t, operation)
}

// readAs reads an answer in the form that its Content-Type names, which must be one that the case
// accepts.
func readAs[T any](t *suite.T, c combination, answer *probe.Answer, binary, text func(*probe.Answer) T) T {
	got, _, _ := strings.Cut(answer.Header.Get("Content-Type"), ";")
	t.Check(slices.Contains(c.media(), got), strings.Join(c.media(), " or ")+" to "+c.String(), answer)
	if got == sszType {
		return binary(answer)
	}
	return text(answer)
}

// revealer sends one signed block in all forms, after it has been revealed to the plain request. It
// ends the spec as inconclusive at a relay that does not answer the same block twice.
func (r *specs) revealer(t *suite.T, operation string) inForm {
	path := payloadPath
	if operation == publishing {
		path = payloadPathV2
	}
	a, s, block := r.prepareWon(t, 0)
	document := probe.Blinded(a.fork(), block)
	raw, err := document.MarshalSSZ()
	t.Ready(err, "encode a blinded block")
	for range 2 {
		answer := a.prepare().ask(path, block)
		if operation == publishing && answer.Status == http.StatusNotFound {
			t.Unsupported("404 to v2")
		}
		t.Prepared(answer, "send a signed block, and again", http.StatusOK, http.StatusAccepted)
	}
	return func(c combination) (*probe.Answer, func()) {
		answer := t.Do(proposerAPI(t), c.request(t, a.fork(), http.MethodPost, path, encode(t, document), raw))
		return answer, func() {
			if operation == publishing {
				t.Status(answer, http.StatusAccepted)
				return
			}
			checkPayloadOf(t, readAs(t, c, answer, a.readPayloadSSZ, a.readPayload), s)
		}
	}
}

// readPayloadSSZ decodes a payload and its blobs in SSZ.
func (a *auction) readPayloadSSZ(answer *probe.Answer) *builderfulu.ExecutionPayloadAndBlobsBundle {
	both, err := probe.ReadPayload(a.fork(), sszType, answer.Body)
	a.t.Check(err == nil, "a payload and its blobs in SSZ", err)
	return both
}
