package jsonrpc_test

import (
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"
	"pgregory.net/rapid"

	"github.com/gavel-relay/gavel/rpc"
	"github.com/gavel-relay/gavel/rpc/jsonrpc"
)

// strict is the scheme that a service has unless told otherwise.
var strict = jsonrpc.SignatureScheme{}

// Everything that a header can look like, made of the second vector's address and signature.
func TestVerify(t *testing.T) {
	good, _ := vectors(t)
	address, sig, body := good[1].fields["address"], good[1].fields["sig"], good[1].fields["body"]
	bare, digits := strings.TrimPrefix(address, "0x"), strings.TrimPrefix(sig, "0x")
	rs := digits[:128]
	ok, malformed, mismatch := "", "signature-malformed", "signature-mismatch"
	const noAddress, noPoint = "address is not hex of 20 bytes", "no address can be recovered"
	zero, greatest := strings.Repeat("0", 64), strings.Repeat("f", 64)
	lenient := jsonrpc.SignatureScheme{Lenient0x: true}
	for name, row := range map[string]struct {
		scheme        jsonrpc.SignatureScheme
		header        string
		refusal, says string
	}{
		"v 0":  {header: address + ":0x" + rs + "00", refusal: ok},
		"v 27": {header: address + ":0x" + rs + "1b", refusal: ok},
		"v 1, the other point": {header: address + ":0x" + rs + "01", refusal: mismatch,
			says: "header says " + address},
		"v 2":                     {header: address + ":0x" + rs + "02", refusal: malformed, says: "recovery id 2"},
		"v 3":                     {header: address + ":0x" + rs + "03", refusal: malformed, says: "recovery id 3"},
		"v 26":                    {header: address + ":0x" + rs + "1a", refusal: malformed, says: "recovery id 26"},
		"v 29":                    {header: address + ":0x" + rs + "1d", refusal: malformed, says: "recovery id 29"},
		"v 30":                    {header: address + ":0x" + rs + "1e", refusal: malformed, says: "recovery id 30"},
		"v 37, of a chain":        {header: address + ":0x" + rs + "25", refusal: malformed, says: "recovery id 37"},
		"address in lower case":   {header: strings.ToLower(address) + ":" + sig, refusal: ok},
		"address in upper case":   {header: "0x" + strings.ToUpper(bare) + ":" + sig, refusal: ok},
		"address with a large X":  {header: "0X" + bare + ":" + sig, refusal: ok},
		"address, checksum wrong": {header: "0x" + strings.ToLower(bare[:20]) + bare[20:] + ":" + sig, refusal: ok},
		"address without 0x":      {header: bare + ":" + sig, refusal: ok},
		"address too long":        {header: address + "00:" + sig, refusal: malformed, says: noAddress},
		"address too short":       {header: address[:40] + ":" + sig, refusal: malformed, says: noAddress},
		"address is no hex": {header: "0x" + strings.Repeat("zz", 20) + ":" + sig, refusal: malformed,
			says: noAddress},
		"address of 2 digits": {header: "0xzz:" + sig, refusal: malformed, says: noAddress},
		"no address":          {header: ":" + sig, refusal: malformed, says: noAddress},
		"another's address": {header: "0x" + strings.Repeat("00", 20) + ":" + sig, refusal: mismatch,
			says: "recovered " + address + ", header says 0x0000"},
		"signature in upper case": {header: address + ":0x" + strings.ToUpper(digits), refusal: ok},
		"signature without 0x": {header: address + ":" + digits, refusal: malformed,
			says: "signature does not begin with 0x"},
		"the same, leniently": {scheme: lenient, header: address + ":" + digits, refusal: ok},
		"with 0x, leniently":  {scheme: lenient, header: address + ":" + sig, refusal: ok},
		"signature of 64 bytes": {header: address + ":0x" + rs, refusal: malformed,
			says: "signature has 64 bytes, want 65"},
		"signature of 66 bytes": {header: address + ":" + sig + "00", refusal: malformed,
			says: "signature has 66 bytes, want 65"},
		"signature with half a byte": {header: address + ":" + sig + "0", refusal: malformed,
			says: "odd number of hex digits"},
		"signature is no hex": {header: address + ":0x" + strings.Repeat("zz", 65), refusal: malformed,
			says: "signature is not hex"},
		"signature of nothing": {header: address + ":0x", refusal: malformed, says: "signature has 0 bytes"},
		"no signature":         {header: address + ":", refusal: malformed, says: "does not begin with 0x"},
		"no signature, leniently": {scheme: lenient, header: address + ":", refusal: malformed,
			says: "signature has 0 bytes"},
		"r 0": {header: address + ":0x" + zero + rs[64:] + "00", refusal: malformed, says: noPoint},
		"s 0": {header: address + ":0x" + rs[:64] + zero + "00", refusal: malformed, says: noPoint},
		"r beyond the order": {header: address + ":0x" + greatest + rs[64:] + "00", refusal: malformed,
			says: noPoint},
		"no separator": {header: address + sig, refusal: malformed, says: "missing separator"},
		"two separators": {header: address + ":" + sig + ":", refusal: malformed,
			says: "more than one separator"},
		"separators side by side":    {header: address + "::" + sig, refusal: malformed, says: "more than one separator"},
		"blank before the separator": {header: address + " :" + sig, refusal: malformed, says: noAddress},
		"blank after the separator":  {header: address + ": " + sig, refusal: malformed, says: "does not begin with 0x"},
		"blank at the end":           {header: address + ":" + sig + " ", refusal: malformed, says: "odd number"},
		"two signatures in one header": {header: address + ":" + sig + ", " + address + ":" + sig, refusal: malformed,
			says: "more than one separator"},
		"nothing": {header: "", refusal: "signature-missing"},
	} {
		t.Run(name, func(t *testing.T) {
			signer, refused := row.scheme.Verify(row.header, []byte(body))
			if row.refusal == ok {
				if refused != nil || signer != common.HexToAddress(address) {
					t.Errorf("%v, %v", signer, refused)
				}
				return
			}
			if refused == nil || refused.ID != row.refusal || !strings.Contains(refused.Detail, row.says) {
				t.Errorf("refused with %v, want %s with %q", refused, row.refusal, row.says)
			}
			if signer != (common.Address{}) {
				t.Errorf("refuses and still names %v", signer)
			}
		})
	}
}

// What the scheme's own Recover finds counts, and it is told who is said to have signed.
func TestRecoverOfTheScheme(t *testing.T) {
	good, _ := vectors(t)
	header, body := good[1].fields["header"], []byte(good[1].fields["body"])
	address := common.HexToAddress(good[1].fields["address"])
	for name, row := range map[string]struct {
		found   common.Address
		ok      bool
		refusal string
	}{
		"the signer":     {found: address, ok: true},
		"another signer": {found: common.Address{1}, ok: true, refusal: rpc.SignatureMismatch.ID},
		"nobody":         {refusal: rpc.SignatureMalformed.ID},
	} {
		asked := common.Address{}
		scheme := jsonrpc.SignatureScheme{
			Recover: func(claimed common.Address, _ common.Hash, _ [crypto.SignatureLength]byte) (common.Address, bool) {
				asked = claimed
				return row.found, row.ok
			},
		}
		signer, refused := scheme.Verify(header, body)
		if asked != address || row.refusal == "" && (refused != nil || signer != address) ||
			row.refusal != "" && (refused == nil || refused.ID != row.refusal) {
			t.Errorf("%s: asked for %v, answers %v, %v", name, asked, signer, refused)
		}
	}
}

func TestTerse(t *testing.T) {
	good, bad := vectors(t)
	header, body := good[1].fields["address"]+":"+bad[0].fields["sig"], []byte(good[1].fields["body"])
	_, refused := jsonrpc.SignatureScheme{Terse: true}.Verify(header, body)
	if refused == nil || refused.ID != rpc.SignatureMismatch.ID || strings.Contains(refused.Detail, "signed") {
		t.Errorf("%v", refused)
	}
}

// Whoever changes one bit of what was signed, of the signature or of the address, is refused;
// unchanged it is accepted.
func TestOneBit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		secret := rapid.SliceOfN(rapid.ByteRange(1, 0xfe), 32, 32).Draw(t, "key")
		key, err := crypto.ToECDSA(secret)
		if err != nil {
			t.Fatal(err)
		}
		body := rapid.SliceOfN(rapid.Byte(), 1, 300).Draw(t, "body")
		header := jsonrpc.SignatureHeader(key, body)
		if signer, refused := strict.Verify(header, body); refused != nil || signer != crypto.PubkeyToAddress(key.PublicKey) {
			t.Fatalf("%s: %v, %v", header, signer, refused)
		}
		left, right, _ := strings.Cut(header, ":")
		parts := [][]byte{common.FromHex(left), common.FromHex(right), body}
		part := parts[rapid.IntRange(0, len(parts)-1).Draw(t, "part")]
		bit := rapid.IntRange(0, 8*len(part)-1).Draw(t, "bit")
		part[bit/8] ^= 1 << (bit % 8)
		header = "0x" + hex.EncodeToString(parts[0]) + ":0x" + hex.EncodeToString(parts[1])
		if signer, refused := strict.Verify(header, body); refused == nil {
			t.Fatalf("%v signed %x with %s", signer, body, header)
		}
	})
}

// FuzzVerify wants that no header crashes it, and that who is accepted could have written the
// header himself: the same bytes, in the usual form, are accepted too.
func FuzzVerify(f *testing.F) {
	good, bad := vectors(f)
	for _, v := range good {
		f.Add(v.fields["header"], []byte(v.fields["body"]))
	}
	for _, v := range bad {
		f.Add(good[1].fields["address"]+":"+v.fields["sig"], []byte(good[1].fields["body"]))
	}
	f.Fuzz(func(t *testing.T, header string, body []byte) {
		signer, refused := jsonrpc.SignatureScheme{Lenient0x: true}.Verify(header, body)
		if refused != nil {
			if jsonrpc.Statuses[refused.ID] != 403 || signer != (common.Address{}) {
				t.Fatalf("%s %v", refused.ID, signer)
			}
			return
		}
		_, signature, _ := strings.Cut(strings.ToLower(header), ":")
		usual := fmt.Sprintf("%v:0x%s", signer, strings.TrimPrefix(signature, "0x"))
		if again, refused := strict.Verify(usual, body); refused != nil || again != signer {
			t.Fatalf("%q is %v, %q is %v, %v", header, signer, usual, again, refused)
		}
	})
}

func BenchmarkVerify(b *testing.B) {
	key, err := crypto.HexToECDSA(strings.Repeat("01", 32))
	if err != nil {
		b.Fatal(err)
	}
	body := []byte(strings.Repeat("x", 2000))
	header := jsonrpc.SignatureHeader(key, body)
	b.Run("whole", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, refused := strict.Verify(header, body); refused != nil {
				b.Fatal(refused)
			}
		}
	})
	// The part that no other way of writing this room could save.
	b.Run("recover", func(b *testing.B) {
		digest, signature := make([]byte, 32), common.FromHex(header[strings.Index(header, ":")+1:])
		signature[64] -= 27
		for b.Loop() {
			if _, err := crypto.Ecrecover(digest, signature); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("mistake explained", func(b *testing.B) {
		for b.Loop() {
			if _, refused := strict.Verify(header, body[1:]); refused == nil {
				b.Fatal("accepted")
			}
		}
	})
}
