package simulate_test

import (
	"context"
	"net/http"
	"testing"

	"github.com/ethereum/go-ethereum/params"

	"github.com/gavel-relay/gavel/internal/exec/simulate"
	"github.com/gavel-relay/gavel/internal/serve/servetest"
)

// Nodes that are asked for state keep the contract of all pools of nodes.
func TestUpstreamContract(t *testing.T) {
	servetest.PoolContract(t, servetest.NodeRole(good),
		func(t *testing.T, urls []string, client *http.Client) servetest.PoolQuestion {
			states := open(t, simulate.RemoteOptions{URLs: urls, HTTP: client, Config: params.MergedTestChainConfig})
			return func(ctx context.Context) error {
				_, err := states.Head(ctx)
				return err
			}
		})
}
