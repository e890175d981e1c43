// Package overlay has the mutants inside our services: what a service keeps to itself, or which
// check it skips, no proxy before it can change. Each is a patch of its sources, which are patched
// in copies and never as they stand; the go command builds a program from the copies.
//
//	patches/ID.patch ──Write──▶ DIR/overlay.json + copies ──go build -overlay──▶ gavel-lab with all of
//	                                                        them, each behind inside.On("ID")
package overlay

import (
	"fmt"
	"strings"
)

// A Patch is a unified diff without line numbers: each hunk names lines that stand together exactly
// once in the file, whatever was inserted above them, so that patches can be applied one after
// another.
type Patch struct {
	Files []File
}

// File is what a patch does to one file.
type File struct {
	// Path is relative to the module. New says that the file is not there before.
	Path  string
	New   bool
	Hunks []Hunk
}

// Hunk puts New in the place of Old.
type Hunk struct{ Old, New string }

// Parse reads a patch. The error names the line.
func Parse(text string) (*Patch, error) {
	p := &Patch{}
	var file *File
	var hunk *Hunk
	fresh := false
	for i, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		kind, rest := "", ""
		if line != "" {
			kind, rest = line[:1], line[1:]+"\n"
		}
		switch {
		case strings.HasPrefix(line, "--- "):
			fresh, hunk = line == "--- /dev/null", nil
		case strings.HasPrefix(line, "+++ b/"):
			p.Files = append(p.Files, File{Path: strings.TrimPrefix(line, "+++ b/"), New: fresh})
			file, hunk = &p.Files[len(p.Files)-1], nil
		case strings.HasPrefix(line, "@@") && file != nil:
			file.Hunks = append(file.Hunks, Hunk{})
			hunk = &file.Hunks[len(file.Hunks)-1]
		case hunk == nil:
			return nil, fmt.Errorf("line %d: %q stands before a hunk (@@) of a file (+++ b/…)", i+1, line)
		case kind == " " || kind == "":
			hunk.Old, hunk.New = hunk.Old+orEmptyLine(rest), hunk.New+orEmptyLine(rest)
		case kind == "-":
			hunk.Old += rest
		case kind == "+":
			hunk.New += rest
		default:
			return nil, fmt.Errorf("line %d: %q begins with none of blank, - and +", i+1, line)
		}
	}
	return p, nil
}

// orEmptyLine is a context line; editors take the blank of an empty one away.
func orEmptyLine(rest string) string {
	if rest == "" {
		return "\n"
	}
	return rest
}

// Apply is the file's new text. The error says which hunk does not fit, and why.
func (f File) Apply(text string) (string, error) {
	for _, h := range f.Hunks {
		if f.New {
			text += h.New
			continue
		}
		// Lines are compared whole, so that no part of one is found.
		switch before, after, found := strings.Cut("\n"+text, "\n"+h.Old); {
		case h.Old == "":
			return "", fmt.Errorf("%s: a hunk has no line by which it is found", f.Path)
		case !found:
			return "", fmt.Errorf("%s does not have the lines\n%s", f.Path, h.Old)
		case strings.Contains("\n"+after, "\n"+h.Old):
			return "", fmt.Errorf("%s has these lines more than once:\n%s", f.Path, h.Old)
		default:
			text = strings.TrimPrefix(before+"\n"+h.New+after, "\n")
		}
	}
	return text, nil
}
