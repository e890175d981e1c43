package load

import (
	"bytes"
	"compress/gzip"
	"io"
	"testing"

	builderfulu "github.com/attestantio/go-builder-client/api/fulu"
	builderv1 "github.com/attestantio/go-builder-client/api/v1"
	"github.com/attestantio/go-eth2-client/spec/bellatrix"
	"github.com/attestantio/go-eth2-client/spec/capella"
	"github.com/attestantio/go-eth2-client/spec/deneb"
	"github.com/attestantio/go-eth2-client/spec/electra"
	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/conformance/probe"
	"github.com/gavel-relay/gavel/internal/eth"
)

// A body out of a template is what the library encodes, in every fork and format.
func TestTemplate(t *testing.T) {
	key, signature := phase0.BLSPubKey{1, 2, 3, 0xff}, phase0.BLSSignature{9, 8, 7, 0xee}
	for _, fork := range []eth.Fork{eth.Bellatrix, eth.Capella, eth.Deneb, eth.Electra, eth.Fulu} {
		s := &builderfulu.SubmitBlockRequest{
			Message: &builderv1.BidTrace{Slot: 7, Value: uint256.NewInt(5)},
			ExecutionPayload: &deneb.ExecutionPayload{BaseFeePerGas: uint256.NewInt(7), Withdrawals: []*capella.Withdrawal{},
				Transactions: []bellatrix.Transaction{bytes.Repeat([]byte("transaction"), 20_000)}},
			BlobsBundle: &builderfulu.BlobsBundle{Commitments: []deneb.KZGCommitment{}, Proofs: []deneb.KZGProof{},
				Blobs: []deneb.Blob{}},
			ExecutionRequests: &electra.ExecutionRequests{Deposits: []*electra.DepositRequest{},
				Withdrawals: []*electra.WithdrawalRequest{}, Consolidations: []*electra.ConsolidationRequest{}},
		}
		right, message := *s, *s.Message
		message.BuilderPubkey, right.Message, right.Signature = key, &message, signature
		ssz, err := probe.Submission(fork, &right).MarshalSSZ()
		if err != nil {
			t.Fatal(err)
		}
		json, err := probe.Submission(fork, &right).MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		for _, format := range Formats {
			made, err := newTemplate(fork, s, format)
			if err != nil {
				t.Fatal(err)
			}
			want := ssz
			if format.isJSON() {
				want = json
			}
			for range 2 { // the template is not used up
				got := made.body(key, signature)
				if format.isPacked() {
					if len(got) > len(want)/2 {
						t.Errorf("%s as %s: %d bytes of %d are left", fork, format, len(got), len(want))
					}
					got = unpacked(t, got)
				}
				if !bytes.Equal(got, want) {
					t.Errorf("%s as %s is not what the library encodes", fork, format)
				}
			}
		}
	}
}

// unpacked is what gzip makes of a body, with its checksum and size checked.
func unpacked(t *testing.T, packed []byte) []byte {
	t.Helper()
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	raw, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}
