package bundle

import (
	"errors"
	"fmt"
	"math/big"
	"sync/atomic"

	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/rpc"
)

// checkSignatures refuses transactions that are for another chain, and signatures with values that
// no signature has. It is cheap: half of what passes by chance belongs to nobody all the same,
// which only recovering the sender shows.
func checkSignatures(txs []*incomingTx, chain types.Signer) error {
	for _, s := range txs {
		if err := checkSignature(s.Transaction, chain); err != nil {
			return rpc.BundleUndecodable.With("%s: %s", s.path(), err)
		}
	}
	return nil
}

// checkSignature is what types.Sender checks before it recovers, with its errors.
func checkSignature(tx *types.Transaction, chain types.Signer) error {
	if !typesOf(chain).types[tx.Type()] {
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

// parityOf is y's parity, if a signature is for the chain: typed transactions have it in v,
// protected ones (EIP-155) their chain with it, and the oldest ones 27 more.
func parityOf(tx *types.Transaction, v *big.Int, chain types.Signer) (*big.Int, error) {
	legacy := tx.Type() == types.LegacyTxType
	if legacy && !tx.Protected() {
		return new(big.Int).Sub(v, big27), nil
	}
	id := tx.ChainId()
	switch {
	case id.BitLen() > 256:
		return nil, fmt.Errorf("%w: have %d-bit value want %d", types.ErrInvalidChainId, id.BitLen(), chain.ChainID())
	case id.Cmp(chain.ChainID()) != 0:
		return nil, fmt.Errorf("%w: have %d want %d", types.ErrInvalidChainId, id, chain.ChainID())
	case !legacy:
		return v, nil
	}
	parity := new(big.Int).Sub(v, big35)
	return parity.Sub(parity, id).Sub(parity, id), nil
}

// chainTypes are the types of transactions that a chain's signer takes.
type chainTypes struct {
	chain types.Signer
	types [256]bool
}

// lastChain is the chain that was asked about last; a process has one.
var lastChain atomic.Pointer[chainTypes]

// typesOf asks a signer for its types, which costs numbers that nobody needs, once.
func typesOf(chain types.Signer) *chainTypes {
	if last := lastChain.Load(); last != nil && last.chain == chain {
		return last
	}
	all := &chainTypes{chain: chain}
	for _, data := range []types.TxData{
		&types.LegacyTx{}, &types.AccessListTx{ChainID: new(big.Int)}, &types.DynamicFeeTx{ChainID: new(big.Int)},
		&types.BlobTx{ChainID: new(uint256.Int)},
		&types.SetCodeTx{ChainID: new(uint256.Int)},
	} {
		tx := types.NewTx(data)
		_, _, _, err := chain.SignatureValues(tx, noSignature[:])
		all.types[tx.Type()] = !errors.Is(err, types.ErrTxTypeNotSupported)
	}
	lastChain.Store(all)
	return all
}

var (
	noSignature  [crypto.SignatureLength]byte
	big27, big35 = big.NewInt(27), big.NewInt(35)
)
