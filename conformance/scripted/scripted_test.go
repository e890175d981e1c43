package scripted

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/conformance/probe"
	"github.com/gavel-relay/gavel/internal/eth"
)

func exchange(t *testing.T, r *Relay, method, path string, body string, header http.Header) *httptest.ResponseRecorder {
	t.Helper()
	request := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body))
	request.Header = header
	w := httptest.NewRecorder()
	r.ServeHTTP(w, request)
	return w
}

// A rule counts for its endpoint and subject alone, the newest first, until it is withdrawn; and
// what a relay was sent is told by both.
func TestRules(t *testing.T) {
	r := &Relay{Key: probe.DeriveBLSKey("x")}
	ask := func(parent string) int {
		return exchange(t, r, "GET", "/eth/v1/builder/header/5/0x"+parent+"/0x00", "", http.Header{}).Code
	}
	if got := ask("abcd"); got != http.StatusNoContent {
		t.Errorf("%d without a rule, want 204", got)
	}
	r.On(Header, []byte{0xab, 0xcd}, Say(http.StatusTeapot))
	withdraw := r.On(Header, []byte{0xab, 0xcd}, Refuse(http.StatusGone))
	r.On(PayloadV1, []byte{0xab, 0xcd}, Say(http.StatusOK))
	if got := ask("ABCD"); got != http.StatusGone {
		t.Errorf("%d, want the answer of the newest rule", got)
	}
	if got := ask("abce"); got != http.StatusNoContent {
		t.Errorf("%d for another subject, want 204", got)
	}
	withdraw()
	if got := ask("abcd"); got != http.StatusTeapot {
		t.Errorf("%d, want the answer of the rule that is left", got)
	}
	if n := len(r.Heard(Header, []byte{0xab, 0xcd})); n != 3 {
		t.Errorf("%d requests about the subject, want 3", n)
	}
	if n := len(r.Heard(PayloadV1, nil)); n != 0 {
		t.Errorf("%d requests at another endpoint", n)
	}
	// a body names its subject in bytes or in text
	r.On(PayloadV2, []byte{0xab, 0xcd, 0xef, 1}, Say(http.StatusAccepted))
	for _, body := range []string{`{"block_hash":"0xABcdef01"}`, "\x00\xab\xcd\xef\x01\x00"} {
		got := exchange(t, r, "POST", "/eth/v2/builder/blinded_blocks", body, http.Header{}).Code
		if got != http.StatusAccepted {
			t.Errorf("%d for %q, want 202", got, body)
		}
	}
	if got := exchange(t, r, "GET", "/eth/v2/builder/blinded_blocks", "", http.Header{}).Code; got != http.StatusNotFound {
		t.Errorf("%d for another method, want 404", got)
	}
}

// In every fork an honest bid is signed by its relay for the network, its payload has the root of
// its header, and both encodings are the same bid.
func TestHonestBids(t *testing.T) {
	for _, fork := range eth.Forks() {
		t.Run(fork.String(), func(t *testing.T) {
			n := Mainnet(fork)
			a := Auction{Slot: 7, Parent: phase0.Hash32{1}, Proposer: probe.DeriveBLSKey("p"), Timestamp: n.Start(7), Fork: fork}
			key := probe.DeriveBLSKey("r")
			p := a.Payload("one")
			bid := a.Sign(a.Bid(p, key.Public, uint256.NewInt(9)), key, n.BuilderDomain())
			root, err := probe.BidRoot(fork, bid.Message)
			if err != nil {
				t.Fatal(err)
			}
			if err := probe.VerifyBLS(key.Public, probe.SigningRoot(root, n.BuilderDomain()), bid.Signature); err != nil {
				t.Error(err)
			}
			header, err := probe.HeaderRoot(fork, bid.Message.Header)
			if want, _ := probe.PayloadRoot(fork, p); err != nil || header != want {
				t.Errorf("root %v of the header, %v of the payload: %v", header, want, err)
			}
			if a.Payload("two").BlockHash == p.BlockHash {
				t.Error("payloads of two names are one block")
			}
			r := &Relay{Key: key}
			r.On(Header, a.Parent[:], Document(fork, probe.Bid(fork, bid), Negotiated))
			path := "/eth/v1/builder/header/7/" + a.Parent.String() + "/0x00"
			ssz := exchange(t, r, "GET", path, "", http.Header{"Accept": {sszType + ";q=1," + jsonType + ";q=0.9"}})
			got, err := probe.ReadBid(fork, ssz.Header().Get("Content-Type"), ssz.Body.Bytes())
			if err != nil || got.Signature != bid.Signature || ssz.Header().Get(versionHeader) != fork.String() {
				t.Errorf("SSZ: %v, %v", got, err)
			}
			text := exchange(t, r, "GET", path, "", http.Header{"Accept": {jsonType}}).Body.String()
			if !strings.Contains(text, `"version":"`+fork.String()+`"`) || strings.Contains(text, "null") {
				t.Errorf("JSON: %s", text)
			}
			if _, err := probe.Blinded(fork, a.Blind(bid)).MarshalSSZ(); err != nil {
				t.Error(err)
			}
			if _, err := a.Revealed(p).MarshalJSON(); err != nil {
				t.Error(err)
			}
		})
	}
}

// Relays listen one port after another, tell their keys in their addresses, and end with Close also
// for who waits.
func TestRelaysListenAndClose(t *testing.T) {
	relays, err := Open(Config{Network: Mainnet(eth.Fulu)})
	if err != nil {
		t.Fatal(err)
	}
	hung := relays.All[0]
	asked := make(chan struct{})
	hung.On(Status, nil, func(ctx context.Context, w http.ResponseWriter, a Asked) {
		close(asked)
		Hang(ctx, w, a)
	})
	ended := make(chan error, 1)
	go func() {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, relays.URLs()[0]+
			"/eth/v1/builder/status", nil)
		if err != nil {
			ended <- err
			return
		}
		response, err := http.DefaultClient.Do(request)
		if err == nil {
			_, err = io.Copy(io.Discard, response.Body)
			_ = response.Body.Close()
		}
		ended <- err
	}()
	<-asked
	if err := relays.Close(); err != nil {
		t.Error(err)
	}
	if err := <-ended; err == nil || errors.Is(err, context.Canceled) {
		t.Errorf("who waits is told %v", err)
	}
	if at, err := nth("127.0.0.1:9200", 2); err != nil || at != "127.0.0.1:9202" {
		t.Errorf("the third relay listens at %s, %v", at, err)
	}
}

func TestSlots(t *testing.T) {
	n := Mainnet(eth.Fulu)
	for _, slot := range []phase0.Slot{0, 1, 13_000_000} {
		begin := n.Start(slot)
		if got := n.At(begin); got != slot {
			t.Errorf("slot %d at the start of %d", got, slot)
		}
		if got := n.At(begin.Add(n.Slot - time.Nanosecond)); got != slot {
			t.Errorf("slot %d at the end of %d", got, slot)
		}
	}
}
