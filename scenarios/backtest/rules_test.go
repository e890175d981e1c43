package backtest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gavel-relay/gavel/internal/golden"
	"github.com/gavel-relay/gavel/scenarios"
)

func TestInferRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"cancellations":        "write it as rule=choice",
		"colour=red":           "there is no such rule: give one of bids, ",
		"cancellations=maybe":  "give one of falling, never, always",
		"asked=2":              "give one of delivered, TIME",
		"asked=61s":            "give one of delivered, TIME",
		"cancellations=500ms":  "give one of falling",
		"otherwise=delivered":  "give one of 1s, TIME",
		"refused=enter=always": "give one of leave-out, enter",
	} {
		if _, err := Infer([]string{text}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// Each reason and each rule's choice is in a script.
func TestScriptsHaveAll(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
	}
	for _, r := range Reasons {
		if !strings.Contains(all.String(), "falls; "+string(r.Reason)) &&
			!strings.Contains(all.String(), "led; "+string(r.Reason)) {
			t.Errorf("no script ends with the reason %s", r.Reason)
		}
	}
	for _, r := range Rules {
		for n, c := range r.Choices {
			if n > 0 && c.Word != "TIME" && !strings.Contains(all.String(), r.Name+"="+c.Word) {
				t.Errorf("no script has %s=%s", r.Name, c.Word)
			}
		}
	}
}

// Each key of a what-if is in a script.
func TestScriptsHaveAllKeys(t *testing.T) {
	text, err := os.ReadFile("testdata/whatif.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range scenarios.WhatIfKeys {
		if !strings.Contains(string(text), "what-if "+k.Key+":") {
			t.Errorf("no line of whatif.txt begins with %s", k.Key)
		}
	}
}

func TestDocs(t *testing.T) {
	golden.Section(t, "../../docs/replay.md", "rules", RulesMarkdown())
	golden.Section(t, "../../docs/replay.md", "reasons", ReasonsMarkdown())
	golden.Section(t, "../../docs/replay.md", "results", Results.Markdown())
}
