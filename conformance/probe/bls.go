package probe

import (
	"crypto/sha256"
	"errors"
	"fmt"

	"github.com/attestantio/go-eth2-client/spec/phase0"
	blst "github.com/supranational/blst/bindings/go"
)

// blsDomain is the domain separation tag of signatures of the consensus layer (consensus-specs, BLS
// signatures).
var blsDomain = []byte("BLS_SIG_BLS12381G2_XMD:SHA-256_SSWU_RO_POP_")

// BLSKey signs for a validator, a builder or a relay.
type BLSKey struct {
	secret *blst.SecretKey
	// Public is the public key.
	Public phase0.BLSPubKey
}

// DeriveBLSKey makes a key from a text. It is for tests only: everybody who knows the text has the
// key.
func DeriveBLSKey(text string) *BLSKey {
	seed := sha256.Sum256([]byte("gavel conformance: " + text))
	return newBLSKey(blst.KeyGen(seed[:]))
}

// ParseBLSKey reads a secret key of 32 bytes.
func ParseBLSKey(secret []byte) (*BLSKey, error) {
	key := new(blst.SecretKey).Deserialize(secret)
	if key == nil {
		return nil, errors.New("these bytes are no secret BLS key")
	}
	return newBLSKey(key), nil
}

func newBLSKey(secret *blst.SecretKey) *BLSKey {
	k := &BLSKey{secret: secret}
	copy(k.Public[:], new(blst.P1Affine).From(secret).Compress())
	return k
}

// Sign signs a root.
func (k *BLSKey) Sign(root phase0.Root) (signature phase0.BLSSignature) {
	copy(signature[:], new(blst.P2Affine).Sign(k.secret, root[:], blsDomain).Compress())
	return signature
}

// VerifyBLS returns why a signature of a root is not by this key; nil means that it is.
func VerifyBLS(key phase0.BLSPubKey, root phase0.Root, signature phase0.BLSSignature) error {
	point := new(blst.P2Affine).Uncompress(signature[:])
	public := new(blst.P1Affine).Uncompress(key[:])
	switch {
	case point == nil:
		return fmt.Errorf("%#x is no signature", signature[:8])
	case public == nil || !public.KeyValidate():
		return fmt.Errorf("%#x… is no public key", key[:8])
	case !point.Verify(true, public, true, root[:], blsDomain):
		return fmt.Errorf("the signature is not that of %#x… over this message", key[:8])
	}
	return nil
}

// Domains of the consensus layer (consensus-specs and builder-specs).
var (
	DomainProposer = phase0.DomainType{0x00, 0x00, 0x00, 0x00}
	DomainRandao   = phase0.DomainType{0x02, 0x00, 0x00, 0x00}
	DomainBuilder  = phase0.DomainType{0x00, 0x00, 0x00, 0x01}

	DomainBeaconBuilder       = phase0.DomainType{0x0b, 0x00, 0x00, 0x00}
	DomainProposerPreferences = phase0.DomainType{0x0d, 0x00, 0x00, 0x00}
	DomainBuilderRequestAuth  = phase0.DomainType{0x0b, 0x00, 0x00, 0x01}
)

// Domain binds signatures to their purpose and to a fork of a network.
func Domain(purpose phase0.DomainType, version phase0.Version, validators phase0.Root) (domain phase0.Domain) {
	root, err := (&phase0.ForkData{CurrentVersion: version, GenesisValidatorsRoot: validators}).HashTreeRoot()
	if err != nil {
		panic(fmt.Sprintf("hash of two fixed fields: %v", err))
	}
	copy(domain[:4], purpose[:])
	copy(domain[4:], root[:28])
	return domain
}

// SigningRoot returns the root that is signed for an object: it binds the object's root to a
// domain.
func SigningRoot(object phase0.Root, domain phase0.Domain) phase0.Root {
	root, err := (&phase0.SigningData{ObjectRoot: object, Domain: domain}).HashTreeRoot()
	if err != nil {
		panic(fmt.Sprintf("hash of two fixed fields: %v", err))
	}
	return root
}
