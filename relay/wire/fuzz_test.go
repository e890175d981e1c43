package wire

import (
	"bytes"
	"testing"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/relay"
)

// Each decoder may refuse anything, but must never panic, and what it accepts in SSZ must have been
// the only way to say it.

func FuzzDecodeSubmission(f *testing.F) {
	for _, fork := range eth.Forks() {
		request, err := toRequest(newSource(uint64(fork)).contents(fork))
		if err != nil {
			f.Fatal(err)
		}
		for _, media := range []Media{JSON, SSZ} {
			body, err := encode(media, request)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(byte(fork), byte(media), body)
		}
	}
	f.Add(byte(eth.Fulu), byte(JSON), []byte(`{"execution_payload":{"transactions":[1]}}`))
	f.Fuzz(func(t *testing.T, fork, media byte, body []byte) {
		submission, err := DecodeSubmission(eth.Fork(fork), Media(media%2), body)
		if _, slotErr := SlotOf(Media(media%2), body); err == nil && slotErr != nil && Media(media%2) == SSZ {
			t.Fatal("a submission without a slot")
		}
		if err != nil || Media(media%2) == JSON {
			return
		}
		request, err := toRequest(submission.Contents())
		if err != nil {
			t.Fatal(err)
		}
		again, err := request.MarshalSSZ()
		if err != nil {
			t.Fatal(err)
		}
		if len(again) != len(body) || !bytes.Equal(again[:240], body[:240]) {
			t.Fatal("accepted, but says something else when written again")
		}
	})
}

func FuzzDecodeBlinded(f *testing.F) {
	for _, fork := range eth.Forks() {
		s := newSource(uint64(fork))
		signed := s.blinded(f, s.contents(fork))
		for _, media := range []Media{JSON, SSZ} {
			body, err := encode(media, signed)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(byte(fork), byte(media), body)
		}
	}
	f.Fuzz(func(t *testing.T, fork, media byte, body []byte) {
		block, err := DecodeBlinded(eth.Fork(fork), Media(media%2), body)
		if err != nil || Media(media%2) == JSON {
			return
		}
		again, err := block.Contents.(codec).MarshalSSZ()
		if err != nil || !bytes.Equal(again, body) {
			t.Fatalf("accepted, but is written as something else: %v", err)
		}
	})
}

func FuzzDecodeRegistrations(f *testing.F) {
	raw, err := newSource(1).registration().MarshalSSZ()
	if err != nil {
		f.Fatal(err)
	}
	text, err := newSource(1).registration().MarshalJSON()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(byte(SSZ), raw)
	f.Add(byte(JSON), []byte("["+string(text)+"]"))
	f.Add(byte(JSON), []byte(`[null,{"message":null}]`))
	f.Fuzz(func(t *testing.T, media byte, body []byte) {
		batch, err := DecodeRegistrations(Media(media%2), body)
		if err != nil {
			return
		}
		if len(batch.Bad) > min(batch.BadCount, relay.MaxListedFailures) {
			t.Fatalf("%d errors of %d are kept", len(batch.Bad), batch.BadCount)
		}
		last := -1
		for i := range batch.Entries {
			if batch.Entries[i].Message == nil {
				t.Fatal("an entry without a message")
			}
			if place := batch.BodyIndex(i); place <= last || place >= len(batch.Entries)+batch.BadCount {
				t.Fatalf("entry %d stands at %d, after %d", i, place, last)
			}
			last = batch.BodyIndex(i)
		}
	})
}

func FuzzDecodeContents(f *testing.F) {
	for _, fork := range eth.Forks() {
		raw, err := EncodeContents(newSource(1).contents(fork))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		contents, err := DecodeContents(raw)
		if err == nil && contents.Payload == nil {
			t.Fatal("contents without a payload")
		}
	})
}
