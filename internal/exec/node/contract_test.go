package node_test

import (
	"net/http/httptest"
	"testing"
	"time"

	"github.com/gavel-relay/gavel/devnet/chain"
	"github.com/gavel-relay/gavel/devnet/chain/chaintest"
	"github.com/gavel-relay/gavel/devnet/network"
	"github.com/gavel-relay/gavel/internal/exec"
	"github.com/gavel-relay/gavel/internal/exec/node"
)

// A validator that asks a node finds what the node's own validator finds.
func TestValidatorKeepsTheContract(t *testing.T) {
	chaintest.Contract(t, func(t *testing.T, n *chain.Node) exec.Validator {
		server := httptest.NewServer(network.ValidationHandler(chain.NewValidator(n.Chain(), chain.ValidatorOptions{})))
		t.Cleanup(server.Close)
		asking, err := node.New(node.Config{URLs: []string{server.URL}, Timeout: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		return asking
	})
}
