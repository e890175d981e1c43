package probe_test

import (
	"bytes"
	"reflect"
	"testing"

	builderelectra "github.com/attestantio/go-builder-client/api/electra"
	builderfulu "github.com/attestantio/go-builder-client/api/fulu"
	builderv1 "github.com/attestantio/go-builder-client/api/v1"
	apielectra "github.com/attestantio/go-eth2-client/api/v1/electra"
	"github.com/attestantio/go-eth2-client/spec/altair"
	"github.com/attestantio/go-eth2-client/spec/bellatrix"
	"github.com/attestantio/go-eth2-client/spec/capella"
	"github.com/attestantio/go-eth2-client/spec/deneb"
	"github.com/attestantio/go-eth2-client/spec/electra"
	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/conformance/probe"
	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/payload"
)

// sample is a block that has everything that blocks of a fork have, and nothing else.
func sample(fork eth.Fork) *builderfulu.SubmitBlockRequest {
	s := &builderfulu.SubmitBlockRequest{
		Message: &builderv1.BidTrace{Slot: 7, BlockHash: phase0.Hash32{1}, GasLimit: 60_000_000,
			Value: uint256.NewInt(12345)},
		ExecutionPayload: &deneb.ExecutionPayload{
			ParentHash: phase0.Hash32{2}, StateRoot: phase0.Root{3}, BlockNumber: 4, GasLimit: 60_000_000, Timestamp: 5,
			ExtraData:     []byte("x"),
			BaseFeePerGas: uint256.NewInt(1<<40 + 7), BlockHash: phase0.Hash32{1}, Transactions: []bellatrix.Transaction{{6, 7}},
		},
		Signature: phase0.BLSSignature{9},
	}
	if fork >= eth.Capella {
		s.ExecutionPayload.Withdrawals = []*capella.Withdrawal{{Index: 1, Amount: 2}}
	}
	if fork >= eth.Deneb {
		s.ExecutionPayload.BlobGasUsed, s.ExecutionPayload.ExcessBlobGas = 131072, 1
		s.BlobsBundle = &builderfulu.BlobsBundle{Commitments: []deneb.KZGCommitment{{1}}, Proofs: []deneb.KZGProof{{2}},
			Blobs: make([]deneb.Blob, 1)}
	}
	if fork >= eth.Electra {
		s.ExecutionRequests = payload.EmptyRequests()
		s.ExecutionRequests.Withdrawals = []*electra.WithdrawalRequest{{Amount: 3}}
	}
	return s
}

// What goes to the wire of a fork and back is the same, in both encodings, and has that fork's
// roots.
func TestEveryForkComesBack(t *testing.T) {
	for _, fork := range eth.Forks() {
		t.Run(fork.String(), func(t *testing.T) {
			s := sample(fork)
			raw, err := probe.Submission(fork, s).MarshalSSZ()
			if err != nil {
				t.Fatal(err)
			}
			back, err := probe.ReadSubmission(fork, raw)
			if err != nil {
				t.Fatal(err)
			}
			if again, err := probe.Submission(fork, back).MarshalSSZ(); err != nil || !bytes.Equal(again, raw) ||
				!reflect.DeepEqual(back.Message, s.Message) {
				t.Errorf("a submission came back as another: %v", err)
			}
			header, err := payload.HeaderOf(fork, s.ExecutionPayload)
			if err != nil {
				t.Fatal(err)
			}
			ofPayload, err := probe.PayloadRoot(fork, s.ExecutionPayload)
			if err != nil {
				t.Fatal(err)
			}
			if ofHeader, err := probe.HeaderRoot(fork, header); err != nil || ofHeader != ofPayload {
				t.Errorf("root %v of the header, %v of its payload: %v", ofHeader, ofPayload, err)
			}
			bid := &builderelectra.SignedBuilderBid{Message: &builderelectra.BuilderBid{Header: header,
				Value: uint256.NewInt(5)}, Signature: phase0.BLSSignature{8}}
			if fork >= eth.Deneb {
				bid.Message.BlobKZGCommitments = s.BlobsBundle.Commitments
			}
			if fork >= eth.Electra {
				bid.Message.ExecutionRequests = s.ExecutionRequests
			}
			bidComesBack(t, fork, bid)
			blindedIsOfItsFork(t, fork, bid)
		})
	}
}

func bidComesBack(t *testing.T, fork eth.Fork, bid *builderelectra.SignedBuilderBid) {
	t.Helper()
	want, err := probe.BidRoot(fork, bid.Message)
	if err != nil {
		t.Fatal(err)
	}
	for media, encode := range map[string]func() ([]byte, error){
		"application/json": probe.Bid(fork, bid).MarshalJSON, "application/octet-stream": probe.Bid(fork, bid).MarshalSSZ,
	} {
		raw, err := encode()
		if err != nil {
			t.Fatal(err)
		}
		back, err := probe.ReadBid(fork, media, raw)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := probe.BidRoot(fork, back.Message); err != nil || got != want || back.Signature != bid.Signature {
			t.Errorf("%s: a bid came back as another: %v", media, err)
		}
		for _, other := range eth.Forks() {
			if _, err := probe.ReadBid(other, media, raw[:len(raw)/2]); err == nil {
				t.Errorf("%s: half a bid was read as one of %s", media, other)
			}
		}
	}
}

// A blinded block has the root of what its fork's form holds: members of later forks count for
// nothing.
func blindedIsOfItsFork(t *testing.T, fork eth.Fork, bid *builderelectra.SignedBuilderBid) {
	t.Helper()
	body := &apielectra.BlindedBeaconBlockBody{
		ETH1Data: &phase0.ETH1Data{BlockHash: make([]byte, 32)}, SyncAggregate: &altair.SyncAggregate{
			SyncCommitteeBits: make([]byte, 64)},
		ExecutionPayloadHeader: bid.Message.Header, BlobKZGCommitments: bid.Message.BlobKZGCommitments,
		ExecutionRequests: bid.Message.ExecutionRequests,
	}
	block := &apielectra.SignedBlindedBeaconBlock{Message: &apielectra.BlindedBeaconBlock{Slot: 7, Body: body}}
	before, err := probe.BlindedRoot(fork, block.Message)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := probe.Blinded(fork, block).MarshalSSZ(); err != nil {
		t.Error(err)
	}
	body.BlobKZGCommitments = []deneb.KZGCommitment{{7}, {8}}
	after, err := probe.BlindedRoot(fork, block.Message)
	if counts := before != after; err != nil || counts != (fork >= eth.Deneb) {
		t.Errorf("commitments count: %v, %v", counts, err)
	}
}

// The revealed payload has blobs from deneb on, and stands alone before.
func TestReadPayload(t *testing.T) {
	for _, fork := range eth.Forks() {
		s := sample(fork)
		var wire probe.Document
		switch fork {
		case eth.Bellatrix:
			wire = payload.ToBellatrix(s.ExecutionPayload)
		case eth.Capella:
			wire = payload.ToCapella(s.ExecutionPayload)
		default:
			wire = &builderfulu.ExecutionPayloadAndBlobsBundle{ExecutionPayload: s.ExecutionPayload, BlobsBundle: s.BlobsBundle}
		}
		raw, err := wire.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		both, err := probe.ReadPayload(fork, "application/json", raw)
		if err != nil {
			t.Fatal(err)
		}
		got, err := probe.PayloadRoot(fork, both.ExecutionPayload)
		if want, _ := probe.PayloadRoot(fork, s.ExecutionPayload); err != nil || got != want ||
			!reflect.DeepEqual(both.BlobsBundle, s.BlobsBundle) {
			t.Errorf("%s: another payload came back: %v", fork, err)
		}
	}
}
