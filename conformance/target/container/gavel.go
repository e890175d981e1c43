package container

import (
	_ "embed" // gavel.yaml and gavel-literal.yaml
	"slices"

	"github.com/gavel-relay/gavel/conformance/target"
)

//go:embed gavel.yaml
var gavel []byte

// gavelLiteral goes on where gavel.yaml ends, in its list of containers.
//
//go:embed gavel-literal.yaml
var gavelLiteral []byte

// Gavel returns the target of our own services. All of them are started from the image ${IMAGE}.
// With literal, there are the same services in literal mode too.
func Gavel(literal bool) (*target.Target, error) {
	if literal {
		return target.Parse(slices.Concat(gavel, []byte("\n"), gavelLiteral))
	}
	return target.Parse(gavel)
}
