package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/attestantio/go-builder-client/spec"
	blinddeneb "github.com/attestantio/go-eth2-client/api/v1/deneb"
	blindelectra "github.com/attestantio/go-eth2-client/api/v1/electra"
	apifulu "github.com/attestantio/go-eth2-client/api/v1/fulu"
	"github.com/attestantio/go-eth2-client/spec/bellatrix"
	"github.com/attestantio/go-eth2-client/spec/capella"
	specelectra "github.com/attestantio/go-eth2-client/spec/electra"
	"github.com/attestantio/go-eth2-client/spec/phase0"
	"pgregory.net/rapid"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/bls"
	"github.com/gavel-relay/gavel/internal/eth/payload"
	"github.com/gavel-relay/gavel/relay"
)

// forEach runs a test for each fork with a few seeds.
func forEach(t *testing.T, test func(t *testing.T, fork eth.Fork, s source)) {
	for _, fork := range eth.Forks() {
		t.Run(fork.String(), func(t *testing.T) {
			for seed := range uint64(8) {
				test(t, fork, newSource(seed))
			}
		})
	}
}

func TestSubmissionsComeBackFromBothEncodings(t *testing.T) {
	forEach(t, func(t *testing.T, fork eth.Fork, s source) {
		want := s.contents(fork)
		request, err := toRequest(want)
		if err != nil {
			t.Fatal(err)
		}
		for _, media := range []Media{JSON, SSZ} {
			body, err := encode(media, request)
			if err != nil {
				t.Fatal(err)
			}
			got, err := DecodeSubmission(fork, media, body)
			if err != nil {
				t.Fatalf("%s: %v", media.ContentType(), err)
			}
			wantSame(t, got.Contents(), want)
			if slot, err := SlotOf(media, body); err != nil || slot != phase0.Slot(want.Trace.Slot) {
				t.Errorf("slot %d, %v", slot, err)
			}
		}
	})
}

func TestContentsComeBackFromTheEscrow(t *testing.T) {
	forEach(t, func(t *testing.T, fork eth.Fork, s source) {
		want := s.contents(fork)
		raw, err := EncodeContents(want)
		if err != nil {
			t.Fatal(err)
		}
		if cap(raw) != len(raw) {
			t.Errorf("%d bytes in a buffer of %d", len(raw), cap(raw))
		}
		got, err := DecodeContents(raw)
		if err != nil {
			t.Fatal(err)
		}
		wantSame(t, got, want)
		raw[len(raw)-1]++
		if _, err := DecodeContents(raw); err == nil {
			t.Error("a form of another version passes")
		}
	})
}

// wantSame compares by encoding: empty and nil lists are the same thing on the wire.
func wantSame(t rapid.TB, got, want *relay.Contents) {
	t.Helper()
	encoded := func(c relay.Contents) ([]byte, error) {
		c.Raw = nil // from what was read, not from where
		return EncodeContents(&c)
	}
	a, err := encoded(*got)
	if err != nil {
		t.Fatal(err)
	}
	b, err := encoded(*want)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(a, b) {
		t.Errorf("%s contents differ:\n got %+v\nwant %+v", want.Fork, got, want)
	}
}

// The block that is published has the root that the proposer signed, and carries the payload and
// all proofs.
func TestUnblindedBlockHasTheSignedRoot(t *testing.T) {
	forEach(t, func(t *testing.T, fork eth.Fork, s source) {
		contents := s.contents(fork)
		signed := s.blinded(t, contents)
		for _, media := range []Media{JSON, SSZ} {
			body, err := encode(media, signed)
			if err != nil {
				t.Fatal(err)
			}
			block, err := DecodeBlinded(fork, media, body)
			if err != nil {
				t.Fatalf("%s: %v", media.ContentType(), err)
			}
			if slot, err := SlotOfBlinded(media, body); err != nil || slot != block.Slot {
				t.Errorf("slot %d, %v, want %d", slot, err, block.Slot)
			}
			ssz, err := Unblind(block, contents)
			if err != nil {
				t.Fatal(err)
			}
			root, proofs := publishedRoot(t, fork, ssz)
			if root != block.Root {
				t.Errorf("published root %#x, signed %#x", root, block.Root)
			}
			if contents.Blobs != nil && proofs != len(contents.Blobs.Proofs) {
				t.Errorf("%d proofs are published, want %d", proofs, len(contents.Blobs.Proofs))
			}
		}
	})
}

// publishedRoot reads a published block with the library's own types.
func publishedRoot(t *testing.T, fork eth.Fork, ssz []byte) (root phase0.Root, proofs int) {
	t.Helper()
	var message interface{ HashTreeRoot() ([32]byte, error) }
	read := func(into codec) {
		if err := into.UnmarshalSSZ(ssz); err != nil {
			t.Fatal(err)
		}
	}
	switch fork {
	case eth.Bellatrix:
		block := new(bellatrix.SignedBeaconBlock)
		read(block)
		message = block.Message
	case eth.Capella:
		block := new(capella.SignedBeaconBlock)
		read(block)
		message = block.Message
	case eth.Deneb:
		block := new(blinddeneb.SignedBlockContents)
		read(block)
		message, proofs = block.SignedBlock.Message, len(block.KZGProofs)
	case eth.Electra:
		block := new(blindelectra.SignedBlockContents)
		read(block)
		message, proofs = block.SignedBlock.Message, len(block.KZGProofs)
	case eth.Fulu:
		block := new(apifulu.SignedBlockContents)
		read(block)
		message, proofs = block.SignedBlock.Message, len(block.KZGProofs)
	}
	root, err := message.HashTreeRoot()
	if err != nil {
		t.Fatal(err)
	}
	return root, proofs
}

// Another library reads the bid, and its signature verifies (REL-HDR-15).
func TestSignedBidIsReadByAnotherClient(t *testing.T) {
	key := bls.Derive("relay", 0)
	domain := (&eth.Spec{GenesisForkVersion: phase0.Version{1, 2, 3, 4}}).BuilderDomain()
	forEach(t, func(t *testing.T, fork eth.Fork, s source) {
		contents := s.contents(fork)
		header, err := payload.HeaderOf(fork, contents.Payload)
		if err != nil {
			t.Fatal(err)
		}
		bid := &preparedParts{header, contents}
		ssz, document, err := bid.sign(key, domain)
		if err != nil {
			t.Fatal(err)
		}
		var versioned spec.VersionedSignedBuilderBid
		if err := json.Unmarshal(document, &versioned); err != nil {
			t.Fatal(err)
		}
		if versioned.Version != fork.DataVersion() {
			t.Errorf("version %s, want %s", versioned.Version, fork)
		}
		value, err := versioned.Value()
		if err != nil || !value.Eq(contents.Trace.Value) {
			t.Errorf("value %v, %v, want %v", value, err, contents.Trace.Value)
		}
		root, err := versioned.MessageHashTreeRoot()
		if err != nil {
			t.Fatal(err)
		}
		signature, err := versioned.Signature()
		if err != nil {
			t.Fatal(err)
		}
		if err := bls.Verify(key.PublicKey(), eth.SigningRoot(root, domain), signature); err != nil {
			t.Error(err)
		}
		if !bytes.Contains(ssz, signature[:]) {
			t.Error("SSZ and JSON carry different signatures")
		}
	})
}

type preparedParts struct {
	header   *payload.Header
	contents *relay.Contents
}

func (p *preparedParts) sign(key *bls.SecretKey, domain phase0.Domain) (ssz, document []byte, err error) {
	c := p.contents
	blobs := bundleOf(c.Blobs)
	return SignBid(Bid{
		Fork: c.Fork, Header: p.header, Commitments: blobs.Commitments, Requests: c.Requests, ValueWei: c.Trace.Value,
	}, key, domain)
}

func TestRevealedPayloadIsCompleteInBothEncodings(t *testing.T) {
	forEach(t, func(t *testing.T, fork eth.Fork, s source) {
		contents := s.contents(fork)
		document, err := EncodePayload(JSON, contents)
		if err != nil {
			t.Fatal(err)
		}
		var envelope struct {
			Version string          `json:"version"`
			Data    json.RawMessage `json:"data"`
		}
		if err := json.Unmarshal(document, &envelope); err != nil || envelope.Version != fork.String() {
			t.Fatalf("version %q, %v", envelope.Version, err)
		}
		if bytes.Contains(document, []byte("null")) {
			t.Error("an empty list is written as null")
		}
		hash := fmt.Sprintf("%#x", contents.Payload.BlockHash[:])
		if !bytes.Contains(envelope.Data, []byte(hash)) {
			t.Errorf("block hash %s is not in the answer", hash)
		}
		raw, err := EncodePayload(SSZ, contents)
		if err != nil || !bytes.Contains(raw, contents.Payload.BlockHash[:]) {
			t.Errorf("SSZ answer: %v", err)
		}
	})
}

// What comes out of the escrow has nil where a list was empty; JSON must still say [].
func TestEmptyListsAreNeverNull(t *testing.T) {
	for _, fork := range eth.Forks() {
		contents := newSource(1).contents(fork)
		contents.Payload.Transactions, contents.Payload.Withdrawals, contents.Payload.ExtraData = nil, nil, nil
		if contents.Blobs != nil {
			contents.Blobs = &payload.Blobs{}
		}
		if contents.Requests != nil {
			contents.Requests = &specelectra.ExecutionRequests{}
		}
		raw, err := EncodeContents(contents)
		if err != nil {
			t.Fatal(err)
		}
		stored, err := DecodeContents(raw)
		if err != nil {
			t.Fatal(err)
		}
		document, err := EncodePayload(JSON, stored)
		if err != nil {
			t.Fatal(err)
		}
		header, err := payload.HeaderOf(fork, stored.Payload)
		if err != nil {
			t.Fatal(err)
		}
		_, bid, err := (&preparedParts{header, stored}).sign(bls.Derive("relay", 1), phase0.Domain{})
		if err != nil {
			t.Fatal(err)
		}
		for name, text := range map[string][]byte{"payload": document, "bid": bid} {
			if bytes.Contains(text, []byte("null")) {
				t.Errorf("%s: the %s says null: %s", fork, name, text)
			}
		}
	}
}

func TestRegistrationsGoodOnesSurviveBadOnes(t *testing.T) {
	s := newSource(1)
	a, b := s.registration(), s.registration()
	first, _ := a.MarshalJSON()
	second, _ := b.MarshalJSON()
	bare := strings.Replace(string(second), `"gas_limit":"`+fmt.Sprint(b.Message.GasLimit)+`"`, `"gas_limit":7`, 1)
	batch, err := DecodeRegistrations(JSON, []byte("["+string(first)+","+bare+",{},"+string(second)+"]"))
	if err != nil {
		t.Fatal(err)
	}
	entries, bad := batch.Entries, batch.Bad
	if batch.BodyIndex(0) != 0 || batch.BodyIndex(1) != 3 || len(bad) != 2 || bad[0].Index != 1 || bad[1].Index != 2 {
		t.Errorf("good %v, bad %v", entries, bad)
	}
	if len(entries) != 2 || entries[0].Message.Pubkey != a.Message.Pubkey ||
		entries[1].Message.Pubkey != b.Message.Pubkey {
		t.Error("the good entries are not the first and the last")
	}
	for name, body := range map[string]string{"object": `{}`, "null": `null`, "text": `"x"`, "two lists": `[] []`,
		"nothing": ``} {
		if _, err := DecodeRegistrations(JSON, []byte(body)); err == nil {
			t.Errorf("%s passes for a list", name)
		}
	}
}

func TestRegistrationsInSSZ(t *testing.T) {
	s := newSource(2)
	var body []byte
	for range 3 {
		raw, err := s.registration().MarshalSSZ()
		if err != nil {
			t.Fatal(err)
		}
		body = append(body, raw...)
	}
	batch, err := DecodeRegistrations(SSZ, body)
	if err != nil || len(batch.Entries) != 3 || batch.BadCount != 0 {
		t.Fatalf("%+v, %v", batch, err)
	}
	if _, err := DecodeRegistrations(SSZ, body[1:]); err == nil {
		t.Error("REL-REG-12: a body that is no multiple of 180 passes")
	}
}
