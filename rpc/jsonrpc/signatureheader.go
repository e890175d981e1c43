package jsonrpc

import (
	"crypto/ecdsa"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"

	"github.com/gavel-relay/gavel/rpc"
)

// DefaultSignatureHeaders are the names under which clients send the signature.
var DefaultSignatureHeaders = []string{"X-Flashbots-Signature", "X-Vendor-Signature", "X-BuilderNet-Signature"}

// Signer finds out who signed a request. The function returns all values of a header, as
// http.Header.Values does. A signature may come several times and under several names, as it does
// through proxies, but all must be the same: otherwise it is unclear which one counts.
func (s SignatureScheme) Signer(values func(name string) []string, body []byte) (common.Address, *rpc.Refused) {
	header, refused := s.choose(values)
	if refused != nil {
		return common.Address{}, refused
	}
	return s.Verify(header, body)
}

func (s SignatureScheme) choose(values func(name string) []string) (header string, refused *rpc.Refused) {
	names := s.Headers
	if names == nil {
		names = DefaultSignatureHeaders
	}
	from := ""
	for _, name := range names {
		for _, value := range values(name) {
			switch {
			case from == "":
				header, from = value, name
			case value == header:
			case name == from:
				return "", rpc.SignatureMalformed.With("%s comes more than once, with different values", name)
			default:
				return "", rpc.SignatureMalformed.With("%s and %s differ", from, name)
			}
		}
	}
	if from == "" && len(names) > 0 {
		return "", rpc.SignatureMissing.With("no header %s", strings.Join(names, ", "))
	}
	return header, nil
}

// SignatureHeader signs a body as a client does: the address with its checksum, and a signature
// with v 27 or
// 28. The key must be one of secp256k1.
func SignatureHeader(key *ecdsa.PrivateKey, body []byte) string {
	digest := digest(crypto.Keccak256Hash(body))
	signature, err := crypto.Sign(digest[:], key)
	if err != nil {
		panic(fmt.Sprintf("sign a request: %v", err)) // signing with a key of this curve does not fail
	}
	signature[crypto.RecoveryIDOffset] += 27
	return crypto.PubkeyToAddress(key.PublicKey).Hex() + ":0x" + hex.EncodeToString(signature)
}
