package app

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gavel-relay/gavel/internal/golden"
	"github.com/gavel-relay/gavel/internal/orderflow"
)

// The page's example is what this test hears. An order has one event only, so that each way has an
// order of its own; they differ in their nonce.
func TestExampleDocs(t *testing.T) {
	j := journalOf(t)
	h := openService(t, Config{Source: j})
	lines := h.listen("/", "")
	var section strings.Builder
	fmt.Fprintf(&section, "\nThe first one's hash is `%s`.\n", swap(0, 0).Hash)
	for n, way := range []struct {
		names string
		hints orderflow.Hints
	}{
		{"hash", orderflow.Hash},
		{"default_logs", orderflow.DefaultLogs},
		{"function_selector, logs", orderflow.FunctionSelector | orderflow.Logs},
		{"calldata, tx_hash", orderflow.Calldata | orderflow.TxHash},
		{"full", orderflow.Full},
	} {
		share(t, j, swap(n, way.hints))
		fmt.Fprintf(&section, "\n`%s`\n\n```\n%s\n```\n", way.names, <-lines)
	}
	golden.Section(t, "../../docs/stream.md", "example", section.String()+"\n")
}
