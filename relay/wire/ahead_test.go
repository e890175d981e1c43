package wire

import (
	"bytes"
	"testing"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/payload"
	"github.com/gavel-relay/gavel/relay"
)

// A submission that was begun while it came is the one that is read at its end, however it was cut;
// and what is wrong with it is found all the same.
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
		for try := range 100 {
			bad := bytes.Clone(body)
			if try > 20 { // mostly among the offsets
				places := []int{traceBytes + s.IntN(submissionHead), submissionHead + transactionsAt + s.IntN(2*offsetBytes),
					s.IntN(len(bad))}
				bad[min(places[s.IntN(len(places))], len(bad)-1)] ^= byte(1 + s.IntN(255))
			}
			ahead := Ahead{ForkAt: func(phase0.Slot) eth.Fork {
				return fork
			}, Bytes: int64(len(bad)), hashed: hashedAhead{batchBytes: 1 + s.IntN(300)}}
			arrive(&ahead, bad, func(at int) int { return at + 1 + s.IntN(len(bad)) }, try%2 == 0)
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
			root, err := got.Ahead.TransactionsRoot()
			if err != nil {
				t.Fatal(err)
			}
			if wantRoot, err := payload.TransactionsRoot(want.Payload.Transactions); err != nil || root != wantRoot {
				t.Errorf("root %#x, want %#x (%v)", root, wantRoot, err)
			}
		}
	})
}

// arrive shows a body to Ahead as it comes, in pieces that end where next says, and begins all that
// can be begun; hash says whether that goes for the transactions too. It returns how to read the
// block, nil if that was never to be had.
func arrive(a *Ahead, body []byte, next func(at int) int, hash bool) (block func() *relay.Submission) {
	for at := 0; at < len(body); {
		at = min(next(at), len(body))
		a.Message(body[:at:at])
		if work := a.Transactions(body[:at:at]); work != nil && hash {
			go work()
		}
		if read := a.Block(body[:at:at]); read != nil {
			block = read
			go read()
		}
	}
	return block
}

// Of a block in the middle of its body there is the message first, then payload and commitments,
// and the requests if they must be empty. Bodies before electra are shaped differently: there is
// nothing ahead.
func TestAheadOfTheBlobs(t *testing.T) {
	forEach(t, func(t *testing.T, fork eth.Fork, s source) {
		contents := s.contents(fork)
		none := s.IntN(2) == 0 && fork >= eth.Electra
		if none {
			contents.Requests = payload.EmptyRequests()
		}
		request, err := toRequest(contents)
		if err != nil {
			t.Fatal(err)
		}
		body, err := request.MarshalSSZ()
		if err != nil {
			t.Fatal(err)
		}
		whole, err := DecodeSubmission(fork, SSZ, body)
		if err != nil {
			t.Fatal(err)
		}
		known := fork >= eth.Electra
		empty := known && len(whole.Requests.Deposits)+len(whole.Requests.Withdrawals)+len(whole.Requests.Consolidations) == 0
		for _, announced := range []int{len(body), 0} {
			ahead := Ahead{ForkAt: func(phase0.Slot) eth.Fork { return fork }, Bytes: int64(announced)}
			messages, blocks := 0, 0
			for at := range len(body) + 1 {
				if message := ahead.Message(body[:at]); message != nil {
					messages++
					if *message.Trace.Value != *whole.Trace.Value || message.Signature != whole.Signature || message.Fork != fork ||
						message.Payload != nil {
						t.Fatalf("%s: message %+v", fork, message)
					}
				}
				read := ahead.Block(body[:at])
				if read == nil {
					continue
				}
				blocks++
				block := read()
				if (block != nil) != (empty && announced > 0) {
					t.Fatalf("%s: block %v of a body of %d announced bytes, whose requests are empty: %v", fork, block,
						announced, empty)
				}
				if block == nil {
					continue
				}
				block.Blobs.Proofs, block.Blobs.Blobs = whole.Blobs.Proofs, whole.Blobs.Blobs
				wantSame(t, block.Contents(), whole.Contents())
			}
			if (messages == 1) != known || (blocks == 1) != known || messages > 1 || blocks > 1 {
				t.Errorf("%s: %d messages, %d blocks", fork, messages, blocks)
			}
		}
	})
}

// The transactions of a large block are hashed in parts as they come, and their root is right
// whoever hashes what.
func TestTransactionsAreHashedAsTheyCome(t *testing.T) {
	contents := large(t)
	request, err := toRequest(contents)
	if err != nil {
		t.Fatal(err)
	}
	body, err := request.MarshalSSZ()
	if err != nil {
		t.Fatal(err)
	}
	want, err := payload.TransactionsRoot(contents.Payload.Transactions)
	if err != nil {
		t.Fatal(err)
	}
	for name, hash := range map[string]bool{"as they come": true, "at the end": false} {
		ahead := Ahead{ForkAt: func(phase0.Slot) eth.Fork { return eth.Fulu }}
		arrive(&ahead, body, func(at int) int { return at + 48<<10 }, hash)
		got, err := ahead.DecodeSubmission(eth.Fulu, SSZ, body)
		if err != nil {
			t.Fatal(err)
		}
		if root, err := got.Ahead.TransactionsRoot(); err != nil || root != want {
			t.Errorf("%s: root %#x, want %#x, %v", name, root, want, err)
		}
		if parts := len(ahead.hashed.batches); parts < 4 {
			t.Errorf("%s: %d parts", name, parts)
		}
	}
}
