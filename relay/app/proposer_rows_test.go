package app_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	builderbellatrix "github.com/attestantio/go-builder-client/api/bellatrix"
	buildercapella "github.com/attestantio/go-builder-client/api/capella"
	builderdeneb "github.com/attestantio/go-builder-client/api/deneb"
	builderelectra "github.com/attestantio/go-builder-client/api/electra"
	builderv1 "github.com/attestantio/go-builder-client/api/v1"
	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/bls"
	"github.com/gavel-relay/gavel/internal/eth/payload"
	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/relay/app"
)

// stranger's key is nobody's.
var stranger = bls.Derive("house stranger", 0)

// registered is what the relay tells builders of the auction's proposer.
func (h *house) registered(t testing.TB) *builderv1.SignedValidatorRegistration {
	t.Helper()
	got := h.get(t, "/relay/v1/builder/validators", nil)
	var list []struct {
		Slot  string                                 `json:"slot"`
		Entry *builderv1.SignedValidatorRegistration `json:"entry"`
	}
	if err := json.Unmarshal(got.body, &list); err != nil {
		t.Fatalf("%v: %s", err, got)
	}
	for _, duty := range list {
		if duty.Slot == fmt.Sprint(h.slot) {
			return duty.Entry
		}
	}
	return nil
}

func TestRegistrationRows(t *testing.T) {
	h := open(t, eth.Fulu, houseOptions{})
	index, key := h.duty(h.slot)
	limit := uint64(houseGasLimit) // each good entry asks for another one, or its signature would not be looked at
	changed := func(seconds time.Duration) *builderv1.SignedValidatorRegistration {
		limit++
		r := h.registration(index)
		r.Message.GasLimit, r.Message.Timestamp = limit, r.Message.Timestamp.Add(seconds)
		h.signRegistration(r, key)
		return r
	}
	wantLimit := func(t *testing.T, want uint64) {
		t.Helper()
		if got := h.registered(t).Message.GasLimit; got != want {
			t.Errorf("registered is a gas limit of %d, want %d", got, want)
		}
	}
	refused := func(t *testing.T, r *builderv1.SignedValidatorRegistration, why relay.Refusal) {
		t.Helper()
		got := h.register(t, r)
		got.wantRefusal(t, relay.RegistrationsInvalid, "")
		if !strings.Contains(string(got.body), why.Short) {
			t.Errorf("%s does not say %q", got, why.Short)
		}
	}
	t.Run("REL-REG-13 the same timestamp and another gas limit", func(t *testing.T) {
		r := changed(0)
		h.register(t, r).wantStatus(t, http.StatusOK)
		wantLimit(t, r.Message.GasLimit)
	})
	t.Run("REL-REG-03 older than the stored one", func(t *testing.T) {
		before := h.registered(t).Message.GasLimit
		h.register(t, changed(-time.Second)).wantStatus(t, http.StatusOK)
		wantLimit(t, before)
	})
	t.Run("REL-REG-04 eleven seconds ahead", func(t *testing.T) {
		refused(t, changed(11*time.Second), relay.RegistrationTooLate)
	})
	t.Run("REL-REG-04 ten seconds ahead", func(t *testing.T) {
		r := changed(10 * time.Second)
		h.register(t, r).wantStatus(t, http.StatusOK)
		wantLimit(t, r.Message.GasLimit)
	})
	t.Run("REL-REG-05 nobody's key", func(t *testing.T) {
		r := changed(10 * time.Second)
		r.Message.Pubkey = stranger.PublicKey()
		h.signRegistration(r, stranger)
		refused(t, r, relay.RegistrationUnknownValidator)
	})
	t.Run("REL-REG-02 signed with another key", func(t *testing.T) {
		r := changed(10 * time.Second)
		h.signRegistration(r, stranger)
		refused(t, r, relay.RegistrationSignature)
	})
	t.Run("REL-REG-02 signed for another network", func(t *testing.T) {
		r := changed(10 * time.Second)
		domain := eth.ComputeDomain(eth.DomainApplicationBuilder, phase0.Version{9, 9, 9, 9}, phase0.Root{})
		r.Signature = key.Sign(eth.SigningRoot(rootOf(r.Message), domain))
		refused(t, r, relay.RegistrationSignature)
	})
	t.Run("REL-REG-02 signed, then changed", func(t *testing.T) {
		r := changed(10 * time.Second)
		r.Message.FeeRecipient[0]++
		refused(t, r, relay.RegistrationSignature)
	})
	t.Run("REL-REG-12 SSZ in pieces of 180 bytes", func(t *testing.T) {
		r := changed(10 * time.Second)
		raw, err := r.MarshalSSZ()
		must(t, err)
		const path = "/eth/v1/builder/validators"
		for _, body := range [][]byte{raw[:179], append(bytes.Clone(raw), 0), append(bytes.Clone(raw), raw[:90]...)} {
			h.post(t, path, sszHeader(h.fork), body).wantRefusal(t, relay.Malformed, "")
		}
		h.post(t, path, sszHeader(h.fork), append(bytes.Clone(raw), raw...)).wantStatus(t, http.StatusOK)
		wantLimit(t, r.Message.GasLimit)
	})
	t.Run("REL-REG-08 an empty list", func(t *testing.T) {
		h.register(t).wantRefusal(t, relay.Malformed, "") // null, which is no list
		h.post(t, "/eth/v1/builder/validators", jsonHeader(), []byte("[]")).wantStatus(t, http.StatusOK)
		h.post(t, "/eth/v1/builder/validators", jsonHeader(), nil).wantRefusal(t, relay.Malformed, "")
	})
}

// A node that has only the list of active and pending validators leaves those out that have exited.
func TestExitedValidatorRow(t *testing.T) {
	exited := phase0.ValidatorIndex(5)
	h := open(t, eth.Bellatrix, houseOptions{exited: &exited})
	t.Run("REL-REG-05 an exited validator", func(t *testing.T) {
		got := h.register(t, h.registration(exited))
		got.wantRefusal(t, relay.RegistrationsInvalid, "")
		if !strings.Contains(string(got.body), relay.RegistrationUnknownValidator.Short) {
			t.Error(got)
		}
	})
}

func TestHeaderRows(t *testing.T) {
	for _, fork := range eth.Forks() {
		t.Run(fork.String(), func(t *testing.T) {
			t.Parallel()
			h := open(t, fork, houseOptions{})
			s := h.good(t)
			h.submitted(t, s)
			h.testHeader(t, s)
			h.testNoHeader(t)
			h.testAccept(t)
		})
	}
}

// testHeader looks at a served bid with the libraries' types and at all that it promises.
func (h *house) testHeader(t *testing.T, s *submission) {
	t.Run("REL-HDR-15 the bid is the relay's promise of the builder's block", func(t *testing.T) {
		got := h.get(t, h.headerPath(), http.Header{"Accept": {"application/octet-stream"}})
		if got.status != http.StatusOK || got.header.Get("Eth-Consensus-Version") != h.fork.String() {
			t.Fatalf("%s, version %q", got, got.header.Get("Eth-Consensus-Version"))
		}
		bid := decodeBid(t, h.fork, got.body)
		header, err := payload.HeaderOf(h.fork, s.payload)
		must(t, err)
		want, err := payload.HeaderRoot(h.fork, header)
		must(t, err)
		if bid.headerRoot != want {
			t.Errorf("header %#x, want the payload's %#x", bid.headerRoot, want)
		}
		if !bid.value.Eq(s.trace.Value) || bid.pubkey != relayKey.PublicKey() {
			t.Errorf("value %s, key %#x", bid.value.Dec(), bid.pubkey)
		}
		if err := bls.Verify(relayKey.PublicKey(), eth.SigningRoot(bid.messageRoot, h.spec.BuilderDomain()),
			bid.signature); err != nil {
			t.Error(err)
		}
		inJSON := h.get(t, h.headerPath(), nil)
		if inJSON.header.Get("Eth-Consensus-Version") != h.fork.String() ||
			!strings.HasPrefix(string(inJSON.body), `{"version":"`+h.fork.String()+`"`) {
			t.Errorf("version %q, %s", inJSON.header.Get("Eth-Consensus-Version"), inJSON)
		}
	})
}

// decodedBid is what tests look at in a bid of any fork.
type decodedBid struct {
	headerRoot, messageRoot phase0.Root
	value                   *uint256.Int
	pubkey                  phase0.BLSPubKey
	signature               phase0.BLSSignature
}

func decodeBid(t testing.TB, fork eth.Fork, raw []byte) decodedBid {
	t.Helper()
	switch fork {
	case eth.Bellatrix:
		b := new(builderbellatrix.SignedBuilderBid)
		must(t, b.UnmarshalSSZ(raw))
		return decodedBid{rootOf(b.Message.Header), rootOf(b.Message), b.Message.Value, b.Message.Pubkey, b.Signature}
	case eth.Capella:
		b := new(buildercapella.SignedBuilderBid)
		must(t, b.UnmarshalSSZ(raw))
		return decodedBid{rootOf(b.Message.Header), rootOf(b.Message), b.Message.Value, b.Message.Pubkey, b.Signature}
	case eth.Deneb:
		b := new(builderdeneb.SignedBuilderBid)
		must(t, b.UnmarshalSSZ(raw))
		return decodedBid{rootOf(b.Message.Header), rootOf(b.Message), b.Message.Value, b.Message.Pubkey, b.Signature}
	default:
		b := new(builderelectra.SignedBuilderBid)
		must(t, b.UnmarshalSSZ(raw))
		return decodedBid{rootOf(b.Message.Header), rootOf(b.Message), b.Message.Value, b.Message.Pubkey, b.Signature}
	}
}

// testNoHeader asks for what is not there, in the wrong way, or at the wrong time.
func (h *house) testNoHeader(t *testing.T) {
	parent, slot := fmt.Sprintf("%#x", h.attributes.parentHash[:]), fmt.Sprint(h.slot)
	_, proposer := h.duty(h.slot)
	own := proposer.PublicKey()
	pubkey := fmt.Sprintf("%#x", own[:])
	ask := func(t *testing.T, slot, parent, pubkey string) answer {
		return h.get(t, "/eth/v1/builder/header/"+slot+"/"+parent+"/"+pubkey, nil)
	}
	t.Run("REL-HDR-07 no bid for another proposer, parent or slot", func(t *testing.T) {
		other := stranger.PublicKey()
		for _, got := range []answer{
			ask(t, slot, parent, fmt.Sprintf("%#x", other[:])), ask(t, slot, "0x"+strings.Repeat("11", 32), pubkey),
			ask(t, "2", parent, pubkey),
			ask(t, "18446744073709551615", parent, pubkey),
		} {
			got.wantStatus(t, http.StatusNoContent)
			if len(got.body) != 0 {
				t.Errorf("204 with a body: %s", got)
			}
		}
	})
	t.Run("REL-HDR-04 parameters that are none", func(t *testing.T) {
		for _, bad := range []string{"abc", "18446744073709551616", "-1", "0x1", "1.0", "%20"} {
			ask(t, bad, parent, pubkey).wantRefusal(t, relay.InvalidSlot, "")
		}
		for _, bad := range []string{pubkey[:96], pubkey + "00", pubkey[2:], "0x" + strings.Repeat("zz", 48), "0x"} {
			ask(t, slot, parent, bad).wantRefusal(t, relay.InvalidPubkey, "")
		}
		for _, bad := range []string{parent[:64], parent + "00", parent[2:], "0x" + strings.Repeat("zz", 32), "0x"} {
			ask(t, slot, bad, pubkey).wantRefusal(t, relay.InvalidHash, "")
		}
	})
	t.Run("half a second before the slot", func(t *testing.T) {
		h.into(-500 * time.Millisecond)
		ask(t, slot, parent, pubkey).wantStatus(t, http.StatusOK)
	})
	t.Run("REL-HDR-22 at the cut-off and a millisecond later", func(t *testing.T) {
		h.into(3000 * time.Millisecond)
		ask(t, slot, parent, pubkey).wantStatus(t, http.StatusOK)
		h.into(3001 * time.Millisecond)
		ask(t, slot, parent, pubkey).wantStatus(t, http.StatusNoContent)
		h.into(0)
	})
}

// testAccept is the whole matrix of what clients ask for.
func (h *house) testAccept(t *testing.T) {
	const json, ssz = "application/json", "application/octet-stream"
	for _, row := range []struct {
		accept []string
		want   string // empty: 406
	}{
		{nil, json},
		{[]string{""}, json},
		{[]string{"*/*"}, json},
		{[]string{"application/*"}, json},
		{[]string{json}, json},
		{[]string{ssz}, ssz},
		{[]string{"Application/Octet-Stream"}, ssz},
		{[]string{"application/json; charset=utf-8"}, json},
		{[]string{"application/octet-stream;q=1.0,application/json;q=0.9"}, ssz},
		{[]string{"application/octet-stream;q=1,application/json;q=0.9"}, ssz},
		{[]string{"application/json;q=0.9,application/octet-stream;q=1.0"}, ssz},
		{[]string{"application/json;q=0.9, application/octet-stream;q=0.8"}, json},
		{[]string{ssz + "," + json}, ssz}, // a tie: the first listed
		{[]string{json + "," + ssz}, json},
		{[]string{ssz, json}, ssz}, // two headers are one list
		{[]string{"*/*;q=0.1", ssz}, ssz},
		{[]string{"text/html, */*;q=0.1"}, json},
		{[]string{"application/json;q=0,*/*"}, ssz},
		{[]string{"application/octet-stream;q=0,*/*"}, json},
		{[]string{"application/json;q=0"}, ""},
		{[]string{"application/json;q=0,application/octet-stream;q=0"}, ""},
		{[]string{"text/html"}, ""},
		{[]string{"garbage"}, ""},
	} {
		t.Run("REL-HDR-10 "+strings.Join(row.accept, " and "), func(t *testing.T) {
			got := h.get(t, h.headerPath(), http.Header{"Accept": row.accept})
			if row.want == "" {
				got.wantRefusal(t, relay.NotAcceptable, "")
				return
			}
			if contentType := got.header.Get("Content-Type"); got.status != http.StatusOK || contentType != row.want {
				t.Errorf("got %s as %q, want %s", got, contentType, row.want)
			}
		})
	}
}

// Rows about a slot's delivery. Rows that refuse share a slot, and each that delivers goes on to
// the next.
func TestPayloadRows(t *testing.T) {
	for _, fork := range []eth.Fork{eth.Bellatrix, eth.Capella, eth.Deneb, eth.Electra, eth.Fulu} {
		t.Run(fork.String(), func(t *testing.T) {
			t.Parallel()
			h := open(t, fork, houseOptions{})
			s := h.good(t)
			b := h.offered(t, s)
			h.testRefusedBlinded(t, b)
			if n := h.fronts[0].count() + h.fronts[1].count(); n != 0 {
				t.Errorf("%d publications of refused blocks", n)
			}
			h.testRepeats(t, s, b)
			h.next(t)
			h.testEarlyAndLate(t)
			h.next(t)
			h.testPublishing(t)
		})
	}
}

// testRefusedBlinded: none of these reveals or publishes anything.
func (h *house) testRefusedBlinded(t *testing.T, good *blinded) {
	_, proposer := h.duty(h.slot)
	domain := h.spec.ProposerDomain(h.slot)
	both := func(t *testing.T, b *blinded, want relay.Refusal, detail string) {
		t.Helper()
		for _, path := range []string{v1Path, v2Path} {
			h.reveal(t, path, b).wantRefusal(t, want, detail)
			h.post(t, path, sszHeader(h.fork), b.ssz(t)).wantRefusal(t, want, detail)
		}
	}
	changed := func(t *testing.T, change func(message map[string]any)) *blinded {
		b := good.clone(t)
		change(b.message)
		b.sign(t, proposer, domain)
		return b
	}
	header := func(message map[string]any) map[string]any {
		return message["body"].(map[string]any)["execution_payload_header"].(map[string]any)
	}
	t.Run("REL-PAY-03 signed with another key, domain or fork version", func(t *testing.T) {
		for _, as := range []struct {
			key    *bls.SecretKey
			domain phase0.Domain
		}{
			{stranger, domain}, {proposer, h.spec.BuilderDomain()},
			{proposer, eth.ComputeDomain(eth.DomainBeaconProposer, h.spec.GenesisForkVersion, h.spec.GenesisValidatorsRoot)},
			{proposer, eth.ComputeDomain(eth.DomainBeaconProposer, h.spec.Forks[0].Version, phase0.Root{})},
		} {
			b := good.clone(t)
			b.sign(t, as.key, as.domain)
			both(t, b, relay.PayloadSignature, "")
		}
	})
	t.Run("REL-PAY-13 another proposer's index", func(t *testing.T) {
		index, _ := h.duty(h.slot)
		other := (index + 1) % houseValidators
		b := good.clone(t)
		b.message["proposer_index"] = fmt.Sprint(other)
		b.sign(t, h.beacon.ValidatorKey(other), domain)
		both(t, b, relay.PayloadUnknownProposer, "")
	})
	t.Run("REL-PAY-14 another field of the header", func(t *testing.T) {
		for _, field := range []string{"gas_used", "timestamp", "base_fee_per_gas"} {
			both(t, changed(t, func(m map[string]any) { header(m)[field] = "12345" }), relay.PayloadHeaderMismatch, "")
		}
		for _, field := range []string{"state_root", "transactions_root", "prev_randao", "parent_hash"} {
			both(t, changed(t, func(m map[string]any) {
				header(m)[field] = "0x" + strings.Repeat("17", 32)
			}), relay.PayloadHeaderMismatch, "")
		}
	})
	if h.fork >= eth.Deneb {
		t.Run("REL-PAY-14 other blob commitments", func(t *testing.T) {
			both(t, changed(t, func(m map[string]any) {
				m["body"].(map[string]any)["blob_kzg_commitments"] = []string{}
			}), relay.PayloadHeaderMismatch, "commitments")
		})
	}
	if h.fork >= eth.Electra {
		t.Run("REL-PAY-14 other execution requests", func(t *testing.T) {
			both(t, changed(t, func(m map[string]any) {
				m["body"].(map[string]any)["execution_requests"].(map[string]any)["withdrawals"] = []any{map[string]string{
					"source_address": "0x" + strings.Repeat("11", 20), "validator_pubkey": "0x" + strings.Repeat("22", 48),
					"amount": "1",
				}}
			}), relay.PayloadHeaderMismatch, "requests")
		})
	}
	t.Run("REL-PAY-04 a block hash that was never served", func(t *testing.T) {
		both(t, changed(t, func(m map[string]any) {
			header(m)["block_hash"] = "0x" + strings.Repeat("17", 32)
		}), relay.PayloadUnknown, "")
	})
}

// clone is a copy that shares nothing.
func (b *blinded) clone(t testing.TB) *blinded {
	t.Helper()
	copied := &blinded{fork: b.fork, signature: b.signature}
	raw, err := json.Marshal(b.message)
	must(t, err)
	must(t, json.Unmarshal(raw, &copied.message))
	return copied
}

// testRepeats delivers the block, and asks for it again and for others.
func (h *house) testRepeats(t *testing.T, s *submission, b *blinded) {
	published := func() int { return h.fronts[0].count() }
	before := published()
	t.Run("REL-PAY-06 the same block again, by any path, is published once", func(t *testing.T) {
		for _, path := range []string{v2Path, v1Path, v1Path, v2Path} {
			h.wantRevealed(t, path, h.reveal(t, path, b), s)
		}
		poll(t, "the block reaches node A", func() bool { return published() > before }) // node B may have answered first
		if n := published() - before; n != 1 {
			t.Errorf("published %d times", n)
		}
		if head := h.beacon.Head(); head.BlockHash != s.payload.BlockHash {
			t.Errorf("the head is slot %d, %#x", head.Slot, head.BlockHash[:])
		}
	})
	t.Run("REL-PAY-05 another block of the slot", func(t *testing.T) {
		_, proposer := h.duty(h.slot)
		other := b.clone(t)
		other.body()["graffiti"] = "0x" + strings.Repeat("33", 32)
		other.sign(t, proposer, h.spec.ProposerDomain(h.slot))
		before := h.fronts[0].count() + h.fronts[1].count()
		for _, path := range []string{v1Path, v2Path} {
			h.reveal(t, path, other).wantRefusal(t, relay.PayloadOther, "")
		}
		if n := h.fronts[0].count() + h.fronts[1].count() - before; n != 0 {
			t.Errorf("%d publications", n)
		}
	})
}

// wantRevealed wants the good answer of a path: v1 hands out the payload, v2 says nothing.
func (h *house) wantRevealed(t testing.TB, path string, got answer, s *submission) {
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

// testEarlyAndLate delivers the slot's block, which was asked for too late and too early before.
func (h *house) testEarlyAndLate(t *testing.T) {
	s := h.good(t)
	b := h.offered(t, s)
	t.Run("a millisecond after the cut-off", func(t *testing.T) {
		h.into(4001 * time.Millisecond)
		for _, path := range []string{v1Path, v2Path} {
			h.reveal(t, path, b).wantRefusal(t, relay.PayloadTooLate, "4001 ms")
		}
	})
	t.Run("before the slot it waits for its start", func(t *testing.T) {
		h.into(-300 * time.Millisecond)
		before, start := h.fronts[0].count(), h.spec.SlotStart(h.slot)
		early := []<-chan answer{h.goReveal(t, v1Path, b), h.goReveal(t, v2Path, b)}
		h.clock.Waiters(start, 2)
		if n := h.fronts[0].count() - before; n != 0 {
			t.Errorf("%d publications before the slot", n)
		}
		for _, done := range early {
			select {
			case got := <-done:
				t.Errorf("answered before the slot: %s", got)
			default:
			}
		}
		h.into(0)
		if got := <-early[0]; got.status != http.StatusOK {
			t.Errorf("v1: %s", got)
		}
		h.wantRevealed(t, v2Path, <-early[1], s)
	})
}

// testPublishing plays nodes that refuse, hang, or only spread the block.
func (h *house) testPublishing(t *testing.T) {
	s := h.good(t)
	b := h.offered(t, s)
	defer h.passOn()
	t.Run("REL-PAY-19 nothing is revealed while every node refuses", func(t *testing.T) {
		h.allAnswer(status(http.StatusBadRequest))
		got := h.reveal(t, v1Path, b)
		got.wantRefusal(t, relay.PayloadNotPublished, "")
		if bytes.Contains(got.body, []byte("transactions")) {
			t.Errorf("the payload leaked: %s", got)
		}
	})
	t.Run("REL-PAY-02 no 202 while every node refuses", func(t *testing.T) {
		h.allAnswer(status(http.StatusServiceUnavailable))
		h.reveal(t, v2Path, b).wantRefusal(t, relay.PayloadNotPublished, "")
	})
	t.Run("REL-PAY-02 202 only when a node has accepted", func(t *testing.T) {
		arrived, accept := make(chan struct{}, 2), make(chan struct{})
		h.allAnswer(func(w http.ResponseWriter, r *http.Request) {
			arrived <- struct{}{}
			<-accept
			w.WriteHeader(http.StatusOK)
		})
		done := h.goReveal(t, v2Path, b)
		<-arrived
		select {
		case got := <-done:
			t.Errorf("answered before any node had: %s", got)
		default:
		}
		close(accept)
		h.wantRevealed(t, v2Path, <-done, s)
	})
	h.passOn()
	h.skip(t)
	t.Run("a node that only spread the block counts if none is better", func(t *testing.T) {
		s := h.good(t)
		b := h.offered(t, s)
		h.fronts[0].answers(status(http.StatusAccepted))
		h.fronts[1].answers(status(http.StatusBadRequest))
		h.wantRevealed(t, v2Path, h.reveal(t, v2Path, b), s)
	})
}

// Without a cut-off only the order of slots keeps an old block from being published beside a newer
// one.
func TestEarlierSlotRow(t *testing.T) {
	h := open(t, eth.Capella, houseOptions{configure: func(cfg *app.Config) { cfg.PayloadCutOff = -1 }})
	missed := h.offered(t, h.good(t))
	h.skip(t)
	s := h.good(t)
	b := h.offered(t, s)
	h.wantRevealed(t, v1Path, h.reveal(t, v1Path, b), s)
	t.Run("the block of an earlier slot", func(t *testing.T) {
		before := h.fronts[0].count() + h.fronts[1].count()
		for _, path := range []string{v1Path, v2Path} {
			h.reveal(t, path, missed).wantRefusal(t, relay.PayloadEarlierSlot, "")
		}
		if n := h.fronts[0].count() + h.fronts[1].count() - before; n != 0 {
			t.Errorf("%d publications", n)
		}
	})
	t.Run("REL-PAY-06 a repeat is answered when its slot is over", func(t *testing.T) {
		h.next(t)
		h.deliver(t, h.good(t))
		h.slot--
		h.wantRevealed(t, v1Path, h.reveal(t, v1Path, b), s)
	})
}

// allAnswer makes both nodes answer publications in one way; passOn ends that.
func (h *house) allAnswer(publish http.HandlerFunc) {
	for _, front := range h.fronts {
		front.answers(publish)
	}
}

func (h *house) passOn() { h.allAnswer(nil) }
