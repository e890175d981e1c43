package jsonrpc

import (
	"crypto/ecdsa"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"
	"pgregory.net/rapid"
)

var order = crypto.S256().Params().N

// keyOf is the key with a number.
func keyOf(t testing.TB, number *big.Int) *ecdsa.PrivateKey {
	t.Helper()
	key, err := crypto.ToECDSA(common.BigToHash(number).Bytes())
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func pointOf(key *ecdsa.PrivateKey) [64]byte {
	return [64]byte(crypto.FromECDSAPub(&key.PublicKey)[1:])
}

func signed(t testing.TB, key *ecdsa.PrivateKey, digest common.Hash) [crypto.SignatureLength]byte {
	t.Helper()
	signature, err := crypto.Sign(digest[:], key)
	if err != nil {
		t.Fatal(err)
	}
	return [crypto.SignatureLength]byte(signature)
}

// recovers says whether recovering leads to a key.
func recovers(key *ecdsa.PrivateKey, digest common.Hash, signature [crypto.SignatureLength]byte) bool {
	found, err := crypto.Ecrecover(digest[:], signature[:])
	return err == nil && [64]byte(found[1:]) == pointOf(key)
}

// numbers are those at the edges of the curve's order and of the tables' digits.
func numbers() []*big.Int {
	// The number by which the curve's endomorphism multiplies.
	lambda, _ := new(big.Int).SetString("5363ad4cc05c30e0a5261c028812645a122e22ea20816678df02967c1b23bd72", 16)
	all := []*big.Int{lambda, new(big.Int).Rsh(order, 1), new(big.Int).Sub(order, lambda)}
	for _, power := range []uint{0, 1, 5, 6, 7, 8, 9, 64, 127, 128, 129, 192, 255} {
		whole := new(big.Int).Lsh(big.NewInt(1), power)
		all = append(all, whole, new(big.Int).Sub(order, whole))
		if power > 0 {
			all = append(all, new(big.Int).Add(whole, big.NewInt(1)), new(big.Int).Sub(whole, big.NewInt(1)))
		}
	}
	return all
}

// A key's table finds what its key signed, for keys and digests at the edges.
func TestEdges(t *testing.T) {
	digests := append(numbers(), new(big.Int), order, new(big.Int).Add(order, big.NewInt(1)))
	for _, number := range numbers() {
		key := keyOf(t, number)
		known := newTable(pointOf(key))
		for _, d := range digests {
			if digest := common.BigToHash(d); !known.hasSigned(digest, signed(t, key, digest)) {
				t.Fatalf("key %x, digest %x: its own signature is not found", number, digest)
			}
		}
	}
}

// Signatures that nobody makes, with nonces 1 and 2 and any s, are found as well: points to add are
// equal, opposite, or nothing at all then.
func TestMadeUp(t *testing.T) {
	for _, number := range numbers() {
		key := keyOf(t, number)
		known := newTable(pointOf(key))
		for i, s := range numbers() {
			nonce := big.NewInt(int64(i%2 + 1))
			r := keyOf(t, nonce).X
			signature := [crypto.SignatureLength]byte(append(append(common.BigToHash(r).Bytes(),
				common.BigToHash(s).Bytes()...), byte(keyOf(t, nonce).Y.Bit(0))))
			// s*nonce = digest + r*key makes it a signature; digest + r*key = 0 leads to no point.
			digest := new(big.Int).Mul(r, number)
			nothing := new(big.Int).Mod(new(big.Int).Neg(digest), order)
			digest.Mod(digest.Sub(new(big.Int).Mul(s, nonce), digest), order)
			if !known.hasSigned(common.BigToHash(digest), signature) {
				t.Fatalf("key %x, digest %x, signature %x is not found", number, digest, signature)
			}
			same(t, known, key, common.BigToHash(nothing), signature)
			for v := range byte(4) {
				signature[crypto.RecoveryIDOffset] = v
				same(t, known, key, common.BigToHash(digest), signature)
			}
		}
	}
}

// same wants a table to find what recovering finds.
func same(t testing.TB, known *table, key *ecdsa.PrivateKey, digest common.Hash,
	signature [crypto.SignatureLength]byte) {
	t.Helper()
	want := recovers(key, digest, signature)
	if signature[crypto.RecoveryIDOffset] > 1 {
		want = false // it is left to recovering
	}
	if got := known.hasSigned(digest, signature); got != want {
		t.Fatalf("key %x, digest %x, signature %x: %v, recovering says %v", pointOf(key), digest, signature, got, want)
	}
}

// No r or s that is 0 or beyond the order is a signature, even if it is one modulo the order.
func TestRange(t *testing.T) {
	key, digest := keyOf(t, big.NewInt(7)), common.Hash{31: 9}
	known, good := newTable(pointOf(key)), signed(t, key, digest)
	if !known.hasSigned(digest, good) {
		t.Fatal("the signature is not found")
	}
	most := common.MaxHash.Big()
	for at, whole := range map[int]*big.Int{0: order, 32: order} {
		for _, number := range []*big.Int{new(big.Int), whole, most, new(big.Int).Add(whole, big.NewInt(1)),
			crypto.S256().Params().P} {
			bad := good
			copy(bad[at:at+32], common.BigToHash(number).Bytes())
			same(t, known, key, digest, bad)
			if known.hasSigned(digest, bad) {
				t.Errorf("%x at %d", number, at)
			}
		}
	}
}

// Whatever is changed, a table says what recovering says.
func TestAsRecovering(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		key := keyOf(t, new(big.Int).SetBytes(rapid.SliceOfN(rapid.ByteRange(1, 0xfe), 1, 32).Draw(rt, "key")))
		known := newTable(pointOf(key))
		for i := range 20 {
			digest := common.Hash(rapid.SliceOfN(rapid.Byte(), 32, 32).Draw(rt, fmt.Sprint("digest ", i)))
			signature := signed(t, key, digest)
			if !known.hasSigned(digest, signature) {
				rt.Fatalf("%x of %x is not found", signature, digest)
			}
			bit := rapid.IntRange(0, 8*(32+crypto.SignatureLength)-1).Draw(rt, "bit")
			if bit < 256 {
				digest[bit/8] ^= 1 << (bit % 8)
			} else {
				signature[bit/8-32] ^= 1 << (bit % 8)
			}
			same(t, known, key, digest, signature)
		}
	})
}

// What is no point of the curve gets no table.
func TestNoPoint(t *testing.T) {
	good := pointOf(keyOf(t, big.NewInt(1)))
	if newTable(good) == nil {
		t.Error("the generator is a point")
	}
	for _, at := range []int{31, 63} {
		bad := good
		bad[at] ^= 1
		if newTable(bad) != nil {
			t.Errorf("%x is no point", bad)
		}
	}
	if newTable([64]byte{}) != nil {
		t.Error("0 is no point")
	}
}

// A key gets its table with its 20th signature, and who signs with others' names gets none. The
// answer is the same before and after.
func TestRecover(t *testing.T) {
	known, key := NewSigners(2), keyOf(t, big.NewInt(77))
	address, other := crypto.PubkeyToAddress(key.PublicKey), common.Address{1}
	for i := range 2 * worthTable {
		digest := common.Hash{byte(i)}
		signature := signed(t, key, digest)
		if signer, ok := known.Recover(other, digest, signature); !ok || signer != address {
			t.Fatalf("%v, %v", signer, ok)
		}
		if known.tables.Contains(address) != (i >= worthTable) {
			t.Fatalf("after %d signatures a table: %v", i, known.tables.Contains(address))
		}
		if signer, ok := known.Recover(address, digest, signature); !ok || signer != address {
			t.Fatalf("%v, %v", signer, ok)
		}
		signature[5] ^= 1
		if signer, _ := known.Recover(address, digest, signature); signer == address {
			t.Fatal("another signature is taken for its own")
		}
	}
	if known.tables.Contains(other) || known.seen.Contains(other) {
		t.Error("a key that signed nothing is remembered")
	}
	if _, ok := known.Recover(address, common.Hash{}, [crypto.SignatureLength]byte{}); ok {
		t.Error("nothing is no signature")
	}
}

// There are never more tables than may be; those of the keys that signed last stay.
func TestBound(t *testing.T) {
	known, digest := NewSigners(3), common.Hash{1}
	for number := range int64(8) {
		key := keyOf(t, big.NewInt(number+1))
		for range worthTable {
			known.Recover(crypto.PubkeyToAddress(key.PublicKey), digest, signed(t, key, digest))
		}
	}
	for number := range int64(8) {
		address := crypto.PubkeyToAddress(keyOf(t, big.NewInt(number+1)).PublicKey)
		if known.tables.Contains(address) != (number >= 5) {
			t.Errorf("key %d: %v", number+1, known.tables.Contains(address))
		}
	}
}

func TestManyAtATime(t *testing.T) {
	known, digest := NewSigners(2), common.Hash{1}
	var working sync.WaitGroup
	for n := range 8 {
		key := keyOf(t, big.NewInt(int64(n%3+1)))
		address, signature := crypto.PubkeyToAddress(key.PublicKey), signed(t, key, digest)
		working.Go(func() {
			for range 3 * worthTable {
				if signer, ok := known.Recover(address, digest, signature); !ok || signer != address {
					t.Errorf("%v, %v", signer, ok)
				}
			}
		})
	}
	working.Wait()
	if known.tables.Len() != 2 {
		t.Errorf("%d tables", known.tables.Len())
	}
}

// Nobody edits the C source: what is mended upstream comes as a new version.
func TestSourceIsAsPublished(t *testing.T) {
	listed, err := os.ReadFile("libsecp256k1.sha256")
	if err != nil {
		t.Fatal(err)
	}
	var found strings.Builder
	err = filepath.WalkDir("libsecp256k1", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		fmt.Fprintf(&found, "%x  %s\n", sha256.Sum256(text), strings.TrimPrefix(filepath.ToSlash(path), "libsecp256k1/"))
		return err
	})
	if err != nil || found.String() != string(listed) {
		t.Errorf("%v; the folder has\n%swant\n%s", err, found.String(), listed)
	}
}

// FuzzHasSigned compares with recovering.
func FuzzHasSigned(f *testing.F) {
	key := keyOf(f, big.NewInt(99))
	known := newTable(pointOf(key))
	for _, number := range numbers() {
		signature := signed(f, key, common.BigToHash(number))
		f.Add(common.BigToHash(number).Bytes(), signature[:])
	}
	f.Fuzz(func(t *testing.T, digest, signature []byte) {
		if len(digest) == common.HashLength && len(signature) == crypto.SignatureLength {
			same(t, known, key, common.Hash(digest), [crypto.SignatureLength]byte(signature))
		}
	})
}

func BenchmarkRecover(b *testing.B) {
	key, digest := keyOf(b, big.NewInt(99)), common.Hash{1}
	address, signature := crypto.PubkeyToAddress(key.PublicKey), signed(b, key, digest)
	for name, claimed := range map[string]common.Address{"known": address, "unknown": {}} {
		b.Run(name, func(b *testing.B) {
			known := NewSigners(1)
			for range worthTable {
				known.Recover(claimed, digest, signature)
			}
			b.ReportAllocs()
			for b.Loop() {
				if _, ok := known.Recover(claimed, digest, signature); !ok {
					b.Fatal("no signer")
				}
			}
		})
	}
	b.Run("table", func(b *testing.B) {
		for b.Loop() {
			newTable(pointOf(key))
		}
	})
}

// BenchmarkManySigners has as many signers as caches have no room for.
func BenchmarkManySigners(b *testing.B) {
	known := NewSigners(200)
	type request struct {
		claimed   common.Address
		digest    common.Hash
		signature [crypto.SignatureLength]byte
	}
	var requests []request
	for n := range int64(200) {
		key, digest := keyOf(b, big.NewInt(n+5)), common.Hash{byte(n)}
		r := request{crypto.PubkeyToAddress(key.PublicKey), digest, signed(b, key, digest)}
		for range worthTable {
			known.Recover(r.claimed, r.digest, r.signature)
		}
		requests = append(requests, r)
	}
	for i := 0; b.Loop(); i++ {
		r := requests[i%len(requests)]
		if _, ok := known.Recover(r.claimed, r.digest, r.signature); !ok {
			b.Fatal("no signer")
		}
	}
}
