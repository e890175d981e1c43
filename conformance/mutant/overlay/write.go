package overlay

import (
	"embed"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

//go:embed patches/*.patch
var patches embed.FS

const (
	module = "github.com/gavel-relay/gavel"
	// asked is the package that patched files ask whether a mutant is on. It imports nothing of the
	// module, since it becomes a part of every service.
	asked = "conformance/mutant/overlay"
	// switched is its file that says whether there are mutants.
	switched = asked + "/switch.go"
)

// Write patches copies of the sources below root with all mutants, puts them below the folder into,
// and returns the path of the file for go build -overlay. Both folders are absolute. An error names
// the mutant whose patch no longer fits.
func Write(root, into string) (string, error) {
	texts, err := patched(root)
	if err != nil {
		return "", err
	}
	without, err := read(root, switched)
	if err != nil {
		return "", err
	}
	texts[switched] = strings.Replace(without, "built = false", "built = true", 1)
	replace := map[string]string{}
	for path, text := range texts {
		copied := filepath.Join(into, filepath.FromSlash(path)) + ".patched" // so that it is no package of its own
		if err := os.MkdirAll(filepath.Dir(copied), 0o755); err != nil {
			return "", fmt.Errorf("write the overlay: %w", err)
		}
		if err := os.WriteFile(copied, []byte(text), 0o644); err != nil {
			return "", fmt.Errorf("write the overlay: %w", err)
		}
		replace[filepath.Join(root, filepath.FromSlash(path))] = copied
	}
	raw, err := json.MarshalIndent(map[string]any{"Replace": replace}, "", "\t")
	if err != nil {
		return "", fmt.Errorf("write the overlay: %w", err)
	}
	file := filepath.Join(into, "overlay.json")
	if err := os.WriteFile(file, raw, 0o644); err != nil {
		return "", fmt.Errorf("write the overlay: %w", err)
	}
	return file, nil
}

// patched returns the texts of all patched files by their paths below root.
func patched(root string) (map[string]string, error) {
	texts := map[string]string{}
	for _, m := range slices.Concat(All, Unnoticed) {
		raw, err := patches.ReadFile("patches/" + m.ID + ".patch")
		if err != nil {
			return nil, fmt.Errorf("mutant %s has no patch: %w", m.ID, err)
		}
		p, err := Parse(string(raw))
		if err != nil {
			return nil, fmt.Errorf("read the patch of %s: %w", m.ID, err)
		}
		for _, file := range p.Files {
			text, done := texts[file.Path]
			if !done && !file.New {
				if text, err = read(root, file.Path); err != nil {
					return nil, fmt.Errorf("mutant %s: %w", m.ID, err)
				}
			}
			if texts[file.Path], err = file.Apply(text); err != nil {
				return nil, fmt.Errorf("mutant %s: %w", m.ID, err)
			}
		}
	}
	for path, text := range texts {
		texts[path] = importing(text)
	}
	return texts, nil
}

var packageClause = regexp.MustCompile(`(?m)^package \w+$`)

// importing adds the import of this package to a file that calls overlay.On.
func importing(text string) string {
	if !strings.Contains(text, "overlay.On(") {
		return text
	}
	at := packageClause.FindStringIndex(text)
	if at == nil {
		return text // no Go file; the compiler will report it
	}
	return text[:at[1]] + "\n\nimport \"" + module + "/" + asked + "\"" + text[at[1]:]
}

func read(root, path string) (string, error) {
	raw, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(path)))
	if err != nil {
		return "", fmt.Errorf("read a source: %w", err)
	}
	return string(raw), nil
}
