package node

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/exec"
	"github.com/gavel-relay/gavel/internal/serve/servetest"
)

// Nodes that validate blocks keep the contract of all pools of nodes.
func TestUpstreamContract(t *testing.T) {
	good := servetest.NodeRole(func(r *http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(goodBody)), Request: r}, nil
	})
	servetest.PoolContract(t, good, func(t *testing.T, urls []string, client *http.Client) servetest.PoolQuestion {
		p, err := New(Config{URLs: urls, HTTP: client})
		if err != nil {
			t.Fatal(err)
		}
		return func(ctx context.Context) error {
			verdict := p.Validate(ctx, filled(eth.Fulu, 0, 0))
			if verdict.Class == exec.Valid {
				return nil
			}
			return errors.New(string(verdict.Rule) + " " + verdict.Detail)
		}
	})
}
