package scenarios

import (
	"embed"
	"fmt"
	"slices"
	"strings"
)

// library has the stories that come with the program. Each file is one story, with a paragraph that
// says why it exists, what happens in it, and how it must end.
//
//go:embed library/*.yaml
var library embed.FS

// Names returns the names of all scenarios in the library, in alphabetical order.
func Names() []string {
	entries, err := library.ReadDir("library")
	if err != nil { // the folder is embedded, so this cannot fail
		panic(err)
	}
	names := make([]string, len(entries))
	for i, entry := range entries {
		names[i] = strings.TrimSuffix(entry.Name(), ".yaml")
	}
	return names
}

// Open reads a scenario of the library. If there is none of that name, its error lists the names.
func Open(name string) (*Plan, error) {
	text, err := library.ReadFile("library/" + name + ".yaml")
	if err != nil {
		return nil, fmt.Errorf("there is no scenario %q: give a file, or one of %s", name, strings.Join(Names(), ", "))
	}
	return Parse(name+".yaml", text)
}

// FaultNames returns the names of the scenarios in which a service's process, disk, journal or
// clock breaks, and not only a connection or another participant.
func FaultNames() ([]string, error) {
	var names []string
	for _, name := range Names() {
		p, err := Open(name)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(p.Faults, Fault.BreaksProcess) {
			names = append(names, name)
		}
	}
	return names, nil
}
