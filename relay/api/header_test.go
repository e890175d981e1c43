package api

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/relay"
)

var (
	testKey = relay.Key{Slot: 65, ParentHash: phase0.Hash32{0xcd}, Proposer: pubkey(0x80)}
	testBid = &relay.SignedBid{Key: testKey, Fork: eth.Fulu, SSZ: []byte{1, 2, 3},
		JSON: []byte(`{"version":"fulu","data":{}}`)}
)

func headerPath(slot, hash, key string) string {
	return fmt.Sprintf("GET /eth/v1/builder/header/%s/%s/%s", slot, hash, key)
}

func goodHeaderPath() string {
	return headerPath("65", fmt.Sprintf("%#x", testKey.ParentHash[:]), fmt.Sprintf("%#x", testKey.Proposer[:]))
}

func TestHeader(t *testing.T) {
	for _, row := range []struct {
		accept, contentType, body string
	}{
		{"", "application/json", string(testBid.JSON)},
		{"Accept: application/json", "application/json", string(testBid.JSON)},
		{"Accept: */*", "application/json", string(testBid.JSON)},
		{"Accept: application/octet-stream", "application/octet-stream", string(testBid.SSZ)},
		{"Accept: application/octet-stream;q=1.0,application/json;q=0.9", "application/octet-stream", string(testBid.SSZ)},
	} {
		d := &fakePorts{bid: testBid}
		answer := ask(t, d, goodHeaderPath(), row.accept, nil)
		if answer.Code != 200 || answer.Body.String() != row.body || answer.Header().Get("Content-Type") != row.contentType {
			t.Errorf("%q: %d %q %q", row.accept, answer.Code, answer.Header().Get("Content-Type"), answer.Body)
		}
		if got := answer.Header().Get("Eth-Consensus-Version"); got != "fulu" {
			t.Errorf("%q: version %q", row.accept, got)
		}
		if len(d.asked) != 1 || d.asked[0] != testKey || !d.at.Equal(now) || !d.deadline.IsZero() {
			t.Errorf("%q: asked %+v at %v, deadline %v", row.accept, d.asked, d.at, d.deadline)
		}
	}
}

// Hexadecimal digits mean the same in either case.
func TestHeaderPathInCapitals(t *testing.T) {
	d := &fakePorts{bid: testBid}
	path := headerPath("65", "0x"+strings.ToUpper(fmt.Sprintf("%x", testKey.ParentHash[:])), "0x"+
		strings.ToUpper(fmt.Sprintf("%x", testKey.Proposer[:])))
	if answer := ask(t, d, path, "", nil); answer.Code != 200 || d.asked[0] != testKey {
		t.Errorf("%d, asked %+v", answer.Code, d.asked)
	}
}

func TestHeaderWithoutBid(t *testing.T) {
	if answer := ask(t, &fakePorts{}, goodHeaderPath(), "", nil); answer.Code != 204 || answer.Body.Len() != 0 {
		t.Errorf("%d %q", answer.Code, answer.Body)
	}
}

func TestHeaderPassesRefusalsOn(t *testing.T) {
	wantRefusal(t, ask(t, &fakePorts{err: relay.SlotTooOld.Plain()}, goodHeaderPath(), "", nil), relay.SlotTooOld)
	wantRefusal(t, ask(t, &fakePorts{err: errors.New("secret")}, goodHeaderPath(), "", nil), relay.Internal)
}

// The first fault in the order Accept, slot, public key, hash is the one that is told (decision 6).
func TestHeaderRefusesMalformedRequests(t *testing.T) {
	hash, key := fmt.Sprintf("%#x", testKey.ParentHash[:]), fmt.Sprintf("%#x", testKey.Proposer[:])
	for name, row := range map[string]struct {
		path, headers string
		want          relay.Refusal
	}{
		"all wrong":             {headerPath("x", "x", "x"), "Accept: text/html", relay.NotAcceptable},
		"all of the path":       {headerPath("x", "x", "x"), "", relay.InvalidSlot},
		"key and hash":          {headerPath("65", "x", "x"), "", relay.InvalidPubkey},
		"a negative slot":       {headerPath("-1", hash, key), "", relay.InvalidSlot},
		"a slot with a sign":    {headerPath("+1", hash, key), "", relay.InvalidSlot},
		"a slot in hex":         {headerPath("0x41", hash, key), "", relay.InvalidSlot},
		"a slot beyond 2^64":    {headerPath("18446744073709551616", hash, key), "", relay.InvalidSlot},
		"a slot that is none":   {headerPath("abc", hash, key), "", relay.InvalidSlot},
		"a slot with a point":   {headerPath("1.0", hash, key), "", relay.InvalidSlot},
		"a slot that is blank":  {headerPath("%20", hash, key), "", relay.InvalidSlot},
		"an empty key":          {headerPath("65", hash, "0x"), "", relay.InvalidPubkey},
		"a key in other digits": {headerPath("65", hash, "0x"+strings.Repeat("zz", 48)), "", relay.InvalidPubkey},
		"an empty hash":         {headerPath("65", "0x", key), "", relay.InvalidHash},
		"a hash without 0x":     {headerPath("65", hash[2:], key), "", relay.InvalidHash},
		"a hash of 33 bytes":    {headerPath("65", hash+"00", key), "", relay.InvalidHash},
		"JSON refused":          {goodHeaderPath(), "Accept: application/json;q=0", relay.NotAcceptable},
		"nothing wanted": {
			goodHeaderPath(), "Accept: application/json;q=0,application/octet-stream;q=0", relay.NotAcceptable,
		},
		"a key of 47 bytes":    {headerPath("65", hash, key[:96]), "", relay.InvalidPubkey},
		"a key of 49 bytes":    {headerPath("65", hash, key+"00"), "", relay.InvalidPubkey},
		"a key without 0x":     {headerPath("65", hash, key[2:]+"00"), "", relay.InvalidPubkey},
		"a key of other signs": {headerPath("65", hash, key[:97]+"g"), "", relay.InvalidPubkey},
		"a hash of 31 bytes":   {headerPath("65", hash[:64], key), "", relay.InvalidHash},
		"a hash of other signs": {
			headerPath("65", hash[:65]+"%20", key), "", relay.InvalidHash,
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := &fakePorts{bid: testBid}
			wantRefusal(t, ask(t, d, row.path, row.headers, nil), row.want)
			if !d.untouched() {
				t.Error("the ports were asked all the same")
			}
		})
	}
}

func TestClientDeadline(t *testing.T) {
	for headers, want := range map[string]time.Time{
		"X-Timeout-Ms: 950\nDate-Milliseconds: 1700000000123": time.UnixMilli(1700000001073),
		"X-Timeout-Ms: 0\nDate-Milliseconds: 1700000000123":   time.UnixMilli(1700000000123),
		"X-Timeout-Ms: 950":                                      {},
		"Date-Milliseconds: 1700000000123":                       {},
		"X-Timeout-Ms: soon\nDate-Milliseconds: 1700000000123":   {},
		"X-Timeout-Ms: -1\nDate-Milliseconds: 1700000000123":     {},
		"X-Timeout-Ms: 950\nDate-Milliseconds: today":            {},
		"X-Timeout-Ms: 950\nDate-Milliseconds: -1":               {},
		"X-Timeout-Ms: 99999999\nDate-Milliseconds: 17000000001": {},
	} {
		d := &fakePorts{bid: testBid}
		if answer := ask(t, d, goodHeaderPath(), headers, nil); answer.Code != 200 || !d.deadline.Equal(want) {
			t.Errorf("%q: %d, deadline %v, want %v", headers, answer.Code, d.deadline, want)
		}
	}
}
