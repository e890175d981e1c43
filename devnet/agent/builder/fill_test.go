package builder

import (
	"testing"

	"github.com/ethereum/go-ethereum/common"
)

// Of the orders that wait only those are put into a draft that somebody wants.
func TestFill(t *testing.T) {
	s := newStage(t)
	s.send("eth_sendBundle", s.bundle("P", nil))
	s.send("eth_sendBundle", s.bundle("Q", nil))
	for _, row := range []struct {
		wanted string
		p, q   bool
	}{{"P", true, false}, {"Q", false, true}} {
		draft, err := s.node.Draft(t.Context(), s.args())
		if err != nil {
			t.Fatal(err)
		}
		draft = s.builder.Fill(t.Context(), draft, func(tx common.Hash) bool { return tx == s.hash(row.wanted) })
		if draft.Has(s.hash("P")) != row.p || draft.Has(s.hash("Q")) != row.q {
			t.Errorf("with %s wanted: P %v, Q %v", row.wanted, draft.Has(s.hash("P")), draft.Has(s.hash("Q")))
		}
	}
}
