package app

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/ethereum/go-ethereum/common"

	"github.com/gavel-relay/gavel/internal/journal"
)

// A bundle RPC does not start on the journal of another chain, nor on that of a chain which has the
// same id and another first block. It writes nothing there.
func TestJournalOfAnotherNetwork(t *testing.T) {
	h := openChain(t)
	dir := t.TempDir()
	ours := h.config(func(c *Config) { c.DataDir, c.Genesis = dir, common.Hash{1} })
	h.serve(ours)()
	for name, change := range map[string]func(*Config){
		"another genesis": func(c *Config) { c.Genesis = common.Hash{2} },
		"another chain": func(c *Config) {
			other := *c.ChainConfig
			other.ChainID = common.Big1
			c.ChainConfig = &other
		},
	} {
		other := ours
		change(&other)
		if app, err := New(t.Context(), other); !errors.Is(err, journal.ErrOtherNetwork) {
			t.Errorf("%s: %v", name, err)
			if err == nil {
				t.Error(app.Close())
			}
		}
	}
	j := openJournal(t, journal.Config{Dir: filepath.Join(dir, "journal")})
	if known, err := j.Network(t.Context()); err != nil || known["chain"] != h.node.Chain().Config().ChainID.String() ||
		known["execution-genesis"] != (common.Hash{1}).Hex() {
		t.Errorf("%v, %v", known, err)
	}
}
