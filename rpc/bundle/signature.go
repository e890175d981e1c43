package bundle

import (
	"errors"
	"fmt"
	"math/big"

	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"

	"github.com/gavel-relay/gavel/rpc"
)

// checkSignatures refuses transactions that are for another chain, and signatures with values that no signature has. It is cheap: half of what
// passes by chance belongs to nobody all the same, which only recovering the sender shows.
func checkSignatures(txs []*signed, chain types.Signer) error {
	for _, s := range txs {
		if err := checkSignature(s.Transaction, chain); err != nil {
			return rpc.BundleUndecodable.With("%s: %s", s.path(), err)
		}
	}
	return nil
}

// checkSignature is what types.Sender checks before it recovers, with its errors.
func checkSignature(tx *types.Transaction, chain types.Signer) error {
	if _, _, _, err := chain.SignatureValues(tx, noSignature[:]); errors.Is(err, types.ErrTxTypeNotSupported) {
		return err
	}
	// Typed transactions have the parity of y in v, protected ones (EIP-155) their chain with it, and the oldest ones 27 more than the parity.
	v, r, s := tx.RawSignatureValues()
	legacy, id := tx.Type() == types.LegacyTxType, tx.ChainId()
	parity := new(big.Int).Set(v)
	switch {
	case legacy && !tx.Protected():
		parity.Sub(v, big27)
	case id.BitLen() > 256:
		return fmt.Errorf("%w: have %d-bit value want %d", types.ErrInvalidChainId, id.BitLen(), chain.ChainID())
	case id.Cmp(chain.ChainID()) != 0:
		return fmt.Errorf("%w: have %d want %d", types.ErrInvalidChainId, id, chain.ChainID())
	case legacy:
		parity.Sub(v, big35).Sub(parity, id).Sub(parity, id)
	}
	if !parity.IsUint64() || parity.Uint64() > 1 || !crypto.ValidateSignatureValues(byte(parity.Uint64()), r, s, true) {
		return types.ErrInvalidSig
	}
	return nil
}

var (
	noSignature  [crypto.SignatureLength]byte
	big27, big35 = big.NewInt(27), big.NewInt(35)
)
