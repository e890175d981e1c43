package bundle

import (
	"encoding/json"

	"github.com/ethereum/go-ethereum/common"
	"github.com/google/uuid"

	"github.com/gavel-relay/gavel/rpc/param"
)

// ReadCancelBundle reads the params of eth_cancelBundle: [{replacementUuid}]. Errors are *rpc.Refused.
func ReadCancelBundle(params json.RawMessage) (uuid.UUID, error) {
	var p struct {
		Replacement param.UUID `json:"replacementUuid"`
	}
	if err := param.Positional(params, &p); err != nil {
		return uuid.Nil, err
	}
	if p.Replacement == (param.UUID{}) {
		return uuid.Nil, param.Missing("params[0].replacementUuid")
	}
	return uuid.UUID(p.Replacement), nil
}

// ReadCancelPrivate reads the params of eth_cancelPrivateTransaction: [{txHash}]. Errors are *rpc.Refused.
func ReadCancelPrivate(params json.RawMessage) (common.Hash, error) {
	var p struct {
		TxHash *param.Hash `json:"txHash"`
	}
	if err := param.Positional(params, &p); err != nil {
		return common.Hash{}, err
	}
	if p.TxHash == nil {
		return common.Hash{}, param.Missing("params[0].txHash")
	}
	return common.Hash(*p.TxHash), nil
}
