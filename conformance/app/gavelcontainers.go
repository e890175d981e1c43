package app

import (
	_ "embed" // gavel.yaml and gavel-literal.yaml
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gavel-relay/gavel/conformance/target"
)

//go:embed gavel.yaml
var gavelFile []byte

// gavelLiteralFile goes on where gavel.yaml ends, in its list of containers.
//
//go:embed gavel-literal.yaml
var gavelLiteralFile []byte

// GavelInContainers returns the target of our own services. All of them are started from the image
// ${IMAGE}. With literal, there are the same services in literal mode too. All relays have a list
// of trusted builders, whose keys the target has; a relay in literal mode must not heed it.
func GavelInContainers(literal bool) (*target.Target, error) {
	text := gavelFile
	if literal {
		text = slices.Concat(gavelFile, []byte("\n"), gavelLiteralFile)
	}
	t, err := target.Parse(text)
	if err != nil {
		return nil, err
	}
	keys, secrets, err := trustedBuilders()
	if err != nil {
		return nil, err
	}
	t.Relay.TrustedBuilders = secrets
	var list strings.Builder
	for _, name := range slices.Sorted(maps.Keys(keys)) {
		key := keys[name]
		fmt.Fprintf(&list, "- {name: %s, pubkeys: [\"%#x\"], optimistic: true, collateral_wei: \"%s\"}\n", name, key[:],
			trustedWei)
	}
	for i := range t.Containers {
		if c := &t.Containers[i]; slices.Contains(c.Command, "relay") {
			c.Command = append(c.Command, "--builders-file="+trustedFile)
			c.Files = map[string]string{trustedFile: list.String()}
		}
	}
	return t, nil
}

// trustedFile is where relays in containers find the list of builders that they trust, each up to
// trustedWei.
const (
	trustedFile = "/etc/builders.yaml"
	trustedWei  = "1000000000000000000"
)
