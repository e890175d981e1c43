package wire

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/attestantio/go-eth2-client/spec/deneb"
	"github.com/attestantio/go-eth2-client/spec/phase0"
	"pgregory.net/rapid"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/payload"
	"github.com/gavel-relay/gavel/relay"
)

// headerSubmission is the bid of contents, without the payload.
func (s source) headerSubmission(t rapid.TB, fork eth.Fork) *relay.HeaderSubmission {
	t.Helper()
	c := s.contents(fork)
	header, err := payload.HeaderOf(fork, c.Payload)
	if err != nil {
		t.Fatal(err)
	}
	h := &relay.HeaderSubmission{Fork: fork, Trace: c.Trace, Header: header, Requests: c.Requests}
	s.fill(h.Signature[:])
	if fork >= eth.Deneb {
		h.Commitments = make([]deneb.KZGCommitment, s.IntN(7))
		for i := range h.Commitments {
			s.fill(h.Commitments[i][:])
		}
	}
	return h
}

func TestHeaderSubmissionsComeBackFromBothEncodings(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		fork := rapid.SampledFrom(eth.Forks()).Draw(t, "fork")
		want := newSource(rapid.Uint64().Draw(t, "seed")).headerSubmission(t, fork)
		ssz, err := EncodeHeaderSubmission(SSZ, want)
		if err != nil {
			t.Fatal(err)
		}
		for _, media := range []Media{JSON, SSZ} {
			body, err := EncodeHeaderSubmission(media, want)
			if err != nil {
				t.Fatal(err)
			}
			got, err := DecodeHeaderSubmission(fork, media, body)
			if err != nil {
				t.Fatalf("%s: %v", media.ContentType(), err)
			}
			again, err := EncodeHeaderSubmission(SSZ, got)
			if err != nil || !bytes.Equal(again, ssz) {
				t.Fatalf("%s: comes back as something else: %v", media.ContentType(), err)
			}
			if got.Signature != want.Signature || got.Trace.Value.Cmp(want.Trace.Value) != 0 ||
				got.Header.BlockHash != want.Header.BlockHash ||
				len(got.Commitments) != len(want.Commitments) || (got.Requests == nil) != (want.Requests == nil) {
				t.Fatalf("%s: %+v, want %+v", media.ContentType(), got, want)
			}
			if slot, err := SlotOf(media, body); err != nil || slot != phase0.Slot(want.Trace.Slot) {
				t.Fatalf("slot %d, %v", slot, err)
			}
		}
	})
}

// The header that was read is the one whose root the bid will carry.
func TestHeaderSubmissionKeepsTheRoot(t *testing.T) {
	forEach(t, func(t *testing.T, fork eth.Fork, s source) {
		want := s.headerSubmission(t, fork)
		root, err := payload.HeaderRoot(fork, want.Header)
		if err != nil {
			t.Fatal(err)
		}
		for _, media := range []Media{JSON, SSZ} {
			body, err := EncodeHeaderSubmission(media, want)
			if err != nil {
				t.Fatal(err)
			}
			got, err := DecodeHeaderSubmission(fork, media, body)
			if err != nil {
				t.Fatal(err)
			}
			if again, err := payload.HeaderRoot(fork, got.Header); err != nil || again != root {
				t.Errorf("root %#x, %v, want %#x", again, err, root)
			}
		}
	})
}

func TestBentHeaderSubmissionsAreRefused(t *testing.T) {
	forEach(t, func(t *testing.T, fork eth.Fork, s source) {
		h := s.headerSubmission(t, fork)
		body, err := EncodeHeaderSubmission(SSZ, h)
		if err != nil {
			t.Fatal(err)
		}
		bad := map[string][]byte{
			"trailing byte": append(append([]byte{}, body...), 0), "nothing": nil,
			"only the fixed part": body[:fixedHeaderBytes(fork)],
			"first offset + 1":    bend(body, traceBytes, 1), "first offset - 1": bend(body, traceBytes, -1),
		}
		for i := range offsetsOf(fork) {
			bad[fmt.Sprintf("offset %d far out", i)] = bend(body, traceBytes+i*offsetBytes+3, 1)
		}
		for name, body := range bad {
			// A header ends in its extra data, which has no length of its own before deneb and takes a
			// trailing byte while there is room.
			if name == "trailing byte" && fork < eth.Deneb {
				continue
			}
			if _, err := DecodeHeaderSubmission(fork, SSZ, body); err == nil {
				t.Errorf("%s passes", name)
			}
		}
		text, err := EncodeHeaderSubmission(JSON, h)
		if err != nil {
			t.Fatal(err)
		}
		for name, row := range map[string]struct{ old, new string }{
			"bare number": {`"slot":"`, `"slot":7,"x":"`}, "no header": {`"execution_payload_header"`, `"header"`},
			"no signature": {`"signature"`, `"sig"`},
			"a name twice": {`"message":`, `"execution_payload_header":{},"message":`}, "null": {`"transactions_root":`,
				`"transactions_root":null,"x":`},
		} {
			_, err := DecodeHeaderSubmission(fork, JSON, []byte(strings.Replace(string(text), row.old, row.new, 1)))
			if err == nil {
				t.Errorf("%s passes", name)
			}
		}
	})
	if _, err := DecodeHeaderSubmission(0, SSZ, make([]byte, 999)); err == nil {
		t.Error("no fork passes")
	}
	if _, err := EncodeHeaderSubmission(SSZ, &relay.HeaderSubmission{Fork: eth.Fulu}); err == nil {
		t.Error("an empty one is written")
	}
}

func FuzzDecodeHeaderSubmission(f *testing.F) {
	for _, fork := range eth.Forks() {
		for _, media := range []Media{JSON, SSZ} {
			body, err := EncodeHeaderSubmission(media, newSource(uint64(fork)).headerSubmission(f, fork))
			if err != nil {
				f.Fatal(err)
			}
			f.Add(byte(fork), byte(media), body)
		}
	}
	f.Fuzz(func(t *testing.T, fork, media byte, body []byte) {
		s, err := DecodeHeaderSubmission(eth.Fork(fork), Media(media%2), body)
		if err != nil {
			return
		}
		again, err := EncodeHeaderSubmission(SSZ, s)
		if err != nil {
			t.Fatal(err)
		}
		if Media(media%2) == SSZ && !bytes.Equal(again, body) {
			t.Fatal("accepted, but says something else when written again")
		}
		if slot, err := SlotOf(Media(media%2), body); err != nil || uint64(slot) != s.Trace.Slot {
			t.Fatalf("slot %d, %v", slot, err)
		}
	})
}
