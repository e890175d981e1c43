package app

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/netip"

	"github.com/ethereum/go-ethereum/common"

	"github.com/gavel-relay/gavel/internal/serve"
	"github.com/gavel-relay/gavel/rpc/jsonrpc"
	"github.com/gavel-relay/gavel/rpc/method"
)

// discover returns the OpenRPC document (OpenRPC 1.3, Service Discovery), which does not list
// discover itself. It needs no signature, as GET /openrpc.json needs none.
const discover = "rpc.discover"

// signerTables is for how many signers a table makes verifying quicker: 11 MB in all.
const signerTables = 256

// rawJSON is a result that was encoded once, for all calls.
type rawJSON []byte

// AppendJSON implements jsonrpc.Appender.
func (w rawJSON) AppendJSON(to []byte) []byte { return append(to, w...) }

// serveMethods makes the handler that serves the methods.
func (a *App) serveMethods(methods []method.Method) error {
	cfg, document, err := a.envelope(methods)
	if err == nil {
		a.handler, err = newHandler(cfg, document)
	}
	return err
}

// newHandler makes a server of the RPC and of its description.
func newHandler(cfg jsonrpc.Config, document []byte) (http.Handler, error) {
	server, err := jsonrpc.New(cfg)
	if err != nil {
		return nil, err
	}
	server.Handle(http.MethodGet, "/openrpc.json", func(w http.ResponseWriter, _ *http.Request) {
		serve.Bytes(w, http.StatusOK, "application/json", document)
	})
	return server, nil
}

// envelope configures the server that serves the methods, and returns their description.
func (a *App) envelope(methods []method.Method) (cfg jsonrpc.Config, document []byte, err error) {
	scheme := jsonrpc.SignatureScheme{Headers: a.cfg.SignatureHeaders, Lenient0x: a.cfg.LenientSignatures,
		Recover: jsonrpc.NewSigners(signerTables).Recover}
	cfg = jsonrpc.Config{
		Methods: map[string]jsonrpc.Method{}, Clock: a.cfg.Clock, MaxBatch: a.cfg.Limits.Batch,
		TrustedProxies: a.cfg.Limits.TrustedProxies,
		Legacy:         a.cfg.LegacyErrors, Limits: a.rates(), Observe: a.watched.metrics.Call,
		SignatureHeaders: a.cfg.SignatureHeaders, Confirm: a.seat.confirm(),
		Aliases: map[string][]string{
			"flashbots_":  {a.cfg.VendorPrefix, "buildernet_", a.cfg.PoolPrefix},
			"buildernet_": {a.cfg.PoolPrefix, "flashbots_", a.cfg.VendorPrefix},
		},
		Verify: func(header http.Header, body []byte) (common.Address, error) {
			signer, refused := scheme.Signer(header.Values, body)
			if refused != nil {
				return signer, refused
			}
			return signer, nil
		},
	}
	for _, m := range methods {
		if m.Unsigned {
			cfg.Unsigned = append(cfg.Unsigned, m.Name)
		}
		cfg.Methods[m.Name] = func(ctx context.Context, call *jsonrpc.Call) (any, error) {
			return m.Do(ctx, &method.Call{Params: call.Params, Signer: call.Signer, Source: sourceOf(call.Client),
				At: call.ReceivedAt})
		}
	}
	described, err := method.Describe(methods)
	if err != nil {
		return cfg, nil, err
	}
	if document, err = json.Marshal(described); err != nil {
		return cfg, nil, fmt.Errorf("write the OpenRPC document: %w", err)
	}
	cfg.Methods[discover] = func(context.Context, *jsonrpc.Call) (any, error) { return rawJSON(document), nil }
	cfg.Unsigned = append(cfg.Unsigned, discover)
	return cfg, document, nil
}

func (a *App) rates() jsonrpc.Limits {
	limits := jsonrpc.Limits{Methods: map[string]jsonrpc.Rate{}}
	limits.Client.PerSecond, limits.Signer.PerSecond = float64(a.cfg.Limits.PerSecond),
		float64(a.cfg.Limits.SignerPerSecond)
	for name, perSecond := range a.cfg.Limits.MethodPerSecond {
		limits.Methods[name] = jsonrpc.Rate{PerSecond: float64(perSecond)}
	}
	return limits
}

// sourceOf is the network of a client. For an IPv6 address it is the first 64 bits, since usually
// one user has all addresses of such a network.
func sourceOf(client netip.Addr) string {
	switch client = client.Unmap(); {
	case !client.IsValid():
		return ""
	case client.Is6():
		return netip.PrefixFrom(client, 64).Masked().String()
	}
	return client.String()
}
