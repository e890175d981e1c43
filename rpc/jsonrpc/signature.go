package jsonrpc

import (
	"bytes"
	"encoding/hex"
	"strings"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"

	"github.com/gavel-relay/gavel/rpc"
)

// SignatureScheme says which signatures a service accepts. The zero value is the strict one.
type SignatureScheme struct {
	// Headers are the names under which the signature may come; nil for DefaultHeaders.
	Headers []string
	// Lenient0x also accepts a signature without 0x, as old Python clients send it.
	Lenient0x bool
	// Terse leaves out why a signature does not fit. Finding that out costs up to five more
	// recoveries, which matters for a service that is flooded with wrong signatures.
	Terse bool
	// Recover returns the address whose key made a signature of a digest, false if there is none.
	// claimed is who is said to have signed. nil is a recovery for each signature.
	Recover func(claimed common.Address, digest common.Hash, signature [crypto.SignatureLength]byte) (common.Address, bool)
}

// Verify returns the address whose signature of the body is in the header. It refuses with
// SignatureMissing, SignatureMalformed or SignatureMismatch; the detail says which step failed.
func (s SignatureScheme) Verify(header string, body []byte) (common.Address, *rpc.Refused) {
	if header == "" {
		return common.Address{}, rpc.SignatureMissing.Plain()
	}
	address, signature, refused := s.parse(header)
	if refused != nil {
		return common.Address{}, refused
	}
	bodyHash := crypto.Keccak256Hash(body)
	recovered, ok := s.recover(address, digest(bodyHash), signature)
	switch {
	case !ok:
		return common.Address{}, rpc.SignatureMalformed.With("no address can be recovered from it")
	case recovered == address:
		return address, nil
	}
	refused = rpc.SignatureMismatch.With("recovered %v, header says %v", recovered, address)
	if s.Terse {
		return common.Address{}, refused
	}
	if why := advice(address, signature[:], body, bodyHash); why != "" {
		refused.Detail += ": " + why
	}
	return common.Address{}, refused
}

func (s SignatureScheme) recover(claimed common.Address, digest common.Hash,
	signature signature) (common.Address, bool) {
	if s.Recover != nil {
		return s.Recover(claimed, digest, signature)
	}
	return recoverAddress(digest, signature[:])
}

// signature is r, s and the recovery id, 0 or 1.
type signature [crypto.SignatureLength]byte

// parse reads "<address>:<signature>".
func (s SignatureScheme) parse(header string) (common.Address, signature, *rpc.Refused) {
	left, right, separated := strings.Cut(header, ":")
	switch {
	case !separated:
		return common.Address{}, signature{}, rpc.SignatureMalformed.With("missing separator")
	case strings.Contains(right, ":"):
		return common.Address{}, signature{}, rpc.SignatureMalformed.With("more than one separator")
	}
	address, ok := parseAddress(left)
	if !ok {
		return common.Address{}, signature{}, rpc.SignatureMalformed.With("address is not hex of 20 bytes")
	}
	parsed, refused := s.parseSignature(right)
	return address, parsed, refused
}

// parseAddress reads an address in any case, with or without 0x. Its checksum is not verified,
// since half of the clients send none.
func parseAddress(text string) (address common.Address, ok bool) {
	digits, _ := cut0x(text)
	if len(digits) != 2*common.AddressLength {
		return common.Address{}, false
	}
	_, err := hex.Decode(address[:], []byte(digits))
	return address, err == nil
}

func (s SignatureScheme) parseSignature(text string) (parsed signature, refused *rpc.Refused) {
	digits, has0x := cut0x(text)
	if !has0x && !s.Lenient0x {
		return parsed, rpc.SignatureMalformed.With("signature does not begin with 0x")
	}
	if len(digits)%2 != 0 {
		return parsed, rpc.SignatureMalformed.With("signature has an odd number of hex digits")
	}
	if size := len(digits) / 2; size != len(parsed) {
		return parsed, rpc.SignatureMalformed.With("signature has %d bytes, want %d", size, len(parsed))
	}
	if _, err := hex.Decode(parsed[:], []byte(digits)); err != nil {
		return parsed, rpc.SignatureMalformed.With("signature is not hex")
	}
	v := &parsed[crypto.RecoveryIDOffset]
	switch *v {
	case 0, 1:
	case 27, 28:
		*v -= 27
	default:
		return parsed, rpc.SignatureMalformed.With("recovery id %d", *v)
	}
	if bytes.Compare(parsed[32:64], halfOrder) > 0 {
		return parsed, rpc.SignatureMalformed.With("high s")
	}
	return parsed, nil
}

func cut0x(text string) (digits string, has0x bool) {
	if len(text) >= 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X') {
		return text[2:], true
	}
	return text, false
}

// halfOrder is half of the order of secp256k1's group. A higher s is refused (EIP-2): anybody can
// compute it from the lower one, so each signature would have a second valid form.
var halfOrder = common.FromHex("7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0")

func recoverAddress(digest common.Hash, signature []byte) (address common.Address, ok bool) {
	key, err := crypto.Ecrecover(digest[:], signature)
	if err != nil {
		return common.Address{}, false
	}
	hash := crypto.Keccak256Hash(key[1:]) // without the 0x04 of an uncompressed point
	return common.BytesToAddress(hash[12:]), true
}
