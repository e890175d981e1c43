package app

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/accounts"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/crypto"
)

// Each request carries the signature of its own body by the client's key.
func TestRequestsAreSigned(t *testing.T) {
	key, err := crypto.GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		address, signature, _ := strings.Cut(r.Header.Get("X-Flashbots-Signature"), ":")
		raw, err := hexutil.Decode(signature)
		if err != nil {
			t.Error(err)
		}
		public, err := crypto.SigToPub(accounts.TextHash([]byte(crypto.Keccak256Hash(body).Hex())), raw)
		if err != nil || crypto.PubkeyToAddress(*public).Hex() != address || !public.Equal(&key.PublicKey) {
			t.Errorf("%s is signed by %s: %v", body, address, err)
		}
		var request struct{ ID json.RawMessage }
		if err := json.Unmarshal(body, &request); err != nil {
			t.Error(err)
		}
		w.Header().Set("Content-Type", "application/json")
		if _, err := io.WriteString(w, `{"jsonrpc":"2.0","id":`+string(request.ID)+`,"result":"good"}`); err != nil {
			t.Error(err)
		}
	}))
	defer server.Close()
	client, err := Dial(t.Context(), server.URL, key)
	if err != nil {
		t.Fatal(err)
	}
	for _, param := range []string{"one", "two"} {
		var answer string
		if err := client.CallContext(t.Context(), &answer, "eth_sendBundle", param); err != nil || answer != "good" {
			t.Errorf("%s: %q, %v", param, answer, err)
		}
	}
	if asked != 2 {
		t.Errorf("asked %d times", asked)
	}
}
