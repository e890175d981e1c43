package jsonrpc

/*
#cgo CFLAGS: -I${SRCDIR}/libsecp256k1
#cgo noescape gavel_fill_generator
#cgo nocallback gavel_fill_generator
#cgo noescape gavel_fill_key
#cgo nocallback gavel_fill_key
#cgo noescape gavel_has_signed
#cgo nocallback gavel_has_signed
#include "keytable.h"
*/
import "C"

import (
	"sync"
	"sync/atomic"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/lru"
	"github.com/ethereum/go-ethereum/crypto"
)

// worthTable is how many signatures of a key are recovered before it gets a table. An enemy who
// signs with ever new keys makes us work a third more than without tables: 7 recoveries beside 20.
const worthTable = 20

// Signers finds out whose key made a secp256k1 signature, in less than half the time if that key
// has signed often. It is safe for concurrent use.
//
// Recovering a key from a signature doubles a point 128 times. With a table of the key's multiples
// nothing has to be doubled, but a table takes 45 kB and the time of seven recoveries. So a key
// gets one after it has signed some requests, and the tables of the keys that signed last are kept.
//
// The arithmetic is that of libsecp256k1, whose C source is in the folder libsecp256k1, as
// go-ethereum 1.17.10 has it (version 0.6.0 and later commits, MIT licence, libsecp256k1/COPYING).
// What is there is not edited: libsecp256k1.sha256 has its checksums, and a test holds them.
// keytable.c is ours.
type Signers struct {
	tables *lru.Cache[common.Address, *table]
	// seen counts the signatures of keys without a table.
	seen *lru.Cache[common.Address, *atomic.Int32]
	// filling is held while a table is made, so that at most one processor does.
	filling sync.Mutex
}

// NewSigners makes Signers that keep at most so many tables, 45 kB each.
func NewSigners(tables int) *Signers {
	return &Signers{
		tables: lru.NewCache[common.Address, *table](tables),
		seen:   lru.NewCache[common.Address, *atomic.Int32](8 * tables),
	}
}

// Recover returns the address of the key that made a signature (r, s and the recovery id, 0 to 3)
// of a digest, as crypto.Ecrecover finds it; ok is false if there is none. claimed is who is said
// to have signed: that only decides what is tried first.
func (s *Signers) Recover(claimed common.Address, digest common.Hash, signature [crypto.SignatureLength]byte) (
	signer common.Address, ok bool,
) {
	if known, found := s.tables.Get(claimed); found && known.hasSigned(digest, signature) {
		return claimed, true
	}
	point, ok := recoverKey(digest, signature)
	if !ok {
		return common.Address{}, false
	}
	hash := crypto.Keccak256Hash(point[:])
	signer = common.BytesToAddress(hash[12:])
	if signer == claimed {
		s.learn(signer, point)
	}
	return signer, true
}

// recoverKey returns a key's x and y.
func recoverKey(digest common.Hash, signature [crypto.SignatureLength]byte) (point [64]byte, ok bool) {
	key, err := crypto.Ecrecover(digest[:], signature[:])
	if err != nil {
		return point, false
	}
	return [64]byte(key[1:]), true // without the 0x04 of an uncompressed point
}

// learn counts a signature, and makes a table if there have been enough.
func (s *Signers) learn(signer common.Address, point [64]byte) {
	seen, found := s.seen.Get(signer)
	if !found {
		seen = new(atomic.Int32)
		s.seen.Add(signer, seen)
	}
	if seen.Add(1) < worthTable || !s.filling.TryLock() {
		return
	}
	defer s.filling.Unlock()
	if s.tables.Contains(signer) { // another request of the same signer has made it
		return
	}
	if made := newTable(point); made != nil {
		s.tables.Add(signer, made)
	}
	s.seen.Remove(signer)
}

// table has the multiples of a key. It is immutable.
type table struct{ words []uint64 }

// newTable makes the table of a key, which is a point: x and y. It returns nil if the curve has no
// such point.
func newTable(key [64]byte) *table {
	t := &table{make([]uint64, int(C.gavel_key_words))}
	if C.gavel_fill_key((*C.uint64_t)(&t.words[0]), (*C.uchar)(&key[0])) == 0 {
		return nil
	}
	return t
}

// generator is the table of the curve's generator.
var generator = sync.OnceValue(func() []uint64 {
	words := make([]uint64, int(C.gavel_generator_words))
	C.gavel_fill_generator((*C.uint64_t)(&words[0]))
	return words
})

// hasSigned says whether recovering the key of a signature would lead to this one. It is false for
// the recovery ids 2 and 3, which hardly any signature has.
func (t *table) hasSigned(digest common.Hash, signature [crypto.SignatureLength]byte) bool {
	odd := signature[crypto.RecoveryIDOffset]
	return odd <= 1 && C.gavel_has_signed((*C.uint64_t)(&generator()[0]), (*C.uint64_t)(&t.words[0]),
		(*C.uchar)(&digest[0]), (*C.uchar)(&signature[0]), C.int(odd)) == 1
}
