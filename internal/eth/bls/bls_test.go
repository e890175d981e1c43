package bls

import (
	"encoding/hex"
	"errors"
	"testing"

	"github.com/attestantio/go-eth2-client/spec/phase0"
)

func TestSignAndVerify(t *testing.T) {
	key, other, root := Derive("builder", 0), Derive("builder", 1), phase0.Root{1, 2, 3}
	signature := key.Sign(root)
	if err := Verify(key.PublicKey(), root, signature); err != nil {
		t.Fatal(err)
	}
	flipped := signature
	flipped[95] ^= 1
	infinityKey, infinitySignature := phase0.BLSPubKey{0xc0}, phase0.BLSSignature{0xc0}
	for name, c := range map[string]struct {
		key       phase0.BLSPubKey
		root      phase0.Root
		signature phase0.BLSSignature
		want      error
	}{
		"other key":             {other.PublicKey(), root, signature, ErrMismatch},
		"other root":            {key.PublicKey(), phase0.Root{9}, signature, ErrMismatch},
		"flipped bit":           {key.PublicKey(), root, flipped, ErrSignature},
		"key at infinity":       {infinityKey, root, infinitySignature, ErrPublicKey},
		"signature at infinity": {key.PublicKey(), root, infinitySignature, ErrSignature},
		"zero key":              {phase0.BLSPubKey{}, root, signature, ErrPublicKey},
		"zero signature":        {key.PublicKey(), root, phase0.BLSSignature{}, ErrSignature},
	} {
		if err := Verify(c.key, c.root, c.signature); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
}

// A published vector of the consensus layer's test suite for signing: one secret key, message of 32
// bytes of 0x56.
func TestKnownSecretKey(t *testing.T) {
	raw, err := hex.DecodeString("263dbd792f5b1be47ed85f8938c0f29586af0d3ac7b977f21c278fe1462040e3")
	if err != nil {
		t.Fatal(err)
	}
	key, err := NewSecretKey(raw)
	if err != nil {
		t.Fatal(err)
	}
	public := key.PublicKey()
	if got, want := hex.EncodeToString(public[:]),
		"a491d1b0ecd9bb917989f0e74f0dea0422eac4a873e5e2644f368dffb9a6e20fd6e10c1b77654d067c0618f6e5a7f79a"; got != want {
		t.Errorf("public key %s, want %s", got, want)
	}
	var message phase0.Root
	for i := range message {
		message[i] = 0x56
	}
	signature := key.Sign(message)
	want := "882730e5d03f6b42c3abc26d3372625034e1d871b65a8a6b900a56dae22da98abbe1b68f85e49fe7652a55ec3d0591c20767677e33" +
		"e5cbb1207315c41a9ac03be39c2e7668edc043d6cb1d9fd93033caa8a1c5b0e84bedaeb6c64972503a43eb"
	if got := hex.EncodeToString(signature[:]); got != want {
		t.Errorf("signature %s, want %s", got, want)
	}
	if _, err := NewSecretKey(make([]byte, 32)); err == nil {
		t.Error("the zero key passes")
	}
}
