package bundle

import (
	"slices"
	"strings"

	"github.com/gavel-relay/gavel/rpc"
)

// OwnBuilder is the name of the operator's own builder in an order, whichever of its names the
// request used.
const OwnBuilder = "default"

// Bounds of builders lists: orders live long, and names that belong to no builder cost memory.
const (
	maxBuilders    = 100
	maxBuilderName = 100
)

// builderNames returns the names in lower case, each once, in the order in which they came. The
// registry decides which builder a name belongs to.
func builderNames(path string, lists ...[]string) ([]string, error) {
	var names []string
	for _, list := range lists {
		for i, name := range list {
			if len(name) > maxBuilderName || len(names) == maxBuilders {
				return nil, rpc.InvalidParams.With("%s[%d]: want at most %d names of at most %d bytes", path, i, maxBuilders,
					maxBuilderName)
			}
			name = strings.ToLower(name)
			if name == "flashbots" || name == "vendor" {
				name = OwnBuilder
			}
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names, nil
}
