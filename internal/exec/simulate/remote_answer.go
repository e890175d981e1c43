package simulate

import (
	"bytes"
	"encoding/hex"
	"errors"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/holiman/uint256"
)

// accountAnswer has the needed fields of an answer to eth_getProof. Fields that a node leaves out
// are nil.
type accountAnswer struct {
	Balance     *hexutil.Big    `json:"balance"`
	Nonce       *hexutil.Uint64 `json:"nonce"`
	CodeHash    *common.Hash    `json:"codeHash"`
	StorageHash *common.Hash    `json:"storageHash"`
}

// account checks the answer. For an account that does not exist, some nodes answer zeros and some
// the hashes of empty values.
func (a accountAnswer) account(address common.Address) (account, error) {
	if a.Balance == nil || a.Nonce == nil || a.CodeHash == nil || a.StorageHash == nil {
		return account{}, impossible("the proof of account %s is not complete", address)
	}
	return newAccount(address, a.Balance, uint64(*a.Nonce), *a.CodeHash, *a.StorageHash)
}

// plainAnswer has the answers to eth_getBalance, eth_getTransactionCount and eth_getCode, which
// together stand for eth_getProof.
type plainAnswer struct {
	balance *hexutil.Big
	nonce   *hexutil.Uint64
	code    *hexutil.Bytes
}

// account checks the answers. They do not tell whether the account has storage. So an account
// without code counts as having none, and for one with code each slot is asked for.
func (a plainAnswer) account(address common.Address) (account, error) {
	if a.balance == nil || a.nonce == nil || a.code == nil {
		return account{}, impossible("something is missing of account %s", address)
	}
	hash := crypto.Keccak256Hash(*a.code)
	known, err := newAccount(address, a.balance, uint64(*a.nonce), hash, types.EmptyRootHash)
	known.bare = known.bare && hash == types.EmptyCodeHash
	return known, err
}

func newAccount(address common.Address, balance *hexutil.Big, nonce uint64, codeHash,
	root common.Hash) (account, error) {
	wei, overflow := uint256.FromBig(balance.ToInt())
	if overflow || balance.ToInt().Sign() < 0 {
		return account{}, impossible("account %s has a balance of more than 256 bits", address)
	}
	if codeHash == (common.Hash{}) {
		codeHash = types.EmptyCodeHash
	}
	if root == (common.Hash{}) {
		root = types.EmptyRootHash
	}
	known := account{bare: root == types.EmptyRootHash}
	if nonce != 0 || !wei.IsZero() || codeHash != types.EmptyCodeHash || !known.bare {
		known.state = &types.StateAccount{Nonce: nonce, Balance: wei, Root: root, CodeHash: codeHash.Bytes()}
	}
	return known, nil
}

// word is a value of 32 bytes. Some nodes write it without leading zeros.
type word common.Hash

// UnmarshalJSON implements json.Unmarshaler.
func (w *word) UnmarshalJSON(text []byte) error {
	digits, ok := bytes.CutPrefix(bytes.Trim(text, `"`), []byte("0x"))
	if !ok || len(digits) > 2*len(w) {
		return errors.New("want at most 32 bytes in hex")
	}
	var whole [64]byte
	copy(whole[:], "0000000000000000000000000000000000000000000000000000000000000000")
	copy(whole[len(whole)-len(digits):], digits)
	_, err := hex.Decode(w[:], whole[:])
	return err
}
