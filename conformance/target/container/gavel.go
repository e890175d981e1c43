package container

import (
	_ "embed" // the file of our own services

	"github.com/gavel-relay/gavel/conformance/target"
)

//go:embed gavel.yaml
var gavel []byte

// Gavel is the target of our own services; all of them are started from ${IMAGE}.
func Gavel() (*target.Target, error) { return target.Parse(gavel) }
