package jsonrpc

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gavel-relay/gavel/rpc"
)

// An id comes back in the answer, so that its length is bounded.
func TestIDThatIsTooLong(t *testing.T) {
	for length, fine := range map[int]bool{maxID - 2: true, maxID - 1: false} {
		entries, _, refused := parse(fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"x","id":"%s"}`,
			strings.Repeat("a", length)), 1)
		if refused != nil {
			t.Fatal(refused)
		}
		if e := entries[0]; fine != (e.refused == nil) || fine != (e.id != nil) || !fine &&
			e.refused.ID != rpc.InvalidRequest.ID || e.isNotification() {
			t.Errorf("%d letters: %v, id %q", length, e.refused, e.id)
		}
	}
}
