package deploy

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/gavel-relay/gavel/internal/golden"
)

// command is how a file of this folder starts gavel. A test of cmd/gavel gives each to the program,
// by testdata/commands.json.
type command struct {
	From      string            `json:"from"`
	Arguments []string          `json:"arguments"`
	Env       map[string]string `json:"env,omitempty"`
	// Files are by their paths in the container: secrets by their names, files of this folder, and
	// what has several lines as it is.
	Files map[string]string `json:"files,omitempty"`
}

// composeCommands are the commands of a compose file, by the names of its services.
func composeCommands(t *testing.T, path string) (all []command) {
	t.Helper()
	file := readCompose(t, path)
	for _, name := range slices.Sorted(maps.Keys(file.Services)) {
		s := file.Services[name]
		if !s.ours() {
			continue
		}
		files := map[string]string{}
		for _, secret := range s.Secrets {
			files["/run/secrets/"+secret] = secret
		}
		for _, volume := range s.Volumes {
			if parts := strings.Split(volume, ":"); strings.HasPrefix(volume, ".") {
				files[parts[1]] = strings.TrimLeft(parts[0], "./")
			}
		}
		all = append(all, command{path + " " + name, s.Command, s.Environment, files})
	}
	return all
}

// What the program is given to read is what the files say.
func TestCommandDocs(t *testing.T) {
	var all []command
	for _, path := range slices.Sorted(maps.Keys(composeFiles)) {
		all = append(all, composeCommands(t, path)...)
	}
	for _, name := range charts {
		all = append(all, chartCommands(t, name)...)
	}
	all = append(all, unitCommands(t)...)
	all = append(all, labCommands(t)...)
	text, err := json.MarshalIndent(all, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	golden.File(t, "testdata/commands.json", string(text)+"\n")
}
