// Package scenarios is the library: one file a story, each with the paragraph that says why it is
// told, what happens, and how it must end.
//
//	gavel-lab scenario list
//	gavel-lab scenario run equivocating-proposer
package scenarios

import (
	"embed"
	"fmt"
	"strings"

	"github.com/gavel-relay/gavel/scenarios/plan"
)

//go:embed library/*.yaml
var library embed.FS

// Names are all scenarios of the library, in alphabetical order.
func Names() []string {
	entries, err := library.ReadDir("library")
	if err != nil { // it is part of the program
		panic(err)
	}
	names := make([]string, len(entries))
	for i, entry := range entries {
		names[i] = strings.TrimSuffix(entry.Name(), ".yaml")
	}
	return names
}

// Open reads a scenario of the library. Its error says which there are.
func Open(name string) (*plan.Plan, error) {
	text, err := library.ReadFile("library/" + name + ".yaml")
	if err != nil {
		return nil, fmt.Errorf("there is no scenario %q: give a file, or one of %s", name, strings.Join(Names(), ", "))
	}
	return plan.Parse(name+".yaml", text)
}
