package api

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"

	bitfield "github.com/OffchainLabs/go-bitfield"
	blindelectra "github.com/attestantio/go-eth2-client/api/v1/electra"
	"github.com/attestantio/go-eth2-client/spec/altair"
	"github.com/attestantio/go-eth2-client/spec/bellatrix"
	"github.com/attestantio/go-eth2-client/spec/capella"
	"github.com/attestantio/go-eth2-client/spec/deneb"
	"github.com/attestantio/go-eth2-client/spec/electra"
	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/payload"
	"github.com/gavel-relay/gavel/relay"
)

const (
	v1Path = "POST /eth/v1/builder/blinded_blocks"
	v2Path = "POST /eth/v2/builder/blinded_blocks"
	isSSZ  = "Content-Type: application/octet-stream\n"
)

// blindedBlock is a block of slot 65, in fulu, that carries nothing, in both encodings.
func blindedBlock(t *testing.T) (text, ssz []byte) {
	t.Helper()
	return blindedBlockWith(t, []*electra.AttesterSlashing{})
}

// blindedBlockWith is blindedBlock with slashings.
func blindedBlockWith(t *testing.T, slashings []*electra.AttesterSlashing) (text, ssz []byte) {
	t.Helper()
	signed := &blindelectra.SignedBlindedBeaconBlock{Message: &blindelectra.BlindedBeaconBlock{
		Slot: 65, ProposerIndex: 7,
		Body: &blindelectra.BlindedBeaconBlockBody{
			ETH1Data: &phase0.ETH1Data{BlockHash: make([]byte, 32)}, ProposerSlashings: []*phase0.ProposerSlashing{},
			AttesterSlashings: slashings, Attestations: []*electra.Attestation{}, Deposits: []*phase0.Deposit{},
			VoluntaryExits: []*phase0.SignedVoluntaryExit{}, BLSToExecutionChanges: []*capella.SignedBLSToExecutionChange{},
			SyncAggregate:          &altair.SyncAggregate{SyncCommitteeBits: bitfield.NewBitvector512()},
			ExecutionPayloadHeader: &payload.Header{BaseFeePerGas: uint256.NewInt(7), BlockHash: phase0.Hash32{0xee}},
			BlobKZGCommitments:     []deneb.KZGCommitment{}, ExecutionRequests: payload.EmptyRequests(),
		},
	}}
	text, err := signed.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	if ssz, err = signed.MarshalSSZ(); err != nil {
		t.Fatal(err)
	}
	return text, ssz
}

func testContents() *relay.Contents {
	return &relay.Contents{Fork: eth.Fulu, Blobs: &payload.Blobs{}, Payload: &payload.Payload{
		BaseFeePerGas: uint256.NewInt(7), BlockHash: phase0.Hash32{0xee}, Transactions: []bellatrix.Transaction{{1}},
		Withdrawals: []*capella.Withdrawal{},
	}}
}

func TestBlindedBlock(t *testing.T) {
	text, ssz := blindedBlock(t)
	for name, row := range map[string]struct {
		request, headers string
		body             []byte
		status           int
		contentType      string
	}{
		"v1 JSON":                     {v1Path, "Content-Type: application/json", text, 200, "application/json"},
		"v1 JSON with a version":      {v1Path, "Eth-Consensus-Version: fulu", text, 200, "application/json"},
		"v1 version in capitals":      {v1Path, "Eth-Consensus-Version: Fulu", text, 200, "application/json"},
		"v1 JSON without saying so":   {v1Path, "", text, 200, "application/json"},
		"v1 SSZ, answer in JSON":      {v1Path, isSSZ + "Eth-Consensus-Version: fulu", ssz, 200, "application/json"},
		"v1 JSON, answer in SSZ":      {v1Path, "Accept: application/octet-stream", text, 200, "application/octet-stream"},
		"v1 JSON in gzip":             {v1Path, "Content-Encoding: gzip", gzipped(t, text), 200, "application/json"},
		"v2 JSON":                     {v2Path, "Content-Type: application/json; charset=utf-8", text, 202, ""},
		"v2 SSZ":                      {v2Path, isSSZ + "Eth-Consensus-Version: fulu", ssz, 202, ""},
		"v2 whatever answer is asked": {v2Path, "Accept: text/html", text, 202, ""},
	} {
		t.Run(name, func(t *testing.T) {
			d := &fakePorts{contents: testContents()}
			answer := ask(t, d, row.request, row.headers, row.body)
			if answer.Code != row.status || answer.Header().Get("Content-Type") != row.contentType {
				t.Fatalf("%d %q %s", answer.Code, answer.Header().Get("Content-Type"), answer.Body)
			}
			if len(d.blocks) != 1 || d.reveals[0] != (row.request == v1Path) || !d.at.Equal(now) {
				t.Fatalf("delivered %d times, reveal %v, at %v", len(d.blocks), d.reveals, d.at)
			}
			block := d.blocks[0]
			if block.Fork != eth.Fulu || block.Slot != 65 || block.ProposerIndex != 7 ||
				block.Header.BlockHash != (phase0.Hash32{0xee}) {
				t.Errorf("block %+v", block)
			}
			wantPayload(t, row.contentType, answer.Header().Get("Eth-Consensus-Version"), answer.Body.Bytes())
		})
	}
}

// wantPayload wants an answer with the payload of testContents, or none without a content type.
func wantPayload(t *testing.T, contentType, version string, body []byte) {
	t.Helper()
	switch contentType {
	case "":
		if len(body) != 0 || version != "" {
			t.Errorf("v2 answers %q in version %q", body, version)
		}
		return
	case "application/json":
		var document struct {
			Version string
			Data    struct {
				ExecutionPayload struct {
					BlockHash string `json:"block_hash"`
				} `json:"execution_payload"`
			}
		}
		if err := json.Unmarshal(body, &document); err != nil {
			t.Fatal(err)
		}
		if document.Version != "fulu" || !strings.HasPrefix(document.Data.ExecutionPayload.BlockHash, "0xee00") {
			t.Errorf("answer %s", body)
		}
	default:
		if hash := (phase0.Hash32{0xee}); !bytes.Contains(body, hash[:]) {
			t.Errorf("answer %x", body)
		}
	}
	if version != "fulu" {
		t.Errorf("version %q", version)
	}
}

func TestBlindedBlockRefusesMalformedRequests(t *testing.T) {
	text, ssz := blindedBlock(t)
	replaced := func(before, after string) []byte { return bytes.Replace(text, []byte(before), []byte(after), 1) }
	for name, row := range map[string]struct {
		headers string
		body    []byte
		want    relay.Refusal
	}{
		"nothing":                  {"", nil, relay.Malformed},
		"a list":                   {"", []byte("[]"), relay.Malformed},
		"cut short":                {"", text[:len(text)-1], relay.Malformed},
		"a slot that is no number": {"", replaced(`"slot":"65"`, `"slot":"x"`), relay.Malformed},
		"a body that is null":      {"", []byte(`{"message":{"slot":"65","body":null},"signature":"0x"}`), relay.Malformed},
		"SSZ without a version":    {isSSZ, ssz, relay.UnknownFork},
		"an unknown version":       {"Eth-Consensus-Version: phase0", text, relay.UnknownFork},
		"another fork's version":   {"Eth-Consensus-Version: electra", text, relay.WrongFork},
		"a later fork's version":   {"Eth-Consensus-Version: gloas", text, relay.WrongFork},
		"another fork's slot":      {"Eth-Consensus-Version: fulu", replaced(`"slot":"65"`, `"slot":"63"`), relay.WrongFork},
		"SSZ cut short":            {isSSZ + "Eth-Consensus-Version: fulu", ssz[:len(ssz)-1], relay.Malformed},
		"SSZ of three bytes":       {isSSZ + "Eth-Consensus-Version: fulu", ssz[:3], relay.Malformed},
		"SSZ with more":            {isSSZ + "Eth-Consensus-Version: fulu", append(bytes.Clone(ssz), 0), relay.Malformed},
		"JSON that says SSZ":       {isSSZ + "Eth-Consensus-Version: fulu", text, relay.Malformed},
		"text":                     {"Content-Type: text/plain", text, relay.UnsupportedMediaType},
		"an unknown encoding":      {"Content-Encoding: br", text, relay.UnsupportedMediaType},
		"plain that says gzip":     {"Content-Encoding: gzip", text, relay.BodyUnreadable},
		"REL-SUB-27 too large":     {"", bytes.Repeat([]byte(" "), maxBlindedBlock+1), relay.BodyTooLarge},
		"REL-SUB-27 a bomb": {"Content-Encoding: gzip", gzipped(t, make([]byte, maxBlindedBlock+1)),
			relay.BodyTooLarge},
	} {
		for _, path := range []string{v1Path, v2Path} {
			t.Run(name+" to "+path, func(t *testing.T) {
				d := &fakePorts{contents: testContents()}
				answer := ask(t, d, path, row.headers, row.body)
				wantRefusal(t, answer, row.want)
				if !d.untouched() {
					t.Error("the ports were asked all the same")
				}
			})
		}
	}
}

// Accept is looked at first, so that nothing is published for an answer that cannot be given.
func TestBlindedBlockV1LooksAtAcceptFirst(t *testing.T) {
	text, _ := blindedBlock(t)
	d := &fakePorts{contents: testContents()}
	wantRefusal(t, ask(t, d, v1Path, "Accept: text/html", text), relay.NotAcceptable)
	wantRefusal(t, ask(t, d, v1Path, "Accept: text/html", nil), relay.NotAcceptable)
	if !d.untouched() {
		t.Error("the block was passed on")
	}
}

func TestBlindedBlockPassesRefusalsOn(t *testing.T) {
	text, _ := blindedBlock(t)
	for _, path := range []string{v1Path, v2Path} {
		wantRefusal(t, ask(t, &fakePorts{err: relay.PayloadUnknown.Plain()}, path, "", text), relay.PayloadUnknown)
		wantRefusal(t, ask(t, &fakePorts{err: relay.PayloadGuardDown.Plain()}, path, "", text), relay.PayloadGuardDown)
		wantRefusal(t, ask(t, &fakePorts{err: context.Canceled}, path, "", text), relay.Internal)
	}
}
