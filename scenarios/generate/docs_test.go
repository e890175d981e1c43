package generate

import (
	"testing"

	"github.com/gavel-relay/gavel/internal/golden"
)

func TestDocs(t *testing.T) { golden.Section(t, "../../docs/replay.md", "explained", "\n"+Explained()) }
