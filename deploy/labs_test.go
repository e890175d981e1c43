package deploy

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

// The playbooks read the variables that they have, and give gavel-lab flags that it knows.
func TestPlaybooksAskForWhatThereIs(t *testing.T) {
	paths, err := filepath.Glob("labs/assertoor/*.yaml")
	if err != nil || len(paths) != 3 {
		t.Fatal(paths, err)
	}
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) { checkPlaybook(t, path) })
	}
}

func checkPlaybook(t *testing.T, path string) {
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var playbook struct {
		ID, Name, Timeout string
		Config            map[string]string
		Tasks             []struct {
			Name, Title, Timeout string
			Config               struct {
				Shell, Command string
				EnvVars        map[string]string `yaml:"envVars"`
				MaxUnfinalized int               `yaml:"maxUnfinalizedEpochs"`
			}
		}
	}
	if err := yaml.UnmarshalWithOptions(text, &playbook, yaml.DisallowUnknownField()); err != nil {
		t.Fatal(err)
	}
	flags, err := os.ReadFile("../docs/flags.md")
	if err != nil {
		t.Fatal(err)
	}
	_, known, _ := strings.Cut(string(flags), "### `gavel-lab conformance run`\n")
	known, _, _ = strings.Cut(known, "\n### ")
	judge := playbook.Tasks[len(playbook.Tasks)-1].Config
	used := regexp.MustCompile(`--[a-z-]+`).FindAllString(judge.Command, -1)
	if len(used) < 3 || !strings.Contains(judge.Command, "gavel-lab conformance run ") {
		t.Errorf("%q", judge.Command)
	}
	for _, flag := range used {
		if !strings.Contains(known, "| `"+flag+"` |") {
			t.Errorf("gavel-lab conformance run has no %s", flag)
		}
	}
	for name, variable := range judge.EnvVars {
		if playbook.Config[variable] == "" || !strings.Contains(judge.Command, "$"+name) {
			t.Errorf("%s is %s, which is set or used nowhere", name, variable)
		}
	}
}
