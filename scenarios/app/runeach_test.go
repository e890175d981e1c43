package app

import (
	"context"
	"net"
	"strings"
	"testing"

	"github.com/gavel-relay/gavel/internal/serve"
	"github.com/gavel-relay/gavel/scenarios"
)

// A run whose address another program has taken meanwhile is started again, at other addresses, and
// not for ever.
func TestRunsAtOtherAddresses(t *testing.T) {
	held, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	for _, row := range []struct {
		taken  int // starts that find their address taken
		starts int
		words  string
	}{
		{0, 1, "1 of 1 scenarios ended as they must"},
		{2, 3, "once more, at other addresses: address "},
		{3, 3, "is in use: stop the other program"},
	} {
		starts := 0
		var out strings.Builder
		err := RunEach(t.Context(), []*scenarios.Plan{{Name: "a"}}, Runs{
			AtOnce: 1, Out: &out,
			Start: func(context.Context, *scenarios.Plan, Options) (Result, error) {
				starts++
				if starts <= row.taken {
					_, err := serve.Listen(held.Addr().String())
					return Result{}, err
				}
				return Result{Name: "a", Variants: []VariantResult{{Verdicts: []scenarios.Verdict{{Met: true}}}}}, nil
			},
		})
		if (err != nil) != (row.taken == mostStarts) || starts != row.starts {
			t.Errorf("%d addresses taken: %d starts, %v", row.taken, starts, err)
		}
		if !strings.Contains(out.String(), row.words) {
			t.Errorf("%d addresses taken: it says %q, want %q", row.taken, out.String(), row.words)
		}
	}
}
