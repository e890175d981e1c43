package container

import (
	_ "embed" // gavel.yaml

	"github.com/gavel-relay/gavel/conformance/target"
)

//go:embed gavel.yaml
var gavel []byte

// Gavel returns the target of our own services. All of them are started from the image ${IMAGE}.
func Gavel() (*target.Target, error) { return target.Parse(gavel) }
