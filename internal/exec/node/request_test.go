package node

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"reflect"
	"testing"
	"testing/iotest"
	"time"

	bellatrixapi "github.com/attestantio/go-builder-client/api/bellatrix"
	capellaapi "github.com/attestantio/go-builder-client/api/capella"
	denebapi "github.com/attestantio/go-builder-client/api/deneb"
	electraapi "github.com/attestantio/go-builder-client/api/electra"
	fuluapi "github.com/attestantio/go-builder-client/api/fulu"
	builderv1 "github.com/attestantio/go-builder-client/api/v1"
	"github.com/attestantio/go-eth2-client/spec/bellatrix"
	"github.com/attestantio/go-eth2-client/spec/capella"
	"github.com/attestantio/go-eth2-client/spec/deneb"
	"github.com/attestantio/go-eth2-client/spec/electra"
	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/holiman/uint256"
	"pgregory.net/rapid"

	"github.com/gavel-relay/gavel/devnet/chain/chaintest"
	"github.com/gavel-relay/gavel/devnet/network"
	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/gloas"
	"github.com/gavel-relay/gavel/internal/eth/payload"
	"github.com/gavel-relay/gavel/internal/exec"
	"github.com/gavel-relay/gavel/internal/golden"
)

// filled is a block in which every field says something and no two say the same. It is valid
// nowhere.
func filled(fork eth.Fork, transactionBytes, blobs int) *exec.Block {
	random := rand.NewChaCha8([32]byte{byte(fork)})
	fill := func(into []byte) { _, _ = random.Read(into) } // never fails
	b := &exec.Block{
		Fork: fork, RegisteredGasLimit: 36_000_000, ValueWei: uint256.NewInt(123_456_789_012_345_678),
		Trace: &builderv1.BidTrace{Slot: 9_000_001, GasLimit: 36_000_001, GasUsed: 29_000_000},
		Payload: &payload.Payload{
			BlockNumber: 21_000_000, GasLimit: 36_000_002, GasUsed: 29_000_001, Timestamp: 1_800_000_000,
			ExtraData:     []byte("gavel \""),
			BaseFeePerGas: uint256.MustFromDecimal("340282366920938463463374607431768211456"),
		},
	}
	t, p := b.Trace, b.Payload
	for _, field := range [][]byte{
		b.FeeRecipient[:], b.Signature[:], t.ParentHash[:], t.BlockHash[:], t.BuilderPubkey[:], t.ProposerPubkey[:],
		p.ParentHash[:],
		p.FeeRecipient[:], p.StateRoot[:], p.ReceiptsRoot[:], p.LogsBloom[:], p.PrevRandao[:], p.BlockHash[:],
	} {
		fill(field)
	}
	t.ProposerFeeRecipient, t.Value = b.FeeRecipient, b.ValueWei
	for left := transactionBytes; left > 0; left -= 500 {
		tx := make(bellatrix.Transaction, min(left, 500))
		fill(tx)
		p.Transactions = append(p.Transactions, tx)
	}
	if fork >= eth.Capella {
		p.Withdrawals = []*capella.Withdrawal{
			{Index: 1, ValidatorIndex: 2, Address: bellatrix.ExecutionAddress{3}, Amount: 4},
			{Index: 5, ValidatorIndex: 6, Amount: 7},
		}
	}
	if fork >= eth.Deneb {
		p.BlobGasUsed, p.ExcessBlobGas = 131_072, 262_144
		fill(b.ParentBeaconRoot[:])
		b.Blobs = &payload.Blobs{
			Commitments: make([]deneb.KZGCommitment, 2), Proofs: make([]deneb.KZGProof, 3), Blobs: make([]deneb.Blob, blobs),
		}
		fill(b.Blobs.Commitments[1][:])
		fill(b.Blobs.Proofs[2][:])
		for i := range b.Blobs.Blobs {
			fill(b.Blobs.Blobs[i][:])
		}
	}
	if fork >= eth.Electra {
		b.Requests = &electra.ExecutionRequests{
			Deposits: []*electra.DepositRequest{{
				Pubkey: phase0.BLSPubKey{1}, WithdrawalCredentials: bytes.Repeat([]byte{2}, 32), Amount: 3,
				Signature: phase0.BLSSignature{4}, Index: 5,
			}},
			Withdrawals: []*electra.WithdrawalRequest{{
				SourceAddress: bellatrix.ExecutionAddress{1}, ValidatorPubkey: phase0.BLSPubKey{2}, Amount: 3,
			}},
			Consolidations: []*electra.ConsolidationRequest{{
				SourceAddress: bellatrix.ExecutionAddress{1}, SourcePubkey: phase0.BLSPubKey{2}, TargetPubkey: phase0.BLSPubKey{3},
			}},
		}
	}
	if fork >= eth.Gloas {
		b.Gloas = &payload.Gloas{
			AccessList: make([]byte, 300), Slot: 9_000_001,
			BuilderDeposits: []*gloas.BuilderDepositRequest{{
				Pubkey: phase0.BLSPubKey{1}, WithdrawalCredentials: phase0.Root{2}, Amount: 3, Signature: phase0.BLSSignature{4},
			}},
			BuilderExits: []*gloas.BuilderExitRequest{{
				SourceAddress: bellatrix.ExecutionAddress{1}, Pubkey: phase0.BLSPubKey{2},
			}},
		}
		fill(b.Gloas.AccessList)
	}
	return b
}

func TestRequestOfEachFork(t *testing.T) {
	for _, fork := range chaintest.Forks() {
		t.Run(fork.String(), func(t *testing.T) {
			raw, err := written(filled(fork, 700, 0))
			if err != nil {
				t.Fatal(err)
			}
			var pretty bytes.Buffer
			if err := json.Indent(&pretty, append(raw, '\n'), "", "  "); err != nil {
				t.Fatal(err)
			}
			golden.File(t, "testdata/"+fork.String()+".json", pretty.String())
		})
	}
}

// submissionJSON is the submission by the types of the libraries; in gloas, by those of
// internal/eth/gloas.
func submissionJSON(b *exec.Block) ([]byte, error) {
	if !b.Fork.HasAccessLists() {
		return json.Marshal(library(b))
	}
	p, requests := payload.JoinGloas(b.Payload, b.Requests, b.Gloas)
	return gloas.Mainnet.SignedBidSubmissionV6.ToJSON(&gloas.SignedBidSubmissionV6{
		Message: b.Trace, ExecutionPayload: p, ExecutionRequests: requests, BlobsBundle: (*gloas.BlobsBundle)(b.Blobs),
		Signature: b.Signature,
	})
}

// library is the submission in the library's type, whose JSON is what nodes are made to read.
func library(b *exec.Block) any {
	blobs := b.Blobs
	if blobs == nil {
		blobs = &payload.Blobs{}
	}
	old := &denebapi.BlobsBundle{Commitments: blobs.Commitments, Proofs: blobs.Proofs, Blobs: blobs.Blobs}
	switch b.Fork {
	case eth.Bellatrix:
		return &bellatrixapi.SubmitBlockRequest{Message: b.Trace, ExecutionPayload: payload.ToBellatrix(b.Payload),
			Signature: b.Signature}
	case eth.Capella:
		return &capellaapi.SubmitBlockRequest{Message: b.Trace, ExecutionPayload: payload.ToCapella(b.Payload),
			Signature: b.Signature}
	case eth.Deneb:
		return &denebapi.SubmitBlockRequest{Message: b.Trace, ExecutionPayload: b.Payload, BlobsBundle: old,
			Signature: b.Signature}
	case eth.Electra:
		return &electraapi.SubmitBlockRequest{
			Message: b.Trace, ExecutionPayload: b.Payload, BlobsBundle: old, ExecutionRequests: b.Requests,
			Signature: b.Signature,
		}
	default:
		return &fuluapi.SubmitBlockRequest{
			Message: b.Trace, ExecutionPayload: b.Payload, BlobsBundle: (*fuluapi.BlobsBundle)(blobs),
			ExecutionRequests: b.Requests,
			Signature:         b.Signature,
		}
	}
}

// fieldsOf is a JSON text with letters in lower case: the library writes addresses with a checksum
// of capitals.
func fieldsOf(t *testing.T, raw []byte) map[string]any {
	t.Helper()
	var fields map[string]any
	if err := json.Unmarshal(bytes.ToLower(raw), &fields); err != nil {
		t.Fatal(err)
	}
	return fields
}

// What is written by hand is what the library writes, plus the fields beside it; and it is read
// back as the same block.
func TestRequestIsTheLibrarys(t *testing.T) {
	for _, fork := range chaintest.Forks() {
		t.Run(fork.String(), func(t *testing.T) {
			block := filled(fork, 3000, 2)
			raw, err := written(block)
			if err != nil {
				t.Fatal(err)
			}
			var envelope struct{ Params []json.RawMessage }
			if err := json.Unmarshal(raw, &envelope); err != nil || len(envelope.Params) != 1 {
				t.Fatal(err, len(envelope.Params))
			}
			theirs, err := submissionJSON(block)
			if err != nil {
				t.Fatal(err)
			}
			ours := fieldsOf(t, envelope.Params[0])
			for _, beside := range []string{"registered_gas_limit", "parent_beacon_block_root", "withdrawals_root"} {
				delete(ours, beside)
			}
			if want := fieldsOf(t, theirs); !reflect.DeepEqual(ours, want) {
				t.Errorf("ours\n%.2000v\nthe library's\n%.2000v", ours, want)
			}
			back, err := network.DecodeValidation(fork, envelope.Params[0])
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(back, block) {
				t.Errorf("read back\n%.2000v\nwant\n%.2000v", back, block)
			}
		})
	}
}

// Lists without elements are [], also where a block has no list at all.
func TestRequestHasNoNull(t *testing.T) {
	block := filled(eth.Fulu, 0, 0)
	block.Blobs, block.Requests, block.Payload.Withdrawals, block.Payload.ExtraData = nil, nil, nil, nil
	raw, err := written(block)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(raw, []byte("null")) || !bytes.Contains(raw, []byte(`"blobs":[]`)) ||
		!bytes.Contains(raw, []byte(`"extra_data":"0x"`)) {
		t.Errorf("%s", raw)
	}
}

func TestWhatCannotBeAsked(t *testing.T) {
	for name, spoil := range map[string]func(*exec.Block){
		"a fork that is unknown": func(b *exec.Block) { b.Fork = eth.Fork(100) },
		"no access list":         func(b *exec.Block) { b.Fork = eth.Gloas },
		"no payload":             func(b *exec.Block) { b.Payload = nil },
		"no base fee":            func(b *exec.Block) { b.Payload.BaseFeePerGas = nil },
		"no message":             func(b *exec.Block) { b.Trace = nil },
		"no value in message":    func(b *exec.Block) { b.Trace.Value = nil },
		"another fee recipient":  func(b *exec.Block) { b.FeeRecipient[0] ^= 1 },
		"another promised value": func(b *exec.Block) { b.ValueWei = uint256.NewInt(1) },
	} {
		t.Run(name, func(t *testing.T) {
			p, asked := poolOf(t, Config{}, nothing)
			b := filled(eth.Fulu, 0, 0)
			spoil(b)
			if v := p.Validate(t.Context(), b); v.Class != exec.Infrastructure || v.Rule != exec.RuleUnsupported {
				t.Errorf("%+v", v)
			}
			if asked.count() != 0 || !p.Live() {
				t.Error("a node was asked, or blamed")
			}
		})
	}
}

// written is a request as a node reads it.
func written(b *exec.Block) ([]byte, error) {
	body, err := request(b)
	if err != nil {
		return nil, err
	}
	raw, err := io.ReadAll(body.reader())
	if err == nil && int64(len(raw)) != body.size() {
		err = fmt.Errorf("%d bytes, announced are %d", len(raw), body.size())
	}
	return raw, err
}

// However it is read, in pieces of any size, a request is the same.
func TestRequestInPieces(t *testing.T) {
	block := filled(eth.Fulu, 5000, 1)
	whole, err := written(block)
	if err != nil {
		t.Fatal(err)
	}
	body, err := request(block)
	if err != nil {
		t.Fatal(err)
	}
	if err := iotest.TestReader(body.reader(), whole); err != nil {
		t.Error(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		reader, got := body.reader(), []byte{}
		for {
			piece := make([]byte, rapid.IntRange(1, 70_000).Draw(t, "size"))
			n, err := reader.Read(piece)
			got = append(got, piece[:n]...)
			if err != nil {
				break
			}
		}
		if !bytes.Equal(got, whole) {
			t.Fatal("another request")
		}
	})
}

// BenchmarkRequest compares our writing of a block of 1.5 MB (0.7 MB of transactions, 6 blobs), as
// it is sent, with the library's, in turn in one run.
func BenchmarkRequest(b *testing.B) {
	block := filled(eth.Fulu, 700_000, 6)
	submission := library(block)
	buffer := make([]byte, 32<<10)
	var ours, theirs time.Duration
	for b.Loop() {
		start := time.Now()
		body, err := request(block)
		if err != nil {
			b.Fatal(err)
		}
		for reader := body.reader(); err == nil; {
			_, err = reader.Read(buffer)
		}
		ours += time.Since(start)
		b.SetBytes(body.size())
		start = time.Now()
		if _, err := json.Marshal(submission); err != nil {
			b.Fatal(err)
		}
		theirs += time.Since(start)
	}
	b.ReportMetric(float64(theirs)/float64(ours), "x-faster")
	b.ReportMetric(float64(ours.Microseconds())/float64(b.N)/1000, "ms/request")
}
