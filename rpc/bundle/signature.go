package bundle

import (
	"errors"
	"fmt"
	"math/big"

	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/rpc"
)

// Chain is the chain that transactions must be for. It is immutable.
type Chain struct {
	Signer types.Signer
	types  [256]bool // of transactions that the signer supports
}

// NewChain asks the signer once which types of transactions it supports, because each answer
// allocates the numbers of a signature.
func NewChain(signer types.Signer) *Chain {
	c := &Chain{Signer: signer}
	for _, data := range []types.TxData{
		&types.LegacyTx{}, &types.AccessListTx{ChainID: new(big.Int)}, &types.DynamicFeeTx{ChainID: new(big.Int)},
		&types.BlobTx{ChainID: new(uint256.Int)}, &types.SetCodeTx{ChainID: new(uint256.Int)},
	} {
		tx := types.NewTx(data)
		_, _, _, err := signer.SignatureValues(tx, noSignature[:])
		c.types[tx.Type()] = !errors.Is(err, types.ErrTxTypeNotSupported)
	}
	return c
}

// checkSignatures refuses transactions for another chain, and signatures with values that are out
// of range. It is cheap. Half of all random values pass and still belong to no address; only
// recovering the sender shows that.
func checkSignatures(txs []*incomingTx, chain *Chain) error {
	for _, s := range txs {
		if err := checkSignature(s.Transaction, chain); err != nil {
			return rpc.BundleUndecodable.With("%s: %s", s.path(), err)
		}
	}
	return nil
}

// checkSignature does the checks of types.Sender that come before the recovery, with the same
// errors.
func checkSignature(tx *types.Transaction, chain *Chain) error {
	if !chain.types[tx.Type()] {
		return types.ErrTxTypeNotSupported
	}
	v, r, s := tx.RawSignatureValues()
	parity, err := parityOf(tx, v, chain)
	if err != nil {
		return err
	}
	if !parity.IsUint64() || parity.Uint64() > 1 || !crypto.ValidateSignatureValues(byte(parity.Uint64()), r, s, true) {
		return types.ErrInvalidSig
	}
	return nil
}

// parityOf returns the parity of y, if a signature is for the chain. In typed transactions v is the
// parity; in protected ones (EIP-155) v includes the chain's id; in the oldest ones v is the parity
// plus 27.
func parityOf(tx *types.Transaction, v *big.Int, chain *Chain) (*big.Int, error) {
	legacy := tx.Type() == types.LegacyTxType
	if legacy && !tx.Protected() {
		return new(big.Int).Sub(v, big27), nil
	}
	id := tx.ChainId()
	switch {
	case id.BitLen() > 256:
		return nil, fmt.Errorf("%w: have %d-bit value want %d", types.ErrInvalidChainId, id.BitLen(), chain.Signer.ChainID())
	case id.Cmp(chain.Signer.ChainID()) != 0:
		return nil, fmt.Errorf("%w: have %d want %d", types.ErrInvalidChainId, id, chain.Signer.ChainID())
	case !legacy:
		return v, nil
	}
	parity := new(big.Int).Sub(v, big35)
	return parity.Sub(parity, id).Sub(parity, id), nil
}

var (
	noSignature  [crypto.SignatureLength]byte
	big27, big35 = big.NewInt(27), big.NewInt(35)
)
