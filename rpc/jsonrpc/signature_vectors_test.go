package jsonrpc_test

import (
	"crypto/ecdsa"
	"os"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"

	"github.com/gavel-relay/gavel/rpc"
	"github.com/gavel-relay/gavel/rpc/jsonrpc"
)

// vector is one part of testdata/vectors/signature.txt: its fields by name.
type vector struct {
	name   string
	fields map[string]string
}

// vectors reads the file. A part begins with "## " or "NEG-", a field is a name and the rest of its
// line.
func vectors(t testing.TB) (good, bad []vector) {
	t.Helper()
	text, err := os.ReadFile("testdata/vectors/signature.txt")
	if err != nil {
		t.Fatal(err)
	}
	var fields map[string]string
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		if name, isGood := strings.CutPrefix(line, "## "); isGood {
			fields = map[string]string{}
			good = append(good, vector{name, fields})
		} else if strings.HasPrefix(line, "NEG-") {
			fields = map[string]string{}
			bad = append(bad, vector{line, fields})
		} else if name, value, ok := strings.Cut(strings.TrimSpace(line), " "); ok && fields != nil {
			name, _, _ = strings.Cut(name, "(") // sig(v0/1) keeps its manner below
			if strings.Contains(line, "sig(v27/28)") {
				name = "sig27"
			}
			fields[name] = strings.TrimSpace(value)
		}
	}
	if len(good) != 6 || len(bad) != 6 {
		t.Fatalf("%d and %d vectors", len(good), len(bad))
	}
	return good, bad
}

func (v vector) key(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	key, err := crypto.HexToECDSA(strings.TrimPrefix(v.fields["key"], "0x"))
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func TestGoodVectors(t *testing.T) {
	good, _ := vectors(t)
	for _, v := range good {
		t.Run(v.name, func(t *testing.T) {
			body, want := []byte(v.fields["body"]), common.HexToAddress(v.fields["address"])
			for _, header := range []string{
				v.fields["header"],
				v.fields["address"] + ":" + v.fields["sig"],
				v.fields["address"] + ":" + v.fields["sig27"],
			} {
				if signer, refused := strict.Verify(header, body); refused != nil || signer != want {
					t.Errorf("%s: %v, %v", header, signer, refused)
				}
			}
			if got := jsonrpc.SignatureHeader(v.key(t), body); got != v.fields["header"] {
				t.Errorf("signs\n%s, want\n%s", got, v.fields["header"])
			}
		})
	}
}

func TestBadVectors(t *testing.T) {
	good, bad := vectors(t)
	v2 := good[1]
	for i, want := range []struct {
		refusal rpc.Refusal
		detail  string
	}{
		{rpc.SignatureMismatch, "the raw body was signed; sign the hex text of its Keccak-256"},
		{rpc.SignatureMismatch, "the 32 bytes of the body's Keccak-256 were signed; sign their hex text"},
		{rpc.SignatureMismatch, "signed without its 0x; put 0x in front"},
		{rpc.SignatureMismatch, "signed in capitals; write it in lower case"},
		{rpc.SignatureMismatch, "signed as it is; sign its hex text as a personal message"},
		{rpc.SignatureMalformed, "high s"},
	} {
		t.Run(bad[i].name, func(t *testing.T) {
			_, refused := strict.Verify(v2.fields["address"]+":"+bad[i].fields["sig"], []byte(v2.fields["body"]))
			if refused == nil || refused.ID != want.refusal.ID || !strings.Contains(refused.Detail, want.detail) {
				t.Fatalf("got %v, want %s with %q", refused, want.refusal.ID, want.detail)
			}
			if refused.ID == rpc.SignatureMismatch.ID && !strings.Contains(refused.Detail, "header says "+v2.fields["address"]) {
				t.Errorf("does not tell the addresses: %v", refused)
			}
		})
	}
}
