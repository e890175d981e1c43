package probe_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/ethereum/go-ethereum/crypto"

	"github.com/gavel-relay/gavel/conformance/probe"
)

// The signature header is that of the vector which is published with other clients (docs/spec.md,
// Signature acceptance 5).
func TestBodySignature(t *testing.T) {
	key, err := crypto.HexToECDSA("fad9c8855b740a0b7ed4c221dbad0f33a83a49cad6b3fe8d5817ac83d38b6a19")
	if err != nil {
		t.Fatal(err)
	}
	want := "0x96216849c49358B10257cb55b28eA603c874b05E:" +
		"0x1446053488f02d460c012c84c4091cd5054d98c6cfca01b65f6c1a72773e80e60b8a4931aeee7ed18ce3adb45b2107e8c59e25556c1f871" +
		"a8334e30e5bddbed2"
	got := probe.BodySignature(key, []byte("Hello"))
	if !strings.HasPrefix(got, want) {
		t.Errorf("got %s, want %s", got, want)
	}
	body := []byte("body")
	if probe.BodySignature(key, body) != probe.SignatureOf(key, fmt.Appendf(nil, "%#x", crypto.Keccak256(body))) {
		t.Error("a body is not signed by the text of its hash")
	}
}

// The builder domain of mainnet is known to everybody.
func TestDomain(t *testing.T) {
	got := probe.Domain(probe.DomainBuilder, phase0.Version{}, phase0.Root{})
	if want := "0x00000001f5a5fd42d16a20302798ef6ed309979b43003d2320d9f0e8ea9831a9"; fmt.Sprintf("%#x", got[:]) != want {
		t.Errorf("got %#x, want %s", got[:], want)
	}
}

func TestBLS(t *testing.T) {
	key, other := probe.DeriveBLSKey("one"), probe.DeriveBLSKey("other")
	root := phase0.Root{1, 2, 3}
	signature := key.Sign(root)
	if err := probe.VerifyBLS(key.Public, root, signature); err != nil {
		t.Error(err)
	}
	for name, err := range map[string]error{
		"another key":     probe.VerifyBLS(other.Public, root, signature),
		"another message": probe.VerifyBLS(key.Public, phase0.Root{9}, signature),
		"no signature":    probe.VerifyBLS(key.Public, root, phase0.BLSSignature{}),
		"no key":          probe.VerifyBLS(phase0.BLSPubKey{}, root, signature),
	} {
		if err == nil {
			t.Errorf("%s verifies", name)
		}
	}
}

// A client shows answers as they came, and the recorder keeps them.
func TestClient(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/elsewhere":
			http.Redirect(w, r, "/", http.StatusFound)
		case "/stream":
			_, _ = fmt.Fprint(w, ":ping\n\ndata: {\"n\":1}\n\n")
		default:
			w.Header().Set("X-Encoding", r.Header.Get("Accept-Encoding"))
			_, _ = w.Write([]byte("\xff\x00"))
		}
	}))
	defer server.Close()
	recorder := probe.NewRecorder(time.Now())
	client := probe.NewClient(server.URL+"/", recorder, time.Second)
	answer, err := client.Do(t.Context(), probe.Request{Method: "POST", Path: "/x",
		Header: map[string]string{"A": "b", "Empty": ""}, Body: []byte("it's")})
	if err != nil || answer.Status != 200 || answer.Header.Get("X-Encoding") != "" {
		t.Errorf("%v %v", answer, err)
	}
	if moved, err := client.Do(t.Context(), probe.Request{Method: "GET", Path: "/elsewhere"}); err != nil ||
		moved.Status != http.StatusFound {
		t.Errorf("a redirect was followed: %v %v", moved, err)
	}
	stream, err := client.Open(t.Context(), "/stream", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	if event, found := stream.Wait(time.Second, func(string) bool { return true }); !found || event != `{"n":1}` {
		t.Errorf("event %q, found %v", event, found)
	}
	kept := recorder.Exchanges()
	if len(kept) != 3 || kept[0].Said.Body != "0xff00" || !strings.Contains(kept[0].Curl(), `--data-binary 'it'\''s'`) {
		t.Errorf("%+v", kept)
	}
	server.Close()
	if _, err := client.Do(t.Context(), probe.Request{Method: "GET", Path: "/"}); err == nil {
		t.Error("a closed server answers")
	}
}
