package app

import (
	_ "embed" // gavel.yaml and gavel-literal.yaml
	"slices"

	"github.com/gavel-relay/gavel/conformance/target"
)

//go:embed gavel.yaml
var gavelFile []byte

// gavelLiteralFile goes on where gavel.yaml ends, in its list of containers.
//
//go:embed gavel-literal.yaml
var gavelLiteralFile []byte

// GavelInContainers returns the target of our own services. All of them are started from the image
// ${IMAGE}. With literal, there are the same services in literal mode too.
func GavelInContainers(literal bool) (*target.Target, error) {
	if literal {
		return target.Parse(slices.Concat(gavelFile, []byte("\n"), gavelLiteralFile))
	}
	return target.Parse(gavelFile)
}
