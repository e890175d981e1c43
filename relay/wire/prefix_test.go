package wire

import (
	"slices"
	"testing"

	"github.com/attestantio/go-eth2-client/spec/bellatrix"
	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/payload"
)

// Of a block in the middle of its body there is the message first, then payload and commitments,
// and the requests if they must be empty. Bodies before electra are shaped differently: there is
// nothing ahead.
func TestPrefixOfABody(t *testing.T) {
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
			prefix := Prefix{ForkAt: func(phase0.Slot) eth.Fork { return fork }, Bytes: int64(announced)}
			messages, blocks := 0, 0
			for at := range len(body) + 1 {
				if message := prefix.Message(body[:at]); message != nil {
					messages++
					if *message.Trace.Value != *whole.Trace.Value || message.Signature != whole.Signature || message.Fork != fork ||
						message.Payload != nil {
						t.Fatalf("%s: message %+v", fork, message)
					}
				}
				part := prefix.Block(body[:at])
				if part == nil {
					continue
				}
				blocks++
				read, err := part.Payload()
				if err != nil {
					t.Fatal(err)
				}
				block := part.Submission(read)
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

// The batches of a large block's transactions are its transactions, in order, whatever pieces the
// body comes in.
func TestBatchesAreAllTransactions(t *testing.T) {
	contents := large(t)
	request, err := toRequest(contents)
	if err != nil {
		t.Fatal(err)
	}
	body, err := request.MarshalSSZ()
	if err != nil {
		t.Fatal(err)
	}
	for _, piece := range []int{7 << 10, 48 << 10, len(body)} {
		prefix := Prefix{ForkAt: func(phase0.Slot) eth.Fork { return eth.Fulu }}
		var got []bellatrix.Transaction
		batches := 0
		take := func(batch Batch) {
			if len(batch.Transactions) == 0 {
				return
			}
			batches++
			if batch.First != len(got) || batch.Count != len(contents.Payload.Transactions) {
				t.Errorf("batch %d of %d after %d", batch.First, batch.Count, len(got))
			}
			got = append(got, batch.Transactions...)
		}
		var block *Block
		for at := 0; at < len(body); {
			at = min(at+piece, len(body))
			prefix.Message(body[:at:at])
			take(prefix.Transactions(body[:at:at]))
			if part := prefix.Block(body[:at:at]); part != nil {
				block = part
				take(part.Rest)
			}
		}
		if block == nil || batches == 0 || piece == 7<<10 && batches < 4 {
			t.Fatalf("%d batches, block %v", batches, block)
		}
		if !slices.EqualFunc(got, contents.Payload.Transactions, slices.Equal) {
			t.Errorf("pieces of %d: %d transactions, want %d", piece, len(got), len(contents.Payload.Transactions))
		}
	}
}
