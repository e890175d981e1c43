// Package execution serves the devnet chain's JSON-RPC, so that wallets, explorers and libraries (ethers, viem, go-ethereum's ethclient) work
// with it as with any node: over HTTP, and over a socket at the same address.
//
//	wallet ── POST ─────────┐            ┌─ eth   state, blocks, transactions, logs, fees, proofs, eth_config
//	         (cross-origin) ├─▶ Server ──┼─ net   net_version
//	wallet ── ws upgrade ───┘            └─ web3  web3_clientVersion, web3_sha3
//
// The answers are those of go-ethereum, which the chain runs in; what belongs to the node's owner (admin, debug, miner) is left out.
package execution

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/node"
	"github.com/ethereum/go-ethereum/rpc"
)

// Chain is a chain that lends its JSON-RPC services.
type Chain interface {
	// APIs are its services in all their namespaces.
	APIs() []rpc.API
}

// public are the namespaces that everybody may use.
var public = []string{"eth", "net", "web3"}

// Server is the JSON-RPC of a chain. It implements http.Handler.
type Server struct {
	rpc          *rpc.Server
	http, socket http.Handler
}

// New returns a server that is ready. It has to be closed before the chain.
func New(chain Chain) (*Server, error) {
	server := rpc.NewServer()
	apis := append(slices.Clone(chain.APIs()), rpc.API{Namespace: "web3", Service: web3{}})
	for _, api := range apis {
		if !slices.Contains(public, api.Namespace) {
			continue
		}
		if err := server.RegisterName(api.Namespace, api.Service); err != nil {
			return nil, fmt.Errorf("serve %s: %w", api.Namespace, err)
		}
	}
	everywhere := []string{"*"}
	return &Server{
		rpc: server, http: node.NewHTTPHandlerStack(server, everywhere, everywhere, nil, false), socket: server.WebsocketHandler(everywhere),
	}, nil
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.EqualFold(r.Header.Get("Upgrade"), "websocket") {
		s.socket.ServeHTTP(w, r)
		return
	}
	s.http.ServeHTTP(w, r)
}

// Close ends all sockets and lets requests under way finish.
func (s *Server) Close() { s.rpc.Stop() }

// web3 is the namespace that go-ethereum serves from outside the chain.
type web3 struct{}

// ClientVersion says who answers.
func (web3) ClientVersion() string { return "gavel/devnet" }

// Sha3 is keccak-256.
func (web3) Sha3(input hexutil.Bytes) hexutil.Bytes { return crypto.Keccak256(input) }
