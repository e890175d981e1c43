package api

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/attestantio/go-eth2-client/spec/electra"
	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/serve/servetest"
	"github.com/gavel-relay/gavel/relay/wire"
)

// What a request costs in memory is bounded by what it sends, whatever it sends: the greatest heap
// is four times the decompressed body and a mebibyte, and the answer is short. An operation that is
// not in the table must read no body.
func TestMemoryOfARequestIsBoundedByItsBody(t *testing.T) {
	text, _ := registrations(t)
	before := func(mark string) string {
		return string(text[:strings.Index(string(text), mark)+len(mark)])
	}
	marks := map[string][]string{
		"POST /eth/v1/builder/validators": {before(`"message":`), before(`"fee_recipient":`), before(`"signature":`)},
		"POST /eth/v1/builder/blinded_blocks": {
			`{"message":{"slot":"1","body":`,
			`{"message":{"slot":"1","body":{"attester_slashings":[{"attestation_1":{"attesting_indices":`,
		},
		"POST /eth/v2/builder/blinded_blocks": {
			`{"message":{"slot":"1","body":{"attester_slashings":`,
			// where lists are the longest
			`{"message":{"slot":"65","body":{"attester_slashings":[{"attestation_1":{"attesting_indices":`,
		},
	}
	mux := new(fakePorts).handler()
	for _, pattern := range mux.Patterns() {
		begins, reads := marks[pattern]
		delete(marks, pattern)
		method, path, _ := strings.Cut(pattern, " ")
		for _, body := range servetest.Bodies(memoryBody, begins...) {
			allowed := servetest.Allowed(len(body.Text))
			if !reads {
				allowed = servetest.Extra
			}
			if peak, answered := peakOf(t, mux, method, path, wire.JSON, body.Text, allowed); peak > allowed ||
				answered > maxAnswerBytes {
				t.Errorf("%s, %s: %d bytes of heap and %d of answer for %d", pattern, body.Name, peak, answered, len(body.Text))
			}
		}
	}
	for pattern := range marks {
		t.Errorf("nobody answers %s", pattern)
	}
}

// The same holds for good blocks whose lists are as long as SSZ has room for: from electra on a
// slashing names up to 131,072 validators twice, each with four bytes of JSON and eight of memory.
func TestMemoryOfTheLongestSlashing(t *testing.T) {
	longest := func() *electra.IndexedAttestation {
		return &electra.IndexedAttestation{
			AttestingIndices: make([]uint64, 131_072), Data: &phase0.AttestationData{Source: &phase0.Checkpoint{},
				Target: &phase0.Checkpoint{}},
		}
	}
	text, ssz := blindedBlockWith(t, []*electra.AttesterSlashing{{Attestation1: longest(), Attestation2: longest()}})
	for media, body := range map[wire.Media][]byte{wire.JSON: text, wire.SSZ: ssz} {
		d := &fakePorts{contents: testContents()}
		allowed := servetest.Allowed(len(body))
		peak, _ := peakOf(t, d.handler(), http.MethodPost, blindedBlocksV2, media, body, allowed)
		if peak > allowed {
			t.Errorf("%s: %d bytes of heap for %d", media.ContentType(), peak, len(body))
		}
		t.Logf("%s: %d bytes of %d", media.ContentType(), peak, allowed)
		if len(d.blocks) == 0 {
			t.Errorf("%s: refused", media.ContentType())
		}
	}
}

// peakOf sends a body packed, and answers by how much the heap grew and how long the answer is.
func peakOf(t *testing.T, handler http.Handler, method, path string, media wire.Media, body []byte,
	allowed int64) (peak, answered int64) {
	t.Helper()
	small := gzipped(t, body)
	answer := new(servetest.Answer)
	peak = servetest.Peak(t, allowed, func() {
		r := httptest.NewRequestWithContext(t.Context(), method, path, bytes.NewReader(small))
		r.Header.Set("Content-Type", media.ContentType())
		r.Header.Set("Content-Encoding", "gzip")
		if media == wire.SSZ {
			r.Header.Set("Eth-Consensus-Version", "fulu")
		}
		answer = new(servetest.Answer)
		handler.ServeHTTP(answer, r)
	})
	return peak, int64(answer.Bytes)
}

const maxAnswerBytes = 64 << 10
