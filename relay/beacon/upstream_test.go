package beacon

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/gavel-relay/gavel/internal/serve/servetest"
)

// Beacon nodes that are asked one after another keep the contract of all pools of nodes.
func TestUpstreamContract(t *testing.T) {
	good := servetest.NodeRole(func(r *http.Request) (*http.Response, error) {
		const head = `{"data":{"root":"0x0000000000000000000000000000000000000000000000000000000000000001","header":{"message":{"slot":"1"}}}}`
		return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(head)), Request: r}, nil
	})
	servetest.PoolContract(t, good, func(t *testing.T, urls []string, client *http.Client) servetest.PoolQuestion {
		n, err := New(Config{URLs: urls, HTTP: client}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return func(ctx context.Context) error {
			_, err := n.Head(ctx)
			return err
		}
	})
}
