package bundle

import (
	"encoding/json"

	"github.com/ethereum/go-ethereum/common"
	"github.com/google/uuid"

	"github.com/gavel-relay/gavel/rpc"
)

// cancelParams is params[0] of eth_cancelBundle.
type cancelParams struct {
	Replacement    UUID     `json:"replacementUuid"`
	SigningAddress *Address `json:"signingAddress"`
}

// ReadCancelBundle reads the params of eth_cancelBundle, [{replacementUuid}], of a request by a
// signer. Errors are *rpc.Refused.
func ReadCancelBundle(params json.RawMessage, signer common.Address) (uuid.UUID, error) {
	var p cancelParams
	if err := ReadPositional(params, &p); err != nil {
		return uuid.Nil, err
	}
	if p.Replacement == (UUID{}) {
		return uuid.Nil, MissingParam("params[0].replacementUuid")
	}
	return uuid.UUID(p.Replacement), checkSigner(p.SigningAddress, signer)
}

// checkSigner refuses a proxy's request that names another signer than its own: orders belong to
// the address that signs.
func checkSigner(named *Address, signer common.Address) error {
	if named != nil && common.Address(*named) != signer {
		return rpc.InvalidParams.With("params[0].signingAddress: the request is signed by %s: want that or none", signer)
	}
	return nil
}

// ReadCancelPrivate reads the params of eth_cancelPrivateTransaction: [{txHash}]. Errors are
// *rpc.Refused.
func ReadCancelPrivate(params json.RawMessage) (common.Hash, error) {
	var p struct {
		TxHash *HashParam `json:"txHash"`
	}
	if err := ReadPositional(params, &p); err != nil {
		return common.Hash{}, err
	}
	if p.TxHash == nil {
		return common.Hash{}, MissingParam("params[0].txHash")
	}
	return common.Hash(*p.TxHash), nil
}
