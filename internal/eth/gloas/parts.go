package gloas

import (
	"github.com/attestantio/go-eth2-client/spec/bellatrix"
	"github.com/attestantio/go-eth2-client/spec/deneb"
	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/eth/shape"
)

// Shapes of values that many containers have.
var (
	root       = shape.Bytes(func(v *phase0.Root) []byte { return v[:] })
	hash32     = shape.Bytes(func(v *phase0.Hash32) []byte { return v[:] })
	bytes32    = shape.Bytes(func(v *[32]byte) []byte { return v[:] })
	address    = shape.Bytes(func(v *bellatrix.ExecutionAddress) []byte { return v[:] })
	pubkey     = shape.Bytes(func(v *phase0.BLSPubKey) []byte { return v[:] })
	signature  = shape.Bytes(func(v *phase0.BLSSignature) []byte { return v[:] })
	commitment = shape.Bytes(func(v *deneb.KZGCommitment) []byte { return v[:] })
	proof      = shape.Bytes(func(v *deneb.KZGProof) []byte { return v[:] })
	blob       = shape.Bytes(func(v *deneb.Blob) []byte { return v[:] })
)

// number makes a field of 64 bits.
func number[T any, N ~uint64](name string, at func(*T) *N) shape.Field[T] {
	return shape.In(name, shape.Number[N](), at)
}

// signedShape is the shape of a message with its signature.
func signedShape[S, M any](message shape.Shape[M], at func(*S) **M, sig func(*S) *phase0.BLSSignature) shape.Shape[S] {
	return shape.Container(
		shape.In("message", shape.Pointer(message), at),
		shape.In("signature", signature, sig),
	)
}
