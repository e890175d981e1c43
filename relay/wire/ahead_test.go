package wire

import (
	"bytes"
	"testing"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/payload"
)

// A submission that was begun while it came is the one that is read at its end, however it was cut; and what is wrong with it is found all the same.
func TestAheadReadsWhatIsReadAtTheEnd(t *testing.T) {
	forEach(t, func(t *testing.T, fork eth.Fork, s source) {
		request, err := toRequest(s.contents(fork))
		if err != nil {
			t.Fatal(err)
		}
		body, err := request.MarshalSSZ()
		if err != nil {
			t.Fatal(err)
		}
		for try := range 50 {
			bad := bytes.Clone(body)
			if try > 20 { // mostly among the offsets
				bad[min(traceBytes+s.IntN(submissionHead), len(bad)-1)] ^= byte(1 + s.IntN(255))
			}
			ahead := Ahead{ForkAt: func(phase0.Slot) eth.Fork { return fork }}
			for at := 0; at < len(bad); {
				at = min(at+1+s.IntN(len(bad)), len(bad))
				if work := ahead.Arrived(bad[:at:at]); work != nil {
					go work()
				}
			}
			got, gotErr := ahead.DecodeSubmission(fork, SSZ, bad)
			want, wantErr := DecodeSubmission(fork, SSZ, bad)
			if (gotErr == nil) != (wantErr == nil) {
				t.Fatalf("ahead: %v, at the end: %v", gotErr, wantErr)
			}
			if gotErr != nil {
				continue
			}
			wantSame(t, got.Contents(), want.Contents())
			if fork < eth.Electra {
				continue
			}
			root, err := got.TransactionsRoot()
			if err != nil {
				t.Fatal(err)
			}
			if wantRoot, err := payload.TransactionsRoot(want.Payload.Transactions); err != nil || root != wantRoot {
				t.Errorf("root %#x, want %#x (%v)", root, wantRoot, err)
			}
		}
	})
}

// Nothing is begun before the payload is whole, nor for a fork whose bodies are shaped differently.
func TestAheadWaitsForThePayload(t *testing.T) {
	forEach(t, func(t *testing.T, fork eth.Fork, s source) {
		request, err := toRequest(s.contents(fork))
		if err != nil {
			t.Fatal(err)
		}
		body, err := request.MarshalSSZ()
		if err != nil {
			t.Fatal(err)
		}
		ahead := Ahead{ForkAt: func(phase0.Slot) eth.Fork { return fork }}
		for at := range body {
			ahead.Arrived(body[:at])
			if ahead.made != nil && (fork < eth.Electra || at < submissionHead+ahead.made.bytes) {
				t.Fatalf("%s: begun after %d of %d bytes", fork, at, len(body))
			}
		}
		if fork >= eth.Electra && ahead.made == nil {
			t.Errorf("%s: not begun before the end", fork)
		}
	})
}
