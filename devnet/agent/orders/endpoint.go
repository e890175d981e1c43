package orders

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/rpc"
	"github.com/google/uuid"
)

// maxBody bounds a request in bytes.
const maxBody = 30 << 20

// Handler serves a builder's own JSON-RPC, which takes orders. Requests are signed in
// X-Flashbots-Signature; see TakesUnsigned. Only the signer of an order can cancel or replace it.
func (in *Intake) Handler() (http.Handler, error) {
	server := rpc.NewServer()
	server.SetHTTPBodyLimit(maxBody)
	methods := (*methods)(in)
	for namespace, receiver := range map[string]any{"eth": (*ethMethods)(methods), "mev": (*mevMethods)(methods)} {
		if err := server.RegisterName(namespace, receiver); err != nil {
			return nil, fmt.Errorf("make the builder's methods: %w", err)
		}
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		var signer common.Address
		if header := r.Header.Get("X-Flashbots-Signature"); header != "" || !in.TakesUnsigned {
			signer, err = signerOf(header, body)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusForbidden)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		server.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), signerKey{}, signer)))
	}), nil
}

// signerKey is the context's key of a request's signer.
type signerKey struct{}

// methods has what the JSON-RPC methods share.
type methods Intake

type (
	ethMethods methods
	mevMethods methods
)

// taken is the answer to an accepted order: the Keccak-256 of its transactions' hashes.
type taken struct {
	BundleHash common.Hash `json:"bundleHash"`
}

var errFull = errors.New("too many orders")

func (m *methods) take(ctx context.Context, order *Order) (taken, error) {
	order.Signer, _ = ctx.Value(signerKey{}).(common.Address)
	if !m.queue.add(order) {
		return taken{}, errFull
	}
	var hashes []byte
	for _, tx := range order.Bundle.transactions() {
		hashes = append(hashes, tx.Hash().Bytes()...)
	}
	return taken{crypto.Keccak256Hash(hashes)}, nil
}

// SendBundle is eth_sendBundle.
func (m *ethMethods) SendBundle(ctx context.Context, form bundleForm) (taken, error) {
	if len(form.Txs) == 0 && form.ReplacementUUID != uuid.Nil { // an empty bundle cancels the one that it replaces
		_, err := m.CancelBundle(ctx, cancelForm{form.ReplacementUUID})
		return taken{}, err
	}
	if len(form.Txs) > maxTxs {
		return taken{}, fmt.Errorf("%d transactions, at most %d", len(form.Txs), maxTxs)
	}
	order, err := form.order(m.signer)
	if err != nil {
		return taken{}, err
	}
	return (*methods)(m).take(ctx, order)
}

// SendBundle is mev_sendBundle.
func (m *mevMethods) SendBundle(ctx context.Context, form shareForm) (taken, error) {
	order, err := form.order(m.signer)
	if err != nil {
		return taken{}, err
	}
	return (*methods)(m).take(ctx, order)
}

type cancelForm struct {
	ReplacementUUID uuid.UUID `json:"replacementUuid"`
}

// CancelBundle is eth_cancelBundle. It is not an error if there is nothing to cancel: the order may
// be over, or may never have come.
func (m *ethMethods) CancelBundle(ctx context.Context, form cancelForm) (bool, error) {
	if form.ReplacementUUID == uuid.Nil {
		return false, errors.New("no replacementUuid")
	}
	signer, _ := ctx.Value(signerKey{}).(common.Address)
	return m.queue.cancel(signer, form.ReplacementUUID), nil
}

// SendPrivateTransaction is eth_sendPrivateTransaction.
func (m *ethMethods) SendPrivateTransaction(ctx context.Context, form privateForm) (common.Hash, error) {
	order, err := form.order(m.signer)
	if err != nil {
		return common.Hash{}, err
	}
	if _, err := (*methods)(m).take(ctx, order); err != nil {
		return common.Hash{}, err
	}
	return order.Bundle.Elements[0].Tx.Hash(), nil
}

// SendPrivateRawTransaction is eth_sendPrivateRawTransaction.
func (m *ethMethods) SendPrivateRawTransaction(ctx context.Context, raw hexutil.Bytes) (common.Hash, error) {
	return m.SendPrivateTransaction(ctx, privateForm{Tx: raw})
}
