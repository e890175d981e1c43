package main

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

// The GitHub action gives flags that there are, and every input of it goes into one.
func TestActionFitsTheProgram(t *testing.T) {
	data, err := os.ReadFile("../../action.yml")
	if err != nil {
		t.Fatal(err)
	}
	var action struct {
		Inputs map[string]any `yaml:"inputs"`
		Runs   struct {
			Steps []struct {
				Run string            `yaml:"run"`
				Env map[string]string `yaml:"env"`
			} `yaml:"steps"`
		} `yaml:"runs"`
	}
	if err := yaml.Unmarshal(data, &action); err != nil {
		t.Fatal(err)
	}
	var known []string
	for _, flag := range runCommand().Flags {
		known = append(known, flag.Names()...)
	}
	given := map[string]bool{}
	for _, step := range action.Runs.Steps {
		for _, found := range regexp.MustCompile(`--([a-z-]+)`).FindAllStringSubmatch(step.Run, -1) {
			given[found[1]] = true
			if !slices.Contains(known, found[1]) {
				t.Errorf("the action gives --%s, which run does not know", found[1])
			}
		}
	}
	for input := range action.Inputs {
		if !given[input] || !strings.Contains(string(data), "${{ inputs."+input+" }}") {
			t.Errorf("the input %s goes nowhere", input)
		}
	}
	if len(given) == 0 {
		t.Error("the action gives no flags")
	}
}
