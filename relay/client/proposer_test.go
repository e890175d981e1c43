package client

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"testing"
	"time"

	builderv1 "github.com/attestantio/go-builder-client/api/v1"
	"github.com/attestantio/go-eth2-client/api"
	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/eth"
)

var (
	parent = phase0.Hash32{0: 0xab, 31: 0x01}
	pubkey = phase0.BLSPubKey{0: 0xcd, 47: 0x02}
)

// headerURI is the request for slot 9 on parent by pubkey.
const headerURI = "/eth/v1/builder/header/9/0xab00000000000000000000000000000000000000000000000000000000000001" +
	"/0xcd0000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000002"

func TestHeader(t *testing.T) {
	forEach(t, func(t *testing.T, fork eth.Fork, asJSON bool) {
		r, want := new(relay), newSource(fork).bid(fork)
		r.answers(t, want, fork, asJSON)
		for prefersJSON, accept := range map[bool]string{
			false: "application/octet-stream;q=1.0,application/json;q=0.9", true: "application/json",
		} {
			// Whatever is preferred, the relay's choice is read.
			got, err := r.client(t, Options{JSON: prefersJSON}).Header(t.Context(), 9, parent, pubkey)
			if err != nil {
				t.Fatal(err)
			}
			wantSame(t, fork, got, want)
			if got.Version != fork.DataVersion() {
				t.Errorf("version %s", got.Version)
			}
			r.wantRequest(t, "GET", headerURI, map[string]string{"Accept": accept, "X-Timeout-Ms": ""})
			if sent, err := strconv.ParseInt(r.got.Get("Date-Milliseconds"), 10, 64); err != nil || sent < 1_600_000_000_000 {
				t.Errorf("sent at %d ms, %v", sent, err)
			}
		}
	})
}

func TestHeaderTellsItsDeadline(t *testing.T) {
	r := &relay{status: http.StatusNoContent}
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	bid, err := r.client(t, Options{}).Header(ctx, 9, parent, pubkey)
	if bid != nil || err != nil {
		t.Errorf("no bid: %v, %v", bid, err)
	}
	left, err := strconv.Atoi(r.got.Get("X-Timeout-Ms"))
	if err != nil || left < 1 || left > 3_600_000 {
		t.Errorf("%d ms left of an hour, %v", left, err)
	}
}

// An answer that cannot be read is an error, never a crash.
func TestMalformedHeaders(t *testing.T) {
	good, err := newSource(eth.Fulu).bid(eth.Fulu).Fulu.MarshalSSZ()
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		media, version string
		body           []byte
	}{
		"no version":      {mediaSSZ, "", good},
		"unknown version": {mediaSSZ, "shapella", good},
		"without bids":    {mediaSSZ, "altair", good},
		"cut short":       {mediaSSZ, "fulu", good[:len(good)/2]},
		"another fork":    {mediaSSZ, "capella", good},
		"SSZ as JSON":     {mediaJSON, "fulu", good},
		"empty JSON":      {mediaJSON, "fulu", nil},
		"no data":         {mediaJSON, "fulu", []byte(`{"version":"fulu"}`)},
	} {
		r := &relay{status: http.StatusOK, header: http.Header{"Content-Type": {c.media}, versionHeader: {c.version}},
			body: c.body}
		if bid, err := r.client(t, Options{}).Header(t.Context(), 9, parent, pubkey); err == nil {
			t.Errorf("%s: read as %v", name, bid)
		}
	}
}

func TestSubmitBlindedBlock(t *testing.T) {
	forEach(t, func(t *testing.T, fork eth.Fork, asJSON bool) {
		r, block := &relay{status: http.StatusAccepted}, newSource(fork).blinded(fork)
		if err := r.client(t, Options{JSON: asJSON}).SubmitBlindedBlock(t.Context(), block); err != nil {
			t.Fatal(err)
		}
		r.wantRequest(t, "POST", "/eth/v2/builder/blinded_blocks", map[string]string{"Accept": ""})
		r.wantBody(t, r.gotBody, block, fork, asJSON)
	})
}

func TestUnblindBlock(t *testing.T) {
	forEach(t, func(t *testing.T, fork eth.Fork, asJSON bool) {
		r, block, want := new(relay), newSource(fork).blinded(fork), newSource(fork).payload(fork)
		r.answers(t, want, fork, asJSON)
		c := r.client(t, Options{JSON: asJSON})
		got, err := c.UnblindBlock(t.Context(), block)
		if err != nil {
			t.Fatal(err)
		}
		wantSame(t, fork, got, want)
		r.wantRequest(t, "POST", "/eth/v1/builder/blinded_blocks", map[string]string{"Accept": c.accept()})
		r.wantBody(t, r.gotBody, block, fork, asJSON)
	})
}

// The library allocates by what it has not checked; the client makes an error of that.
func TestMalformedPayloads(t *testing.T) {
	r, c := new(relay), newSource(eth.Deneb)
	r.answers(t, c.payload(eth.Deneb), eth.Deneb, true)
	at := bytes.Index(r.body, []byte(`"transactions":[`)) + len(`"transactions":[`)
	end := at + bytes.IndexByte(r.body[at:], ']')
	r.body = append(append(append([]byte{}, r.body[:at]...), '1'), r.body[end:]...)
	if payload, err := r.client(t, Options{}).UnblindBlock(t.Context(), c.blinded(eth.Deneb)); err == nil {
		t.Errorf("a number in place of a transaction is read as %v", payload)
	}
}

func TestBlocksThatAreNotThere(t *testing.T) {
	r := &relay{status: http.StatusAccepted}
	for _, block := range []*api.VersionedSignedBlindedBeaconBlock{{}, {Version: eth.Fulu.DataVersion()},
		{Version: eth.Capella.DataVersion()}} {
		if err := r.client(t, Options{}).SubmitBlindedBlock(t.Context(), block); err == nil || r.method != "" {
			t.Errorf("%s: %v, %s", block.Version, err, r.method)
		}
	}
}

func TestRegisterValidators(t *testing.T) {
	s := newSource(eth.Fulu)
	full := []*builderv1.SignedValidatorRegistration{s.registration(), s.registration(), s.registration()}
	for _, batch := range [][]*builderv1.SignedValidatorRegistration{full, full[:1], {}, nil} {
		for _, asJSON := range []bool{false, true} {
			r := &relay{status: http.StatusOK}
			if err := r.client(t, Options{JSON: asJSON}).RegisterValidators(t.Context(), batch); err != nil {
				t.Fatal(err)
			}
			media, decode := mediaSSZ, decodeList
			if asJSON {
				media, decode = mediaJSON, decodeArray
			}
			r.wantRequest(t, "POST", "/eth/v1/builder/validators", map[string]string{"Content-Type": media})
			got := decode(t, r.gotBody)
			if fmt.Sprint(got) != fmt.Sprint(batch) { // by their text: moments that are equal may differ in their zone
				t.Errorf("%s: got %v, want %v", media, got, batch)
			}
		}
	}
}

// decodeList reads registrations as the specification has them: 180 bytes each.
func decodeList(t *testing.T, raw []byte) (list []*builderv1.SignedValidatorRegistration) {
	t.Helper()
	for ; len(raw) >= 180; raw = raw[180:] {
		entry := new(builderv1.SignedValidatorRegistration)
		if err := entry.UnmarshalSSZ(raw[:180]); err != nil {
			t.Fatal(err)
		}
		list = append(list, entry)
	}
	if len(raw) > 0 {
		t.Fatalf("%d bytes are left", len(raw))
	}
	return list
}

func decodeArray(t *testing.T, raw []byte) (list []*builderv1.SignedValidatorRegistration) {
	t.Helper()
	if err := json.Unmarshal(raw, &list); err != nil || list == nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return list
}
