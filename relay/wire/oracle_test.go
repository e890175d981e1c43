package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"testing"

	"github.com/attestantio/go-builder-client/api/bellatrix"
	"github.com/attestantio/go-builder-client/api/capella"
	"github.com/attestantio/go-builder-client/api/deneb"
	"github.com/attestantio/go-builder-client/api/electra"
	"github.com/attestantio/go-builder-client/api/fulu"
	"github.com/attestantio/go-eth2-client/spec/phase0"
	"pgregory.net/rapid"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/payload"
	"github.com/gavel-relay/gavel/internal/jsonscan"
	"github.com/gavel-relay/gavel/relay"
)

// The oracle reads a submission as it was read before there was a decoder of our own: a walk over
// encoding/json's tokens for the rules that the libraries do not have, then the libraries'
// UnmarshalJSON. On every document both must say the same, except where this package means to
// differ:
//
//   - errSpelling: the libraries take "Slot" for "slot" in some types and in some forks; here names
//     are in lower case.
//   - errEmptyTransaction: bellatrix and capella take "0x" for a transaction, the later forks do
//     not; here none does.
//   - errTooMany: the libraries do not apply SSZ's list limits to JSON (REL-SUB-36).
//   - Escapes in values ("\u0030x…") are read as what they stand for; the libraries look at the raw
//     text in some types. The oracle is
//     therefore shown the document without escapes.

// oracle is nil, nil where the library panics.
func oracle(fork eth.Fork, body []byte) (s *relay.Submission, err error) {
	plain := unescaped(body)
	if err := tokenWalk(plain); err != nil {
		return nil, err
	}
	request, err := newRequest(fork)
	if err != nil {
		return nil, err
	}
	defer func() {
		if recover() != nil {
			s, err = nil, nil
		}
	}()
	if err := request.UnmarshalJSON(nullLists.ReplaceAll(plain, []byte("$1[]"))); err != nil {
		return nil, err
	}
	return fromRequest(fork, request)
}

// toRequest is the submission in the library's type, with a signature of zeros.
func toRequest(c *relay.Contents) (codec, error) {
	form, err := forms.Of(c.Fork, "submissions")
	if err != nil {
		return nil, err
	}
	return form.request(c, phase0.BLSSignature{}), nil
}

// newRequest is an empty request in the library's type.
func newRequest(fork eth.Fork) (codec, error) {
	of := map[eth.Fork]codec{
		eth.Bellatrix: new(bellatrix.SubmitBlockRequest), eth.Capella: new(capella.SubmitBlockRequest),
		eth.Deneb: new(deneb.SubmitBlockRequest), eth.Electra: new(electra.SubmitBlockRequest),
		eth.Fulu: new(fulu.SubmitBlockRequest),
	}
	if of[fork] == nil {
		return nil, eth.ErrFork
	}
	return of[fork], nil
}

// fromRequest gives what the library has read the relay's shape.
func fromRequest(fork eth.Fork, request codec) (*relay.Submission, error) {
	s := &relay.Submission{Fork: fork}
	switch r := request.(type) {
	case *bellatrix.SubmitBlockRequest:
		fromBellatrix(r, s)
	case *capella.SubmitBlockRequest:
		fromCapella(r, s)
	case *deneb.SubmitBlockRequest:
		fromDeneb(r, s)
	case *electra.SubmitBlockRequest:
		s.Trace, s.Payload, s.Signature, s.Requests = r.Message, r.ExecutionPayload, r.Signature, r.ExecutionRequests
		s.Blobs = fromDenebBundle(r.BlobsBundle)
	case *fulu.SubmitBlockRequest:
		s.Trace, s.Payload, s.Signature, s.Requests = r.Message, r.ExecutionPayload, r.Signature, r.ExecutionRequests
		s.Blobs = (*payload.Blobs)(r.BlobsBundle)
	}
	if fork >= eth.Electra && s.Requests == nil {
		return nil, errors.New("no execution_requests")
	}
	return s, checkComplete(s)
}

// nullLists are the lists that may be null, and are empty then. The libraries take null for some of
// them, in some forks.
var nullLists = regexp.MustCompile(
	`("(?:transactions|withdrawals|commitments|proofs|blobs|deposits|consolidations)"\s*:\s*)null`)

// agree compares the decoder with the oracle, and the walk that other bodies get with the same over
// tokens.
func agree(t rapid.TB, fork eth.Fork, body []byte) {
	t.Helper()
	if walked, want := strict(body), tokenWalk(body); (walked == nil) != (want == nil) {
		t.Fatalf("strict: %v, the oracle says %v, about\n%.3000s", walked, want, body)
	}
	got, err := DecodeSubmission(fork, JSON, body)
	if errors.Is(err, errSpelling) || errors.Is(err, errEmptyTransaction) || errors.Is(err, errTooMany) {
		return
	}
	want, wantErr := oracle(fork, body)
	switch {
	case want == nil && wantErr == nil:
	case (err == nil) != (wantErr == nil):
		t.Fatalf("%s: %v, the oracle says %v, about\n%.3000s", fork, err, wantErr, body)
	case err == nil:
		wantSame(t, got.Contents(), want.Contents())
		if got.Signature != want.Signature {
			t.Fatalf("signature %x, want %x", got.Signature, want.Signature)
		}
		if slot, err := SlotOf(JSON, body); err != nil || uint64(slot) != got.Trace.Slot {
			t.Fatalf("slot %d, %v: the message has %d", slot, err, got.Trace.Slot)
		}
	}
}

// unescaped writes each string that has escapes as encoding/json would, which escapes only what
// must be.
func unescaped(body []byte) []byte {
	var out bytes.Buffer
	for c := newCursor(body); c.At < len(body); {
		end := -1
		if body[c.At] == '"' {
			end = c.TextEnd()
		}
		if end < 0 {
			out.WriteByte(body[c.At])
			c.At++
			continue
		}
		raw, text := body[c.At:end], ""
		if bytes.IndexByte(raw, '\\') >= 0 && json.Unmarshal(raw, &text) == nil {
			encoder := json.NewEncoder(&out)
			encoder.SetEscapeHTML(false)
			_ = encoder.Encode(text) // a string always can be; the line end behind it is white space
		} else {
			out.Write(raw)
		}
		c.At = end
	}
	return out.Bytes()
}

// strict walks a document under the rules for names that are not ours in their place, which are the
// same as for ours but for spelling.
func strict(body []byte) error {
	c := newCursor(body)
	if err := c.walk("", object); err != nil {
		return err
	}
	return c.End()
}

// tokenWalk are the rules of strict, said with encoding/json's own reader.
func tokenWalk(body []byte) error {
	w := tokenWalker{json.NewDecoder(bytes.NewReader(body))}
	w.UseNumber()
	if err := w.value("", object, 0); err != nil {
		return err
	}
	if _, err := w.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something follows the document")
	}
	return nil
}

type tokenWalker struct{ *json.Decoder }

func (w *tokenWalker) value(name string, want kind, depth int) error {
	token, err := w.Token()
	if err != nil {
		return err
	}
	switch t := token.(type) {
	case json.Delim:
		if depth >= maxDepth {
			return errors.New("nested too deeply")
		}
		if t == '{' && (want == object || want == unknown) {
			return w.object(depth)
		}
		if t == '[' && (want >= decimals || want == unknown) {
			for w.More() {
				if err := w.value(name, itemKinds[want], depth+1); err != nil {
					return err
				}
			}
			_, err := w.Token()
			return err
		}
		return fmt.Errorf("%s is %v", name, t)
	case string:
		return checkText(want, []byte(t))
	default:
		if want != unknown && (token != nil || want < decimals || !nullable[name]) {
			return fmt.Errorf("%s is %v", name, token)
		}
		return nil
	}
}

func (w *tokenWalker) object(depth int) error {
	seen := map[string]bool{}
	for w.More() {
		token, err := w.Token()
		if err != nil {
			return err
		}
		name := jsonscan.Fold(token.(string))
		if seen[name] {
			return fmt.Errorf("%s comes twice", name)
		}
		seen[name] = true
		if err := w.value(name, kinds[name], depth+1); err != nil {
			return err
		}
	}
	_, err := w.Token()
	return err
}

// small is a submission's document without blobs, which would only make the search slow.
func small(t rapid.TB, fork eth.Fork, seed uint64) string {
	contents := newSource(seed).contents(fork)
	if contents.Blobs != nil {
		contents.Blobs.Blobs = nil
	}
	request, err := toRequest(contents)
	if err != nil {
		t.Fatal(err)
	}
	body, err := request.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

// mutations are what a document may suffer. Each takes a place and material from the generator.
var mutations = map[string]func(t *rapid.T, body string) string{
	"nothing": func(_ *rapid.T, body string) string { return body },
	"a byte replaced": func(t *rapid.T, body string) string {
		at := rapid.IntRange(0, len(body)-1).Draw(t, "at")
		return body[:at] + string(rapid.SampledFrom([]byte(`{}[]":,\ 0xfg`+"\x00\x1f\n\xff\xc5")).Draw(t,
			"byte")) + body[at+1:]
	},
	"cut short": func(t *rapid.T, body string) string { return body[:rapid.IntRange(0, len(body)).Draw(t, "at")] },
	"a value replaced": func(t *rapid.T, body string) string {
		name := rapid.SampledFrom(knownNames).Draw(t, "name")
		from := strings.Index(body, `"`+name+`":`)
		if from < 0 {
			return body
		}
		c := newCursor([]byte(body))
		c.At = from + len(name) + 3
		start := c.At
		if _, err := c.Raw(); err != nil {
			return body // cut short before
		}
		return body[:start] + rapid.SampledFrom(strangeValues).Draw(t, "value") + body[c.At:]
	},
	"a member added": func(t *rapid.T, body string) string {
		places := strings.Split(body, "{")
		if len(places) == 1 {
			return body // cut short before
		}
		at := rapid.IntRange(1, len(places)-1).Draw(t, "object")
		name := rapid.SampledFrom(append([]string{"future", "S\u0142ot", "\u017flot", `\u0073lot`, `\ud800`, "a\xff",
			"a\xfe"}, knownNames...)).Draw(t, "name")
		if rapid.Bool().Draw(t, "capitals") {
			name = strings.ToUpper(name[:1]) + name[1:]
		}
		comma := ","
		if strings.HasPrefix(places[at], "}") {
			comma = ""
		}
		places[at] = `"` + name + `":` + rapid.SampledFrom(strangeValues).Draw(t, "value") + comma + places[at]
		return strings.Join(places, "{")
	},
	"a name escaped": func(t *rapid.T, body string) string {
		name := rapid.SampledFrom(knownNames).Draw(t, "name")
		return strings.Replace(body, `"`+name+`"`, fmt.Sprintf(`"\u%04x%s"`, name[0], name[1:]), 1)
	},
	"a value escaped": func(_ *rapid.T, body string) string { return strings.ReplaceAll(body, `"0x0`, `"\u0030x\u0030`) },
	"other case": func(_ *rapid.T, body string) string {
		return strings.ReplaceAll(strings.ToUpper(body), "0X", "0x")
	},
	"digits upper": func(_ *rapid.T, body string) string {
		return strings.NewReplacer(`a"`, `A"`, `f"`, `F"`).Replace(body)
	},
	"white space": func(_ *rapid.T, body string) string {
		return "\r\n" + strings.ReplaceAll(body, ":", " \t:\n") + "  "
	},
	"a member removed": func(t *rapid.T, body string) string {
		return strings.Replace(body, `"`+rapid.SampledFrom(knownNames).Draw(t, "name")+`"`, `"gone"`, 1)
	},
}

var knownNames = strings.Fields(
	`message execution_payload blobs_bundle execution_requests signature slot value gas_limit parent_hash
	extra_data base_fee_per_gas transactions withdrawals deposits consolidations commitments proofs blobs logs_bloom amount index
	withdrawal_credentials validator_pubkey source_address excess_blob_gas attesting_indices`)

var strangeValues = append(
	strings.Fields(
		`null true 0 -1 1e5 1.5.2 01 "" "0" "00" "7" "-7" "0x" "0x0" "0x00" "0X00" "\u0030x00" "\x" "\ud800" [] [1]
	[null] ["0x01"] ["0x"] [""] [[]] [{}] [,] [1,] {} {"slot":"1"} {"slot":1} {"a":1,"a":2} {"a":1,"A":2} {"a":{"b":[{"c":null}]}} {]
	"18446744073709551615" "18446744073709551616" "`+beyond256+`"`), `"0x`+strings.Repeat("ab", 32)+`"`, `"0x`+
		strings.Repeat("ab", 33)+`"`,
	strings.Repeat("[", 30)+strings.Repeat("]", 30), strings.Repeat(`{"x":`, 22)+"1"+strings.Repeat("}", 22),
	strings.Repeat(`{"x":`, 23)+"1"+strings.Repeat("}", 23), `"a`+"\xff"+`"`, `"a`+"\x01"+`"`, `["0x01" "0x02"]`,
	`{"a" 1}`, `nul`, `"`)

func TestDecoderAgreesWithTheOracle(t *testing.T) {
	names := []string{}
	for name := range mutations {
		names = append(names, name)
	}
	for _, fork := range eth.Forks() {
		t.Run(fork.String(), func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				body := small(t, fork, rapid.Uint64Range(0, 50).Draw(t, "seed"))
				for range rapid.IntRange(1, 2).Draw(t, "mutations") {
					if body = mutations[rapid.SampledFrom(names).Draw(t, "mutation")](t, body); body == "" {
						return
					}
				}
				agree(t, fork, []byte(body))
			})
		})
	}
}

// Blobs are read by the same rules, in the few sizes around the right one.
func TestBlobsHaveTheirSize(t *testing.T) {
	contents := newSource(1).contents(eth.Fulu)
	contents.Blobs = large(t).Blobs
	contents.Blobs.Blobs = contents.Blobs.Blobs[:2]
	request, err := toRequest(contents)
	if err != nil {
		t.Fatal(err)
	}
	body, err := request.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	agree(t, eth.Fulu, body)
	if _, err := DecodeSubmission(eth.Fulu, JSON, body); err != nil {
		t.Fatal(err)
	}
	start := bytes.Index(body, []byte(`"blobs":["0x`)) + len(`"blobs":["0x`)
	for _, bad := range []string{
		string(body[:start]) + "00" + string(body[start:]), string(body[:start]) + string(body[start+2:]),
		string(body[:start]) + "0" + string(body[start:]),
		string(body[:start]) + "zz" + string(body[start+2:]),
	} {
		agree(t, eth.Fulu, []byte(bad))
		if _, err := DecodeSubmission(eth.Fulu, JSON, []byte(bad)); err == nil {
			t.Error("a blob of another size passes")
		}
	}
	escaped := strings.Replace(string(body), `"blobs":["0x`, `"blobs":["\u0030x`, 1)
	if _, err := DecodeSubmission(eth.Fulu, JSON, []byte(escaped)); err != nil {
		t.Error(err)
	}
}

func FuzzDecoderAgreesWithTheOracle(f *testing.F) {
	for _, fork := range eth.Forks() {
		f.Add(byte(fork), []byte(small(f, fork, uint64(fork))))
	}
	for _, value := range strangeValues {
		f.Add(byte(eth.Fulu), []byte(`{"message":`+value+`}`))
	}
	f.Fuzz(func(t *testing.T, fork byte, body []byte) {
		if fork >= byte(eth.Bellatrix) && fork <= byte(eth.Fulu) {
			agree(t, eth.Fork(fork), body)
		}
	})
}
