package api

import (
	"net/http/httptest"
	"testing"

	"github.com/gavel-relay/gavel/devnet/chain/chaintest"
	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/relay"
)

// A fork with a row, but without a form, is known by its header: in slots of another fork it is the
// wrong one, in its own slots it is refused as one that is not served, header or not.
func TestTrialForkIsRefusedByName(t *testing.T) {
	trial := chaintest.TrialFork(t)
	for _, row := range []struct {
		header string
		active eth.Fork
		needed bool
		want   string
	}{
		{"trial", trial, true, relay.UnknownFork.ID},
		{"", trial, false, relay.UnknownFork.ID},
		{"trial", eth.Fulu, false, relay.WrongFork.ID},
		{"fulu", trial, false, relay.WrongFork.ID},
		{"gloas", eth.Gloas, true, relay.UnknownFork.ID},
		{"gloas", eth.Fulu, true, relay.WrongFork.ID},
		{"", eth.Gloas, false, relay.UnknownFork.ID},
		{"nonsense", trial, false, relay.UnknownFork.ID},
		{"", eth.Fulu, true, relay.UnknownFork.ID},
		{"Fulu", eth.Fulu, true, ""},
		{"", eth.Fulu, false, ""},
	} {
		r := httptest.NewRequest("POST", "/", nil)
		r.Header.Set(VersionHeader, row.header)
		fork, refused := Fork(r, row.active, row.needed)
		switch {
		case row.want == "" && (refused != nil || fork != row.active):
			t.Errorf("%q in %s: %s, %v", row.header, row.active, fork, refused)
		case row.want != "" && (refused == nil || refused.ID != row.want):
			t.Errorf("%q in %s: %v, want %s", row.header, row.active, refused, row.want)
		}
	}
}
