package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// Formats are the formats of a report, by name, and the files that WriteAll writes them to.
var Formats = []struct {
	Name, File string
	Write      func(r *Report, out io.Writer) error
}{
	{"json", "report.json", (*Report).JSON},
	{"html", "report.html", (*Report).HTML},
	{"junit", "junit.xml", (*Report).JUnit},
	{"badge", "badge.svg", (*Report).Badge},
	{"shields", "shields.json", (*Report).Shields},
	{"md", "report.md", (*Report).Markdown},
	{"table", "report.txt", (*Report).Table},
}

// JSON writes report.json.
func (r *Report) JSON(out io.Writer) error {
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", " ")
	if err := encoder.Encode(r); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	return nil
}

// WriteAll writes all formats into a folder, and makes the folder if there is none.
func (r *Report) WriteAll(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil { // everybody may read reports
		return fmt.Errorf("write the report: %w", err)
	}
	for _, format := range Formats {
		file, err := os.Create(filepath.Join(dir, format.File))
		if err != nil {
			return fmt.Errorf("write the report: %w", err)
		}
		if err := errors.Join(format.Write(r, file), file.Close()); err != nil {
			return err
		}
	}
	return nil
}
