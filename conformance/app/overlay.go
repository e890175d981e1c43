package app

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/gavel-relay/gavel/conformance/mutant/overlay"
)

// WriteOverlay writes copies of our services' sources with mutants inside into a folder, and prints
// the path of the file for go build -overlay.
func WriteOverlay(out io.Writer, source, into string) error {
	root, err := filepath.Abs(source)
	if err != nil {
		return fmt.Errorf("find the sources: %w", err)
	}
	if _, err := os.Stat(filepath.Join(root, "conformance", "mutant", "overlay")); err != nil {
		return Mistake("%s has no sources of gavel: give --source", source)
	}
	folder, err := filepath.Abs(into)
	if err != nil {
		return fmt.Errorf("find the folder for copies: %w", err)
	}
	file, err := overlay.Write(root, folder)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(out, file)
	return err
}
