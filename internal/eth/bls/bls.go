// Package bls signs and verifies with BLS12-381 as the consensus layer does (minimal public keys,
// proof of possession). It wraps blst and adds the checks that blst leaves to the caller: a point
// at infinity is never a valid key.
package bls

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/attestantio/go-eth2-client/spec/phase0"
	blst "github.com/supranational/blst/bindings/go"
)

// ciphersuite is consensus-specs' "BLS signatures": BLS_SIG_BLS12381G2_XMD:SHA-256_SSWU_RO_POP_.
var ciphersuite = []byte("BLS_SIG_BLS12381G2_XMD:SHA-256_SSWU_RO_POP_")

// The errors of Verify.
var (
	ErrPublicKey = errors.New("not a public key: not a compressed G1 point of the subgroup")
	ErrSignature = errors.New("not a signature: not a compressed G2 point of the subgroup")
	ErrMismatch  = errors.New("signature does not match")
)

// SecretKey signs. It is immutable and safe for concurrent use.
type SecretKey struct {
	key    *blst.SecretKey
	public phase0.BLSPubKey
}

// NewSecretKey reads a 32-byte big-endian secret key.
func NewSecretKey(raw []byte) (*SecretKey, error) {
	key := new(blst.SecretKey).Deserialize(raw)
	if key == nil {
		return nil, errors.New("not a secret key: want 32 bytes, big-endian, below the group order and not zero")
	}
	return withPublic(key), nil
}

// Derive makes the key number index of a named family. It is deterministic, so it is for devnets
// and tests only.
func Derive(family string, index uint64) *SecretKey {
	material := sha256.Sum256(binary.BigEndian.AppendUint64([]byte("gavel devnet key: "+family+" "), index))
	return withPublic(blst.KeyGen(material[:]))
}

func withPublic(key *blst.SecretKey) *SecretKey {
	s := &SecretKey{key: key}
	copy(s.public[:], new(blst.P1Affine).From(key).Compress())
	return s
}

// PublicKey returns the compressed public key.
func (s *SecretKey) PublicKey() phase0.BLSPubKey { return s.public }

// Sign signs a signing root (see eth.SigningRoot).
func (s *SecretKey) Sign(root phase0.Root) phase0.BLSSignature {
	var signature phase0.BLSSignature
	copy(signature[:], new(blst.P2Affine).Sign(s.key, root[:], ciphersuite).Compress())
	return signature
}

// PublicKey is a parsed key. It was decompressed and checked once, so every further verification
// with it is cheaper.
type PublicKey struct{ point *blst.P1Affine }

// ParsePublicKey decompresses a key and checks that it is in the subgroup and not at infinity.
// Otherwise its error wraps ErrPublicKey.
func ParsePublicKey(key phase0.BLSPubKey) (PublicKey, error) {
	point := new(blst.P1Affine).Uncompress(key[:])
	if point == nil || !point.KeyValidate() {
		return PublicKey{}, fmt.Errorf("%w: %#x", ErrPublicKey, key[:])
	}
	return PublicKey{point}, nil
}

// Verify checks a signature over a signing root. It returns nil, ErrSignature or ErrMismatch.
func (p PublicKey) Verify(root phase0.Root, signature phase0.BLSSignature) error {
	point, err := parseSignature(signature)
	if err != nil {
		return err
	}
	// false: both points were checked before, so blst does not check them again
	if !point.Verify(false, p.point, false, root[:], ciphersuite) {
		return ErrMismatch
	}
	return nil
}

// parseSignature decompresses a signature and checks that it is in the subgroup and not at
// infinity.
func parseSignature(signature phase0.BLSSignature) (*blst.P2Affine, error) {
	point := new(blst.P2Affine).Uncompress(signature[:])
	if point == nil || !point.SigValidate(true) {
		return nil, ErrSignature
	}
	return point, nil
}

// Verify parses the key and checks the signature. It returns nil, ErrSignature, ErrMismatch, or an
// error that wraps ErrPublicKey.
func Verify(key phase0.BLSPubKey, root phase0.Root, signature phase0.BLSSignature) error {
	parsed, err := ParsePublicKey(key)
	if err != nil {
		return err
	}
	return parsed.Verify(root, signature)
}
