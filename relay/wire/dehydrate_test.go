package wire

import (
	"bytes"
	"reflect"
	"testing"

	"github.com/attestantio/go-eth2-client/spec/deneb"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/relay"
)

func TestDehydrateLeavesOutWhatIsKnown(t *testing.T) {
	c := large(t)
	whole := &relay.Submission{Fork: c.Fork, Trace: c.Trace, Payload: c.Payload, Blobs: c.Blobs, Requests: c.Requests}
	first := TransactionHash(c.Payload.Transactions[0])
	before, err := EncodeSubmission(SSZ, whole)
	if err != nil {
		t.Fatal(err)
	}
	thin, sent := Dehydrate(whole,
		func(hash [32]byte) bool { return hash == first }, func(k deneb.KZGCommitment) bool {
			return k != c.Blobs.Commitments[2]
		})
	if !bytes.Equal(thin.Payload.Transactions[0], first[:]) ||
		!bytes.Equal(thin.Payload.Transactions[1], c.Payload.Transactions[1]) {
		t.Error("the first transaction is known, the second is not")
	}
	if !reflect.DeepEqual(sent, []int{2}) || len(thin.Blobs.Blobs) != 1 || thin.Blobs.Blobs[0] != c.Blobs.Blobs[2] ||
		!reflect.DeepEqual(thin.Blobs.Proofs, c.Blobs.Proofs[256:384]) || len(thin.Blobs.Commitments) != 9 {
		t.Errorf("sent %v, %d blobs, %d proofs", sent, len(thin.Blobs.Blobs), len(thin.Blobs.Proofs))
	}
	if after, err := EncodeSubmission(SSZ, whole); err != nil || !bytes.Equal(before, after) {
		t.Errorf("the submission itself has changed: %v", err)
	}
}

// What is wrong is not made worse: the relay must see it as it is.
func TestDehydrateLeavesABadBundleWhole(t *testing.T) {
	c := large(t)
	c.Blobs.Proofs = c.Blobs.Proofs[1:]
	whole := &relay.Submission{Fork: c.Fork, Trace: c.Trace, Payload: c.Payload, Blobs: c.Blobs, Requests: c.Requests}
	thin, sent := Dehydrate(whole, func([32]byte) bool { return false }, func(deneb.KZGCommitment) bool { return true })
	if thin.Blobs != whole.Blobs || len(sent) != 9 {
		t.Errorf("sent %v", sent)
	}
	early := &relay.Submission{Fork: eth.Capella, Payload: c.Payload}
	if thin, sent := Dehydrate(early, func([32]byte) bool { return true }, nil); thin.Blobs != nil || len(sent) != 0 {
		t.Errorf("capella: %v, sent %v", thin.Blobs, sent)
	}
}

func TestBlobsSentHeader(t *testing.T) {
	for text, want := range map[string][]int{
		"": {}, "0": {0}, "0,2,5": {0, 2, 5}, "1, 3": {1, 3}, "4095": {4095},
		",": nil, "1,": nil, "-1": nil, "2,1": nil, "1,1": nil, "4096": nil, "99999999999999999999": nil,
		"1;2": nil, "x": nil,
	} {
		got, err := ParseSent(text)
		if (err != nil) != (want == nil) || err == nil && !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %v, %v", text, got, err)
		}
		if again, err := ParseSent(FormatSent(want)); want != nil && (err != nil || !reflect.DeepEqual(again, want)) {
			t.Errorf("%q comes back as %v, %v", text, again, err)
		}
	}
}
