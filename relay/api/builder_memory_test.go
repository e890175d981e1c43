package api

import (
	"bytes"
	"context"
	"encoding/binary"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/gavel-relay/gavel/internal/clock"
	"github.com/gavel-relay/gavel/internal/serve/servetest"
	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/relay/speculate"
	"github.com/gavel-relay/gavel/relay/wire"
)

// What a request costs in memory is bounded by what it sends, whatever it sends: the greatest heap
// is four times the decompressed body and a mebibyte, and the answer is short. An operation that is
// not in the table must read no body.
func TestBuilderMemoryOfARequestIsBoundedByItsBody(t *testing.T) {
	text, _ := submission(t)
	header := headerBody(t, wire.JSON)
	before := func(document []byte, marks ...string) (begins []string) {
		for _, mark := range marks {
			at := bytes.Index(document, []byte(mark))
			if at < 0 {
				t.Fatalf("%s is not in the good document", mark)
			}
			begins = append(begins, string(document[:at+len(mark)]))
		}
		return begins
	}
	bodies := map[string][]servetest.Body{
		"POST /relay/v1/builder/blocks": append(servetest.Bodies(memoryBody, before(text,
			`"message":`, `"transactions":`, `"commitments":`, `"blobs":`, `"deposits":`)...), smallTransactions(t)...),
		"POST /relay/v1/builder/headers": servetest.Bodies(memoryBody, before(header, `"message":`, `"deposits":`)...),
	}
	unread := servetest.Bodies(memoryBody)
	d := &silent{}
	mux := NewMux()
	MountBuilder(mux, BuilderConfig{
		Spec: testSpec(), Clock: clock.NewStepped(now), Submitter: d, Speculator: d.auction.speculator(),
		Headers: d,
		Duties:  d, Identity: d,
		Hydrator: &d.cache, TopBids: newTheatre().feed,
	})
	for _, pattern := range mux.Patterns() {
		list, reads := bodies[pattern]
		delete(bodies, pattern)
		if !reads {
			list = unread
		}
		method, path, _ := strings.Cut(pattern, " ")
		for _, body := range list {
			allowed := servetest.Allowed(len(body.Text))
			if !reads {
				allowed = servetest.Extra
			}
			mediaType := "application/json"
			if strings.HasPrefix(body.Name, "SSZ") {
				mediaType = "application/octet-stream"
			}
			small := packed(t, "gzip", body.Text)
			answer := new(servetest.Answer)
			peak := servetest.Peak(t, allowed, func() {
				r := httptest.NewRequestWithContext(t.Context(), method, path, bytes.NewReader(small))
				r.Header.Set("Content-Type", mediaType)
				r.Header.Set("Content-Encoding", "gzip")
				r.Header.Set("X-Api-Key", "alpha's")
				answer = new(servetest.Answer)
				mux.ServeHTTP(answer, r)
			})
			if peak > allowed || answer.Bytes > maxAnswerBytes {
				t.Errorf("%s, %s: %d bytes of heap and %d of answer for %d", pattern, body.Name, peak, answer.Bytes, len(body.Text))
			}
		}
	}
	for pattern := range bodies {
		t.Errorf("nobody answers %s", pattern)
	}
}

// silent is fakePorts that forgets what it gets.
type silent struct{ builderFakePorts }

func (d *silent) Submit(context.Context, *relay.Submission, *speculate.Ahead) (relay.Outcome, error) {
	return relay.Outcome{}, nil
}

func (d *silent) SubmitHeader(context.Context, *relay.HeaderSubmission) (relay.Outcome, error) {
	return relay.Outcome{}, nil
}

// smallTransactions are good submissions but for their transactions: as many as go into a body,
// each as short as can be.
func smallTransactions(t *testing.T) (all []servetest.Body) {
	t.Helper()
	text, ssz := submission(t)
	good := `"0x` + strings.Repeat("02", 100) + `"`
	for _, tx := range []string{`"0x02"`, `"0x` + strings.Repeat("02", 20) + `"`} {
		list := strings.TrimSuffix(strings.Repeat(tx+",", memoryBody/(len(tx)+1)), ",")
		all = append(all, servetest.Body{Name: "JSON of transactions like " + tx, Text: bytes.Replace(text, []byte(good),
			[]byte(list), 1)})
	}
	for _, length := range []int{0, 1, 20} {
		all = append(all, servetest.Body{Name: "SSZ of short transactions",
			Text: withTransactions(ssz, memoryBody/(4+length), length)})
	}
	return all
}

// withTransactions replaces the one transaction of a submission in SSZ by others that are all of
// one length.
func withTransactions(ssz []byte, count, length int) []byte {
	const message, offset, signature, payloadHead, transactionsAt = 236, 4, 96, 528, 504
	payloadAt := message + 3*offset + signature
	from := payloadAt + int(binary.LittleEndian.Uint32(ssz[payloadAt+transactionsAt:]))
	to := payloadAt + int(binary.LittleEndian.Uint32(ssz[payloadAt+transactionsAt+offset:]))
	var list []byte
	for i := range count {
		list = binary.LittleEndian.AppendUint32(list, uint32(offset*count+length*i))
	}
	list = append(list, bytes.Repeat([]byte{2}, count*length)...)
	more := uint32(len(list) - (to - from))
	out := append(append(append([]byte{}, ssz[:from]...), list...), ssz[to:]...)
	for _, at := range []int{message + offset, message + 2*offset, payloadAt + transactionsAt + offset} {
		binary.LittleEndian.PutUint32(out[at:], binary.LittleEndian.Uint32(out[at:])+more)
	}
	return out
}
