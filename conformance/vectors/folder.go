package vectors

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
)

//go:embed schema/*.json
var schemas embed.FS

// File is a file of the vectors.
type File struct {
	// Path is below the folder, with slashes.
	Path   string `json:"path"`
	Bytes  int    `json:"bytes"`
	SHA256 string `json:"sha256"`
	// Schema is the path of the file's JSON Schema; empty for bodies of requests and answers.
	Schema string `json:"schema,omitempty"`
}

// Manifest is manifest.json: what the other files are, and what made them.
type Manifest struct {
	Schema    string   `json:"$schema"`
	Version   string   `json:"version"`
	Generator string   `json:"generator"`
	Seed      uint64   `json:"seed"`
	Forks     []string `json:"forks"`
	// Cases counts the cases of each suite.
	Cases map[string]int `json:"cases"`
	Files []File         `json:"files"`
}

// folder is where vectors are written. It keeps count of them.
type folder struct {
	dir   string
	files []File
	cases map[string]int
}

func newFolder(dir string) (*folder, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("make the folder of the vectors: %w", err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("read the folder of the vectors: %w", err)
	}
	if len(entries) > 0 {
		return nil, fmt.Errorf("%s is not empty: give a new folder, so that no old vectors stay among the new ones", dir)
	}
	return &folder{dir: dir, cases: map[string]int{}}, nil
}

// write writes one file and notes it for the manifest.
func (f *folder) write(name, schema string, content []byte) (File, error) {
	file := File{Path: name, Bytes: len(content), SHA256: sum(content), Schema: schema}
	at := filepath.Join(f.dir, filepath.FromSlash(name))
	err := os.MkdirAll(filepath.Dir(at), 0o755)
	if err == nil {
		err = os.WriteFile(at, content, 0o644)
	}
	if err != nil {
		return File{}, fmt.Errorf("write %s: %w", name, err)
	}
	f.files = append(f.files, file)
	return file, nil
}

// document writes a file of cases, and counts them to their suite.
func (f *folder) document(name, schema, suite string, cases int, content any) error {
	raw, err := indented(content)
	if err != nil {
		return fmt.Errorf("encode %s: %w", name, err)
	}
	f.cases[suite] += cases
	_, err = f.write(name, "schema/"+schema+".schema.json", raw)
	return err
}

func (f *folder) schemas() error {
	entries, err := schemas.ReadDir("schema")
	if err != nil {
		return fmt.Errorf("read the schemas: %w", err)
	}
	for _, entry := range entries {
		raw, err := schemas.ReadFile(path.Join("schema", entry.Name()))
		if err != nil {
			return fmt.Errorf("read a schema: %w", err)
		}
		if _, err := f.write("schema/"+entry.Name(), "", raw); err != nil {
			return err
		}
	}
	return nil
}

// manifest writes manifest.json, which lists all other files.
func (f *folder) manifest(cfg Config) (*Manifest, error) {
	m := &Manifest{
		Schema: "schema/manifest.schema.json", Version: Version, Generator: "gavel-lab conformance vectors",
		Seed: cfg.Seed, Cases: f.cases, Files: f.files,
	}
	for _, fork := range cfg.Forks {
		m.Forks = append(m.Forks, fork.String())
	}
	slices.SortFunc(m.Files, func(a, b File) int { return bytes.Compare([]byte(a.Path), []byte(b.Path)) })
	for i := 1; i < len(m.Files); i++ {
		if m.Files[i].Path == m.Files[i-1].Path {
			return nil, errors.New("two vectors have the same name: " + m.Files[i].Path)
		}
	}
	raw, err := indented(m)
	if err != nil {
		return nil, fmt.Errorf("encode the manifest: %w", err)
	}
	if err := os.WriteFile(filepath.Join(f.dir, "manifest.json"), raw, 0o644); err != nil {
		return nil, fmt.Errorf("write the manifest: %w", err)
	}
	return m, nil
}

// indented encodes a document for people and programs: two spaces, a line end, no escapes of HTML.
func indented(content any) ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	err := encoder.Encode(content)
	return out.Bytes(), err
}

func sum(content []byte) string {
	hash := sha256.Sum256(content)
	return hex.EncodeToString(hash[:])
}
