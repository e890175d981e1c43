package app_test

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/relay/app"
)

// The escrow's files are gone after the header was served: the payload is revealed all the same.
//
//gavel:fault disk-full
func TestServedHeaderOutlivesTheEscrow(t *testing.T) {
	folder := t.TempDir() // before the relay, which is closed before it is removed
	h := newRelay(t, eth.Fulu, relayOptions{configure: func(c *app.Config) {
		trusting(c)
		c.DataDir = folder
	}})
	s := h.worth(t, 1, 1000)
	block := h.offered(t, s)
	files, err := filepath.Glob(filepath.Join(folder, "journal", "escrow", "*"))
	must(t, err)
	if len(files) == 0 {
		t.Fatal("the escrow has no files: the test takes nothing away")
	}
	for _, file := range files {
		must(t, os.Remove(file))
	}
	h.wantRevealed(t, v1Path, h.reveal(t, v1Path, block), s)
	h.reveal(t, v2Path, block).wantStatus(t, http.StatusAccepted)
}
