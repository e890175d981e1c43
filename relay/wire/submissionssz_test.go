package wire

import (
	"bytes"
	"testing"

	"github.com/gavel-relay/gavel/internal/eth"
)

// What the libraries read of a body in SSZ, and what they refuse, is what our reader reads and
// refuses: of good bodies, and of bodies with a wrong byte among the lengths and offsets, too
// short, or too long.
func TestReaderInPlaceAgreesWithTheLibraries(t *testing.T) {
	forEach(t, func(t *testing.T, fork eth.Fork, s source) {
		request, err := toRequest(s.contents(fork))
		if err != nil {
			t.Fatal(err)
		}
		good, err := request.MarshalSSZ()
		if err != nil {
			t.Fatal(err)
		}
		agreeInSSZ(t, fork, good)
		agreeInSSZ(t, fork, good[:len(good)-1])
		agreeInSSZ(t, fork, append(bytes.Clone(good), 0))
		for range 200 {
			bad := bytes.Clone(good)
			places := []int{ // anywhere, and where the offsets are: of the body, of the payload, of its transactions
				s.IntN(len(bad)), traceBytes + s.IntN(120), submissionHead + transactionsAt + s.IntN(2*offsetBytes),
				submissionHead + payloadHead + s.IntN(60),
			}
			bad[min(places[s.IntN(len(places))], len(bad)-1)] ^= byte(1 + s.IntN(255))
			agreeInSSZ(t, fork, bad)
		}
	})
}

func agreeInSSZ(t *testing.T, fork eth.Fork, body []byte) {
	t.Helper()
	got, gotErr := DecodeSubmission(fork, SSZ, body)
	request, err := newRequest(fork)
	if err != nil {
		t.Fatal(err)
	}
	wantErr := decodeSSZ(body, request)
	if (gotErr == nil) != (wantErr == nil) {
		t.Fatalf("ours: %v, the libraries': %v", gotErr, wantErr)
	}
	if gotErr != nil {
		return
	}
	want, err := fromRequest(fork, request)
	if err != nil {
		t.Fatal(err)
	}
	if got.Signature != want.Signature {
		t.Error("the signatures differ")
	}
	wantSame(t, got.Contents(), want.Contents())
}

// A body that came in SSZ goes into the escrow as it is, in its own memory if there is room behind
// it.
func TestBodyInSSZIsNotEncodedAgain(t *testing.T) {
	c := newSource(3).contents(eth.Fulu)
	request, err := toRequest(c)
	if err != nil {
		t.Fatal(err)
	}
	body, err := request.MarshalSSZTo(make([]byte, 0, request.SizeSSZ()+16))
	if err != nil {
		t.Fatal(err)
	}
	s, err := DecodeSubmission(eth.Fulu, SSZ, body)
	if err != nil {
		t.Fatal(err)
	}
	kept, err := EncodeContents(s.Contents())
	if err != nil || &kept[0] != &body[0] {
		t.Fatalf("copied, %v", err)
	}
	got, err := DecodeContents(kept)
	if err != nil {
		t.Fatal(err)
	}
	wantSame(t, got, c)
	if again, err := EncodeContents(got); err != nil || &again[0] == &kept[0] || !bytes.Equal(again, kept) {
		t.Errorf("contents from the escrow must be copied to be written again, since others read there: %v", err)
	}
}
