// Package golden compares what a test makes with a checked-in file, and writes the file if the test
// binary gets -update. It is for tests only; importing it defines the flag.
package golden

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write golden files and generated documents instead of comparing")

// File compares a whole file.
func File(t testing.TB, path, got string) {
	t.Helper()
	if *update {
		write(t, path, got)
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v (-update writes it)", err)
	}
	if got != string(want) {
		t.Errorf("%s is not up to date (-update writes it); it should be\n%s", path, got)
	}
}

// Section compares the generated part of a file that is otherwise written by hand: the text between
// the two comments
//
//	<!-- generated: name -->
//	<!-- end: name -->
func Section(t testing.TB, path, name, got string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	replaced, err := replaceSection(string(text), name, got)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	if replaced == string(text) {
		return
	}
	if *update {
		write(t, path, replaced)
		return
	}
	t.Errorf("the section %q of %s is not up to date (-update writes it); it should be\n%s", name, path, got)
}

func replaceSection(text, name, section string) (string, error) {
	begin, end := fmt.Sprintf("<!-- generated: %s -->\n", name), fmt.Sprintf("<!-- end: %s -->", name)
	before, rest, found := strings.Cut(text, begin)
	if !found {
		return "", fmt.Errorf("no line %q", strings.TrimSpace(begin))
	}
	_, after, found := strings.Cut(rest, end)
	if !found {
		return "", fmt.Errorf("no line %q", end)
	}
	return before + begin + "\n" + strings.TrimSpace(section) + "\n\n" + end + after, nil
}

func write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
