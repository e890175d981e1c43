package vectors_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/gavel-relay/gavel/conformance/vectors"
)

// made has the vectors of seed 1, which all tests read. They are made once.
var made = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "vectors")
	if err != nil {
		return "", err
	}
	_, err = vectors.Write(context.Background(), dir, vectors.Config{Seed: 1})
	return dir, err
})

func TestMain(m *testing.M) {
	status := m.Run()
	if dir, err := made(); err == nil {
		_ = os.RemoveAll(dir) // a folder that stays is found by scripts/leftovers.sh
	}
	os.Exit(status)
}

// folder returns where the vectors are.
func folder(t *testing.T) string {
	t.Helper()
	dir, err := made()
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// read reads a file of the vectors.
func read(t *testing.T, name string) []byte {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(folder(t), filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// readInto reads a JSON document of the vectors, which has no member that its type does not have.
func readInto[T any](t *testing.T, name string) (document T) {
	t.Helper()
	decoder := json.NewDecoder(strings.NewReader(string(read(t, name))))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&document); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return document
}
