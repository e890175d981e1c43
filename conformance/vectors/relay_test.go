package vectors_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"reflect"
	"testing"
	"time"

	builderv1 "github.com/attestantio/go-builder-client/api/v1"
	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/conformance/probe"
	"github.com/gavel-relay/gavel/conformance/vectors"
	"github.com/gavel-relay/gavel/internal/clock"
	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/bls"
	"github.com/gavel-relay/gavel/internal/eth/payload"
	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/relay/check"
	"github.com/gavel-relay/gavel/relay/deliver"
	"github.com/gavel-relay/gavel/relay/registry"
	"github.com/gavel-relay/gavel/relay/slots"
	"github.com/gavel-relay/gavel/relay/wire"
)

// The relay comes to each vector's verdict on header submissions, in both encodings.
func TestRelayAgreesWithHeaderSubmissions(t *testing.T) {
	for _, fork := range vectors.Forks() {
		file := readInto[vectors.Submissions](t, "relay/header-submissions/"+fork.String()+"/cases.json")
		spec := specOf(t, file.Network)
		for _, c := range file.Cases {
			for _, body := range c.Bodies {
				t.Run(fork.String()+"/"+c.Name+"/"+body.Encoding, func(t *testing.T) {
					_, media := requestOf(t, body)
					wantVerdict(t, verdict{refused: judgeHeader(t, spec, media, read(t, body.File), c)}, c.Expect)
				})
			}
		}
	}
}

// judgeHeader does what relay/submit does with a header: decode, check, trust.
func judgeHeader(t *testing.T, spec *eth.Spec, media wire.Media, raw []byte, c vectors.SubmissionCase) *relay.Refused {
	h, err := wire.DecodeHeaderSubmission(spec.Forks[0].Fork, media, raw)
	if err != nil {
		return relay.Malformed.With("%v", err)
	}
	checked := caseOf(t, spec, c.Known)
	checked.Header, checked.Submission = h, check.SubmissionOfHeader(h)
	if refused := check.Run(checked); refused != nil {
		return refused
	}
	builder := relay.Builder{Optimistic: true, HeaderFirst: true}
	if text := c.Known.CollateralWei; text != nil {
		builder.CollateralWei = uint256.MustFromDecimal(*text)
	}
	if !builder.Trusts(h.Trace.Value) {
		return relay.HeaderNotTrusted.Plain()
	}
	return nil
}

// nowhere takes facts.
type nowhere struct{}

func (nowhere) Record(relay.Fact) {}

// The registry comes to each vector's verdict on each registration, and keeps the ones that the
// vector says.
func TestRelayAgreesWithRegistrations(t *testing.T) {
	file := readInto[vectors.Registrations](t, "relay/registrations/cases.json")
	spec := &eth.Spec{GenesisTime: time.Unix(int64(file.Network.GenesisTime), 0), SlotDuration: time.Second,
		SlotsPerEpoch: 32}
	parse(t, file.Network.GenesisForkVersion, spec.GenesisForkVersion[:])
	var validators []relay.Validator
	for i, text := range file.Validators {
		v := relay.Validator{Index: phase0.ValidatorIndex(i)}
		parse(t, text, v.Pubkey[:])
		validators = append(validators, v)
	}
	for _, c := range file.Cases {
		for _, body := range c.Bodies {
			t.Run(c.Name+"/"+body.Encoding, func(t *testing.T) {
				kept := registry.New(spec, nowhere{})
				kept.SetValidators(validators)
				if failed := kept.Register(t.Context(), time.Unix(int64(file.Now), 0), entriesOf(c.Held)); failed.Count > 0 {
					t.Fatalf("what is held: %v", failed.First[0].Refused)
				}
				_, media := requestOf(t, body)
				wantVerdict(t, verdict{refused: register(t, kept, media, read(t, body.File), file.Now, c)}, c.Expect)
				wantRegistrations(t, kept, validators, c)
			})
		}
	}
}

func entriesOf(list []*builderv1.SignedValidatorRegistration) (entries []relay.SignedRegistration) {
	for _, r := range list {
		entries = append(entries, *r)
	}
	return entries
}

// register gives a request to the registry and compares the verdicts on its entries.
func register(t *testing.T, kept *registry.Registry, media wire.Media, raw []byte, now uint64,
	c vectors.RegistrationCase) *relay.Refused {
	batch, err := wire.DecodeRegistrations(media, raw)
	if err != nil {
		return relay.Malformed.With("%v", err)
	}
	if len(batch.Bad) > 0 {
		return relay.RegistrationsInvalid.With("%v", batch.Bad[0].Err)
	}
	failures := kept.Register(t.Context(), time.Unix(int64(now), 0), batch.Entries)
	refusals := map[int]string{}
	for _, failure := range failures.First {
		refusals[failure.Index] = failure.Refused.ID
	}
	if len(batch.Entries) != len(c.Entries) {
		t.Fatalf("%d entries, the vector has %d", len(batch.Entries), len(c.Entries))
	}
	for i, want := range c.Entries {
		if refusals[i] != want.Refusal {
			t.Errorf("entry %d: refused by %q, the vector says %q", i, refusals[i], want.Refusal)
		}
	}
	if failures.Count > 0 {
		return relay.RegistrationsInvalid.Plain()
	}
	return nil
}

func wantRegistrations(t *testing.T, kept *registry.Registry, validators []relay.Validator,
	c vectors.RegistrationCase) {
	t.Helper()
	want := map[phase0.BLSPubKey]*builderv1.ValidatorRegistration{}
	for _, m := range c.After {
		want[m.Pubkey] = m
	}
	for _, v := range validators {
		newest := kept.Newest(v.Pubkey)
		switch m := want[v.Pubkey]; {
		case (newest == nil) != (m == nil):
			t.Errorf("%s: kept %v, the vector says %v", v.Pubkey, newest, m)
		case m != nil && newest.Message.String() != m.String():
			t.Errorf("kept %s, the vector says %s", newest.Message, m)
		}
	}
}

// house is what relay/deliver needs besides itself: payloads that were served, a guard, and a
// beacon node that accepts everything.
type house struct {
	duty    relay.RegisteredDuty
	served  []*relay.Contents
	claimed map[phase0.Slot]phase0.Root
}

func (h *house) Duty(slot phase0.Slot) *relay.RegisteredDuty {
	if slot != h.duty.Slot {
		return nil
	}
	return &h.duty
}

func (h *house) Pubkey(phase0.ValidatorIndex) (key phase0.BLSPubKey, known bool) { return key, false }

func (h *house) Find(_ context.Context, _ phase0.Slot, hash phase0.Hash32,
	fits func(*relay.Contents) bool) (*relay.Contents, error) {
	for _, contents := range h.served {
		if contents.Payload.BlockHash == hash && fits(contents) {
			return contents, nil
		}
	}
	return nil, nil
}

func (h *house) Claim(_ context.Context, slot phase0.Slot, root phase0.Root) (bool, error) {
	if first, ok := h.claimed[slot]; ok {
		return first == root, nil
	}
	h.claimed[slot] = root
	return true, nil
}

func (h *house) Publish(context.Context, eth.Fork, phase0.Root, []byte) error { return nil }

func deliverer(spec *eth.Spec, duty relay.RegisteredDuty, served []*relay.Contents) *deliver.Deliverer {
	h := &house{duty: duty, served: served, claimed: map[phase0.Slot]phase0.Root{}}
	return deliver.New(deliver.Config{
		Spec: spec, Clock: clock.Real{}, Proposers: h, Payloads: h, Slots: new(slots.Slots), Guard: h, Publisher: h,
		Facts: nowhere{}, Log: slog.New(slog.DiscardHandler), PublishTimeout: time.Minute, StoreTimeout: time.Minute,
	})
}

// The relay reveals what each vector says, in the very bytes, and refuses the rest for its reason.
func TestRelayAgreesWithReveals(t *testing.T) {
	for _, fork := range vectors.Forks() {
		file := readInto[vectors.Reveals](t, "relay/reveals/"+fork.String()+"/cases.json")
		spec := specOf(t, file.Network)
		duty := caseOf(t, spec, &vectors.Known{Duty: file.Duty}).Duty
		var contents []*relay.Contents
		served := map[string]vectors.ServedBid{}
		for _, s := range file.Served {
			contents, served[s.Name] = append(contents, contentsOf(t, fork, s)), s
		}
		cases := map[string]vectors.RevealCase{}
		for _, c := range file.Cases {
			cases[c.Name] = c
			for _, body := range c.Bodies {
				t.Run(fork.String()+"/"+c.Name+"/"+body.Encoding, func(t *testing.T) {
					_, media := requestOf(t, body)
					d := deliverer(spec, *duty, contents)
					if before := c.Revealed; before != "" {
						_, refused := reveal(t, d, fork, wire.SSZ, read(t, cases[before].Bodies[1].File))
						wantVerdict(t, verdict{refused: refused}, vectors.Expect{Verdict: "accepted"})
					}
					got, refused := reveal(t, d, fork, media, read(t, body.File))
					wantVerdict(t, verdict{refused: refused}, c.Expect)
					if refused == nil {
						wantPayload(t, got, served[c.Reveals])
					}
				})
			}
		}
	}
}

// reveal gives a blinded block to the deliverer.
func reveal(t *testing.T, d *deliver.Deliverer, fork eth.Fork, media wire.Media,
	raw []byte) (*relay.Contents, *relay.Refused) {
	t.Helper()
	block, err := wire.DecodeBlinded(fork, media, raw)
	if err != nil {
		return nil, relay.Malformed.With("%v", err)
	}
	contents, err := d.Deliver(t.Context(), time.Now(), block, true)
	if err != nil {
		var refused *relay.Refused
		if !errors.As(err, &refused) {
			t.Fatal(err)
		}
		return nil, refused
	}
	return contents, nil
}

// contentsOf makes what the escrow has of a served bid, and compares the bid with what the relay's
// code serves for it.
func contentsOf(t *testing.T, fork eth.Fork, s vectors.ServedBid) *relay.Contents {
	t.Helper()
	value := uint256.MustFromDecimal(s.ValueWei)
	revealed, err := probe.ReadPayload(fork, "application/octet-stream", read(t, s.Payloads[1].File))
	if err != nil {
		t.Fatal(err)
	}
	contents := &relay.Contents{Fork: fork, Payload: revealed.ExecutionPayload}
	if b := revealed.BlobsBundle; b != nil {
		contents.Blobs = &payload.Blobs{Commitments: b.Commitments, Proofs: b.Proofs, Blobs: b.Blobs}
	}
	contents.Trace = &relay.BidTrace{Slot: 10, BlockHash: contents.Payload.BlockHash, Value: value}
	header, err := payload.HeaderOf(fork, contents.Payload)
	if err != nil {
		t.Fatal(err)
	}
	var signed struct {
		Data struct {
			Message struct {
				Pubkey   string          `json:"pubkey"`
				Requests json.RawMessage `json:"execution_requests"`
			} `json:"message"`
			Signature string `json:"signature"`
		} `json:"data"`
	}
	if err := json.Unmarshal(read(t, s.Bids[0].File), &signed); err != nil {
		t.Fatal(err)
	}
	bid := wire.Bid{Fork: fork, Header: header, ValueWei: value}
	parse(t, signed.Data.Message.Pubkey, bid.Relay[:])
	if fork.HasBlobs() {
		bid.Commitments = contents.Blobs.Commitments
	}
	if fork.HasRequests() {
		bid.Requests = payload.EmptyRequests()
		contents.Requests = bid.Requests
	}
	var signature phase0.BLSSignature
	parse(t, signed.Data.Signature, signature[:])
	ssz, text, err := bid.Encode(signature)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(ssz, read(t, s.Bids[1].File)) {
		t.Errorf("%s: the relay's SSZ of the bid %s is not the vector's", fork, s.Name)
	}
	wantSameJSON(t, text, read(t, s.Bids[0].File))
	var root phase0.Root
	parse(t, s.SigningRoot, root[:])
	if err := bls.Verify(bid.Relay, root, signature); err != nil {
		t.Errorf("%s: the signature of the bid %s: %v", fork, s.Name, err)
	}
	return contents
}

func wantPayload(t *testing.T, got *relay.Contents, want vectors.ServedBid) {
	t.Helper()
	for _, body := range want.Payloads {
		media := wire.JSON
		if body.Encoding == "ssz" {
			media = wire.SSZ
		}
		raw, err := wire.EncodePayload(media, got)
		if err != nil {
			t.Fatal(err)
		}
		if media == wire.JSON {
			wantSameJSON(t, raw, read(t, body.File))
		} else if !bytes.Equal(raw, read(t, body.File)) {
			t.Errorf("the revealed SSZ is not %s", body.File)
		}
	}
}

func wantSameJSON(t *testing.T, got, want []byte) {
	t.Helper()
	var a, b any
	if err := json.Unmarshal(got, &a); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(want, &b); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(a, b) {
		t.Errorf("the relay says %.600s\nthe vector says %.600s", got, want)
	}
}
