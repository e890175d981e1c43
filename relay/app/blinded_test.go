package app_test

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net/http"
	"testing"

	blindbellatrix "github.com/attestantio/go-eth2-client/api/v1/bellatrix"
	blindcapella "github.com/attestantio/go-eth2-client/api/v1/capella"
	blinddeneb "github.com/attestantio/go-eth2-client/api/v1/deneb"
	blindelectra "github.com/attestantio/go-eth2-client/api/v1/electra"
	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/bls"
)

const (
	v1Path = "/eth/v1/builder/blinded_blocks"
	v2Path = "/eth/v2/builder/blinded_blocks"
)

func (h *relayUnderTest) headerPath() string {
	_, proposer := h.duty(h.slot)
	pubkey := proposer.PublicKey()
	return fmt.Sprintf("/eth/v1/builder/header/%d/%#x/%#x", h.slot, h.attributes.ParentHash[:], pubkey[:])
}

// bid is a getHeader answer in JSON, as far as tests look at it. Numbers and hashes stay text.
type bid struct {
	Version string `json:"version"`
	Data    struct {
		Message struct {
			Header      map[string]any `json:"header"`
			Commitments []string       `json:"blob_kzg_commitments"`
			Requests    map[string]any `json:"execution_requests"`
			Value       string         `json:"value"`
			Pubkey      string         `json:"pubkey"`
		} `json:"message"`
	} `json:"data"`
}

// header is the served bid, nil if there is none.
func (h *relayUnderTest) header(t testing.TB) *bid {
	t.Helper()
	got := h.get(t, h.headerPath(), nil)
	if got.status == http.StatusNoContent {
		return nil
	}
	if got.status != http.StatusOK {
		t.Fatalf("getHeader: %s", got)
	}
	b := new(bid)
	must(t, json.Unmarshal(got.body, b))
	return b
}

// wantTop wants a submission to be the one that is served.
func (h *relayUnderTest) wantTop(t testing.TB, s *submission) {
	t.Helper()
	b := h.header(t)
	if b == nil {
		t.Error("no bid is served")
		return
	}
	if got, want := b.Data.Message.Header["block_hash"], fmt.Sprintf("%#x", s.payload.BlockHash[:]); got != want {
		t.Errorf("served is %s for %s wei, want %s for %s", got, b.Data.Message.Value, want, s.trace.Value.Dec())
	}
}

// blinded is a proposer's blinded block. Tests change the message as JSON and sign it again.
type blinded struct {
	fork      eth.Fork
	message   map[string]any
	signature phase0.BLSSignature
}

// blind takes the beacon node's local block and puts what was bid in place of its payload.
func (h *relayUnderTest) blind(t testing.TB, b *bid) *blinded {
	t.Helper()
	_, proposer := h.duty(h.slot)
	epoch := h.spec.EpochOf(h.slot)
	reveal := proposer.Sign(eth.SigningRoot(epochRoot(epoch), h.spec.RandaoDomain(epoch)))
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet,
		fmt.Sprintf("%s/eth/v3/validator/blocks/%d?randao_reveal=%#x", h.nodeURL(), h.slot, reveal[:]), http.NoBody)
	must(t, err)
	response, err := http.DefaultClient.Do(request)
	must(t, err)
	defer response.Body.Close()
	var local struct {
		Data map[string]any `json:"data"`
	}
	must(t, json.NewDecoder(response.Body).Decode(&local))
	message := local.Data
	if h.fork >= eth.Deneb {
		message = local.Data["block"].(map[string]any)
	}
	body := message["body"].(map[string]any)
	delete(body, "execution_payload")
	body["execution_payload_header"] = b.Data.Message.Header
	if h.fork >= eth.Deneb {
		body["blob_kzg_commitments"] = b.Data.Message.Commitments
	}
	if h.fork >= eth.Electra {
		body["execution_requests"] = b.Data.Message.Requests
	}
	blind := &blinded{fork: h.fork, message: message}
	blind.sign(t, proposer, h.spec.ProposerDomain(h.slot))
	return blind
}

// epochRoot is the hash tree root of a number.
func epochRoot(epoch phase0.Epoch) (root phase0.Root) {
	binary.LittleEndian.PutUint64(root[:], uint64(epoch))
	return root
}

// body is the message's body.
func (b *blinded) body() map[string]any { return b.message["body"].(map[string]any) }

// sign signs the message as it is now.
func (b *blinded) sign(t testing.TB, key *bls.SecretKey, domain phase0.Domain) {
	t.Helper()
	b.signature = key.Sign(eth.SigningRoot(b.root(t), domain))
}

func (b *blinded) json(t testing.TB) []byte {
	t.Helper()
	raw, err := json.Marshal(map[string]any{"message": b.message, "signature": fmt.Sprintf("%#x", b.signature[:])})
	must(t, err)
	return raw
}

func (b *blinded) ssz(t testing.TB) []byte {
	t.Helper()
	raw, err := b.decoded(t).MarshalSSZ()
	must(t, err)
	return raw
}

func (b *blinded) decoded(t testing.TB) encodable {
	t.Helper()
	var block interface {
		encodable
		json.Unmarshaler
	}
	switch b.fork {
	case eth.Bellatrix:
		block = new(blindbellatrix.SignedBlindedBeaconBlock)
	case eth.Capella:
		block = new(blindcapella.SignedBlindedBeaconBlock)
	case eth.Deneb:
		block = new(blinddeneb.SignedBlindedBeaconBlock)
	default:
		block = new(blindelectra.SignedBlindedBeaconBlock)
	}
	must(t, block.UnmarshalJSON(b.json(t)))
	return block
}

// root is the hash tree root of the message.
func (b *blinded) root(t testing.TB) phase0.Root {
	t.Helper()
	switch block := b.decoded(t).(type) {
	case *blindbellatrix.SignedBlindedBeaconBlock:
		return rootOf(block.Message)
	case *blindcapella.SignedBlindedBeaconBlock:
		return rootOf(block.Message)
	case *blinddeneb.SignedBlindedBeaconBlock:
		return rootOf(block.Message)
	case *blindelectra.SignedBlindedBeaconBlock:
		return rootOf(block.Message)
	default:
		t.Fatalf("%T is no blinded block", block)
		return phase0.Root{}
	}
}

// reveal asks for a payload in JSON.
func (h *relayUnderTest) reveal(t testing.TB, path string, b *blinded) answer {
	t.Helper()
	header := jsonHeader()
	header.Set("Eth-Consensus-Version", b.fork.String())
	return h.post(t, path, header, b.json(t))
}

// goReveal asks for a payload in the background.
func (h *relayUnderTest) goReveal(t testing.TB, path string, b *blinded) <-chan answer {
	t.Helper()
	return h.goPost(t, path, sszHeader(b.fork), b.ssz(t))
}

// goSubmit sends a cancellable submission in the background.
func (h *relayUnderTest) goSubmit(t testing.TB, s *submission) <-chan answer {
	t.Helper()
	return h.goPost(t, submitPath+"?cancellations=1", sszHeader(s.fork), s.ssz(t))
}

func (h *relayUnderTest) goPost(t testing.TB, path string, header http.Header, body []byte) <-chan answer {
	done := make(chan answer, 1)
	go func() {
		got, err := h.try(context.WithoutCancel(t.Context()), http.MethodPost, path, header, body)
		if err != nil {
			t.Error(err)
		}
		done <- got
	}()
	return done
}

// offered submits a block and lets the slot begin, and the proposer blind it.
func (h *relayUnderTest) offered(t testing.TB, s *submission) *blinded {
	t.Helper()
	h.submitted(t, s)
	h.into(0)
	h.wantTop(t, s)
	return h.blind(t, h.header(t))
}

// deliver lets a submission win its slot and be published.
func (h *relayUnderTest) deliver(t testing.TB, s *submission) {
	t.Helper()
	if got := h.reveal(t, v2Path, h.offered(t, s)); got.status != http.StatusAccepted || len(got.body) != 0 {
		t.Fatalf("deliver: %s", got)
	}
}

// wantRevealed wants the good answer of a path: v1 hands out the payload, v2 says nothing.
func (h *relayUnderTest) wantRevealed(t testing.TB, path string, got answer, s *submission) {
	t.Helper()
	if path == v2Path {
		if got.status != http.StatusAccepted || len(got.body) != 0 {
			t.Errorf("v2: %s", got)
		}
		return
	}
	var document struct {
		Version string `json:"version"`
		Data    struct {
			BlockHash string `json:"block_hash"` // before deneb
			Payload   struct {
				BlockHash string `json:"block_hash"`
			} `json:"execution_payload"`
			Bundle struct {
				Blobs  []string `json:"blobs"`
				Proofs []string `json:"proofs"`
			} `json:"blobs_bundle"`
		} `json:"data"`
	}
	if err := json.Unmarshal(got.body, &document); err != nil || got.status != http.StatusOK {
		t.Errorf("v1: %v, %s", err, got)
		return
	}
	hash := document.Data.BlockHash + document.Data.Payload.BlockHash
	if hash != fmt.Sprintf("%#x", s.payload.BlockHash[:]) || document.Version != h.fork.String() {
		t.Errorf("v1 revealed a %s payload %s", document.Version, hash)
	}
	if got.header.Get("Eth-Consensus-Version") != h.fork.String() {
		t.Errorf("version header %q", got.header.Get("Eth-Consensus-Version"))
	}
	if s.blobs != nil && (len(document.Data.Bundle.Blobs) != len(s.blobs.Blobs) ||
		len(document.Data.Bundle.Proofs) != len(s.blobs.Proofs)) {
		t.Errorf("%d blobs and %d proofs revealed", len(document.Data.Bundle.Blobs), len(document.Data.Bundle.Proofs))
	}
}
