package app_test

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/gavel-relay/gavel/internal/eth"
)

// requested is a request that is good, or nearly, before it is spoiled.
type requested struct {
	method, path string
	header       http.Header
	body         []byte
}

// Whatever comes in, the answer is no 5xx, every refusal has the common error body, and no payload
// leaks. Spoiled are requests that would be taken, or would be but for the signature, so that they
// come far.
func TestBadInputIsRefused(t *testing.T) {
	h := newRelay(t, eth.Electra, relayOptions{})
	s := h.good(t)
	b := h.offered(t, s)
	b.sign(t, stranger, h.spec.ProposerDomain(h.slot)) // or an unspoiled one would be published
	good := h.requests(t, s, b)
	secrets := [][]byte{}
	for _, tx := range s.payload.Transactions {
		secrets = append(secrets, tx, []byte(hex.EncodeToString(tx)))
	}
	statuses := map[int]int{}
	rapid.Check(t, func(rt *rapid.T) {
		r := spoil(rt, good)
		got, err := h.try(t.Context(), r.method, r.path, r.header, r.body)
		if err != nil {
			rt.Fatalf("%s %s: %v", r.method, r.path, err)
		}
		statuses[got.status/100]++
		if got.status >= 500 {
			rt.Fatalf("%s %s %v: %s", r.method, r.path, r.header, got)
		}
		if got.status >= 400 && r.method != http.MethodHead {
			if _, err := got.errorMessage(); err != nil {
				rt.Fatalf("%s %s %v: %v", r.method, r.path, r.header, err)
			}
		}
		for _, secret := range secrets {
			if bytes.Contains(got.body, secret) {
				rt.Fatalf("%s %s %v: a transaction leaks", r.method, r.path, r.header)
			}
		}
	})
	if statuses[4] == 0 || statuses[2] == 0 {
		t.Errorf("statuses %v: the requests are all good or all bad, and prove little", statuses)
	}
	if n := h.fronts[0].count() + h.fronts[1].count(); n != 0 {
		t.Errorf("%d publications", n)
	}
	h.wantTop(t, s)
}

// requests are one of each kind, in each encoding.
func (h *relayUnderTest) requests(t *testing.T, s *submission, b *blinded) []requested {
	t.Helper()
	r := h.registration(3)
	ssz, err := r.MarshalSSZ()
	must(t, err)
	zipped := sszHeader(h.fork)
	zipped.Set("Content-Encoding", "gzip")
	pubkey := builderKeys[0].PublicKey()
	list := []requested{
		{http.MethodPost, "/eth/v1/builder/validators", sszHeader(h.fork), ssz},
		{http.MethodPost, "/eth/v1/builder/validators", jsonHeader(), fmt.Appendf(nil, "[%s]", must2(t)(r.MarshalJSON()))},
		{http.MethodPost, submitPath, sszHeader(h.fork), s.ssz(t)},
		{http.MethodPost, submitPath, jsonHeader(), s.json(t)},
		{http.MethodPost, submitPath + "?cancellations=1", zipped, zip(t, s.ssz(t))},
		{http.MethodGet, h.headerPath(), http.Header{"Accept": {"application/octet-stream;q=1,application/json;q=0.9"}}, nil},
		{http.MethodGet, "/eth/v1/builder/status", http.Header{}, nil},
		{http.MethodGet, "/relay/v1/builder/validators", http.Header{}, nil},
		{http.MethodGet, deliveredPath + "?limit=10&order_by=-value&block_number=1", http.Header{}, nil},
		{http.MethodGet, receivedPath + fmt.Sprintf("?builder_pubkey=%#x&limit=5", pubkey[:]), http.Header{}, nil},
		{http.MethodGet, registrationPath + fmt.Sprintf("?pubkey=%#x", r.Message.Pubkey[:]), http.Header{}, nil},
	}
	for _, path := range []string{v1Path, v2Path} {
		list = append(list, requested{http.MethodPost, path, sszHeader(h.fork), b.ssz(t)},
			requested{http.MethodPost, path, jsonHeader(), b.json(t)})
	}
	return list
}

// must2 passes on a value that came without an error.
func must2(t *testing.T) func([]byte, error) []byte {
	return func(raw []byte, err error) []byte {
		t.Helper()
		must(t, err)
		return raw
	}
}

// spoil draws a request and changes it in up to four ways; none at all leaves it good.
func spoil(rt *rapid.T, good []requested) requested {
	r := rapid.SampledFrom(good).Draw(rt, "request")
	r.header, r.body = r.header.Clone(), slices.Clone(r.body)
	ways := []func(*rapid.T, *requested){spoilBody, spoilBody, spoilHeader, spoilPath, spoilMethod}
	for range rapid.IntRange(0, 4).Draw(rt, "changes") {
		rapid.SampledFrom(ways).Draw(rt, "change")(rt, &r)
	}
	return r
}

// spoilBody flips, cuts, repeats or inserts; in JSON also whole values.
func spoilBody(rt *rapid.T, r *requested) {
	if len(r.body) == 0 {
		r.body = rapid.SliceOfN(rapid.Byte(), 0, 400).Draw(rt, "body")
		return
	}
	// Most of a body is one blob; the interesting bytes are at its beginning and its end.
	at := rapid.OneOf(rapid.IntRange(0, min(len(r.body), 1500)-1), rapid.IntRange(max(0, len(r.body)-1500), len(r.body)-1),
		rapid.IntRange(0, len(r.body)-1)).Draw(rt, "at")
	switch rapid.IntRange(0, 5).Draw(rt, "how") {
	case 0:
		r.body[at] = rapid.Byte().Draw(rt, "byte")
	case 1:
		r.body = r.body[:at]
	case 2:
		n := rapid.IntRange(0, min(200, len(r.body)-at)).Draw(rt, "length")
		r.body = slices.Insert(r.body, at, r.body[at:at+n]...)
	case 3:
		r.body = slices.Insert(r.body, at, rapid.SliceOfN(rapid.Byte(), 1, 64).Draw(rt, "bytes")...)
	case 4:
		n := rapid.IntRange(0, min(200, len(r.body)-at)).Draw(rt, "length")
		r.body = slices.Delete(r.body, at, at+n)
	case 5:
		quoted := bytes.Split(r.body, []byte(`"`))
		i := rapid.IntRange(0, min(len(quoted), 200)-1).Draw(rt, "text")
		quoted[i] = []byte(rapid.SampledFrom([]string{"", "0", "-1", "0x", "null", "[]", "{}", "[1]", "1e999", "\\u0000",
			"18446744073709551616"}).Draw(rt, "instead"))
		r.body = bytes.Join(quoted, []byte(`"`))
	}
}

var headerValues = map[string][]string{
	"Content-Type": {"", "application/json", "application/octet-stream", "text/plain",
		"application/json; charset=utf-8", ";", "a/b/c", "*/*"},
	"Content-Encoding":      {"", "gzip", "zstd", "identity", "br", "gzip, gzip", "GZIP"},
	"Eth-Consensus-Version": {"", "bellatrix", "capella", "deneb", "electra", "FULU", "gloas", "0"},
	"Accept": {"", "*/*", "text/html", "application/octet-stream", "application/json;q=0",
		"application/json;q=x", ",,,", "a"},
	"X-Sequence":        {"", "0", "-1", "1", "99999999999999999999", "x"},
	"Date-Milliseconds": {"", "0", "-1", "99999999999999999999", "1"},
	"X-Timeout-Ms":      {"", "0", "-1", "99999999999999999999", "1"},
	"X-Request-Id":      {"", "x", strings.Repeat("x", 500)},
}

func spoilHeader(rt *rapid.T, r *requested) {
	names := []string{}
	for name := range headerValues {
		names = append(names, name)
	}
	slices.Sort(names)
	name := rapid.SampledFrom(names).Draw(rt, "header")
	r.header.Set(name, rapid.SampledFrom(headerValues[name]).Draw(rt, "value"))
}

// spoilPath replaces a segment, or a parameter of the query.
func spoilPath(rt *rapid.T, r *requested) {
	instead := rapid.OneOf(
		rapid.SampledFrom([]string{"", ".", "..", "0", "-1", "1", "18446744073709551615", "18446744073709551616", "0x", "%",
			"'", "\x00", "é"}),
		rapid.StringN(0, 40, -1),
	).Draw(rt, "instead")
	path, query, _ := strings.Cut(r.path, "?")
	if query != "" && rapid.Bool().Draw(rt, "query") {
		params := strings.Split(query, "&")
		i := rapid.IntRange(0, len(params)-1).Draw(rt, "parameter")
		name, _, _ := strings.Cut(params[i], "=")
		params[i] = name + "=" + url.QueryEscape(instead)
		r.path = path + "?" + strings.Join(params, "&")
		return
	}
	segments := strings.Split(path, "/")
	i := rapid.IntRange(1, len(segments)-1).Draw(rt, "segment")
	segments[i] = url.PathEscape(instead)
	r.path = strings.Join(segments, "/")
	if query != "" {
		r.path += "?" + query
	}
}

func spoilMethod(rt *rapid.T, r *requested) {
	r.method = rapid.SampledFrom([]string{
		http.MethodGet, http.MethodPost, http.MethodPut, http.MethodDelete, http.MethodHead, http.MethodOptions,
		http.MethodPatch,
	}).Draw(rt, "method")
}
