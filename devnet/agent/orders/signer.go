package orders

import (
	"errors"
	"strings"

	"github.com/ethereum/go-ethereum/accounts"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/crypto"
)

var errSignature = errors.New("invalid signature: want address:signature of the hex text of the body's Keccak-256, " +
	"as a personal message")

// signerOf returns the address that has signed a request.
func signerOf(header string, body []byte) (common.Address, error) {
	address, signature, found := strings.Cut(header, ":")
	raw, err := hexutil.Decode(signature)
	if !found || err != nil || len(raw) != crypto.SignatureLength || !common.IsHexAddress(address) {
		return common.Address{}, errSignature
	}
	if raw[crypto.RecoveryIDOffset] >= 27 {
		raw[crypto.RecoveryIDOffset] -= 27
	}
	key, err := crypto.SigToPub(accounts.TextHash([]byte(crypto.Keccak256Hash(body).Hex())), raw)
	if err != nil {
		return common.Address{}, errSignature
	}
	if signer := crypto.PubkeyToAddress(*key); signer == common.HexToAddress(address) {
		return signer, nil
	}
	return common.Address{}, errSignature
}
