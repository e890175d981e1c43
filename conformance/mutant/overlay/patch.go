// Package overlay has the mutants inside our services. They are needed because a proxy before a
// service cannot change what the service does inside, such as a check that it skips. Each mutant is
// a patch of the service's sources. Write patches copies of them, and the go command builds a
// program from the copies; the sources themselves never change. The copies ask this package which
// mutant is on, so it imports nothing of the suite.
//
//	patches/ID.patch ──Write──▶ DIR/overlay.json + copies ──go build -overlay──▶ gavel-lab with all of
//	                                                        them, each behind overlay.On("ID") ◀── Switch("ID")
package overlay

import (
	"fmt"
	"strings"
)

// A Patch is a unified diff without line numbers. A hunk is found by its lines, which must occur
// together exactly once in the file. So a patch still fits after another one has inserted lines
// above.
type Patch struct {
	Files []File
}

// File is the part of a patch that changes one file.
type File struct {
	// Path is relative to the module. New says that the patch creates the file.
	Path  string
	New   bool
	Hunks []Hunk
}

// Hunk replaces the lines Old by the lines New.
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

// orEmptyLine returns the text of a context line. An empty context line is a single space, which
// editors remove; it is still an empty line.
func orEmptyLine(rest string) string {
	if rest == "" {
		return "\n"
	}
	return rest
}

// Apply returns the file's new text. The error says which hunk does not fit, and why.
func (f File) Apply(text string) (string, error) {
	for _, h := range f.Hunks {
		if f.New {
			text += h.New
			continue
		}
		// The line breaks make the search compare whole lines, and not parts of lines.
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
