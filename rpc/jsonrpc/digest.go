package jsonrpc

import (
	"encoding/hex"
	"strconv"
	"strings"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"
)

// messagePrefix begins a personal message (EIP-191, version 0x45). The length of the message
// follows it, in decimal.
const messagePrefix = "\x19Ethereum Signed Message:\n"

// digest is what a client signs for a body with the given Keccak-256: the personal message of the
// hash's hex text, which always has 66 characters.
func digest(bodyHash common.Hash) common.Hash {
	var room [len(messagePrefix) + 2 + 66]byte
	message := append(room[:0], messagePrefix+"660x"...)
	message = hex.AppendEncode(message, bodyHash[:])
	return crypto.Keccak256Hash(message)
}

// personal is the digest of any text as a personal message.
func personal(text []byte) common.Hash {
	return crypto.Keccak256Hash([]byte(messagePrefix), strconv.AppendInt(nil, int64(len(text)), 10), text)
}

// signatureMistake is a digest that clients are known to sign instead of the right one.
type signatureMistake struct {
	digest func(body []byte, bodyHash common.Hash) common.Hash
	advice string
}

// signatureMistakes are ordered by how often clients make them.
var signatureMistakes = []signatureMistake{
	{
		func(body []byte, _ common.Hash) common.Hash { return personal(body) },
		"the raw body was signed; sign the hex text of its Keccak-256, 0x and 64 lower-case digits",
	},
	{
		func(_ []byte, hash common.Hash) common.Hash { return personal(hash[:]) },
		"the 32 bytes of the body's Keccak-256 were signed; sign their hex text, 0x and 64 lower-case digits",
	},
	{
		func(_ []byte, hash common.Hash) common.Hash { return personal([]byte(hex.EncodeToString(hash[:]))) },
		"the hex text of the body's Keccak-256 was signed without its 0x; put 0x in front",
	},
	{
		func(_ []byte, hash common.Hash) common.Hash {
			return personal([]byte("0x" + strings.ToUpper(hex.EncodeToString(hash[:]))))
		},
		"the hex text of the body's Keccak-256 was signed in capitals; write it in lower case",
	},
	{
		func(_ []byte, hash common.Hash) common.Hash { return hash },
		"the body's Keccak-256 was signed as it is; sign its hex text as a personal message (EIP-191)",
	},
}

// advice says what the owner of an address did wrong, if a known mistake explains the signature.
// Otherwise it is empty.
func advice(address common.Address, signature []byte, body []byte, bodyHash common.Hash) string {
	for _, known := range signatureMistakes {
		if recovered, ok := recoverAddress(known.digest(body, bodyHash), signature); ok && recovered == address {
			return known.advice
		}
	}
	return ""
}
