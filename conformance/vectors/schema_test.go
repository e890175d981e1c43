package vectors_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/gavel-relay/gavel/conformance/clauses"
	"github.com/gavel-relay/gavel/conformance/vectors"
	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/golden"
)

// schemaOf compiles a schema of the vectors, which may refer to others beside it.
func schemaOf(t *testing.T, name string) *jsonschema.Schema {
	t.Helper()
	schema, err := jsonschema.NewCompiler().Compile(filepath.Join(folder(t), filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

func validate(t *testing.T, schema *jsonschema.Schema, raw []byte) error {
	t.Helper()
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	return schema.Validate(document)
}

// Each file is in the manifest, with its length and hash, and each file of cases fits its schema.
func TestFilesAreAsTheManifestSays(t *testing.T) {
	raw := read(t, "manifest.json")
	manifest := readInto[vectors.Manifest](t, "manifest.json")
	if err := validate(t, schemaOf(t, manifest.Schema), raw); err != nil {
		t.Error(err)
	}
	listed := []string{"manifest.json"}
	for _, file := range manifest.Files {
		listed = append(listed, file.Path)
		content := read(t, file.Path)
		hash := sha256.Sum256(content)
		if len(content) != file.Bytes || hex.EncodeToString(hash[:]) != file.SHA256 {
			t.Errorf("%s is not what the manifest says", file.Path)
		}
		if strings.HasSuffix(file.Path, "cases.json") != (file.Schema != "") {
			t.Errorf("%s has the schema %q", file.Path, file.Schema)
		}
		if file.Schema != "" {
			if err := validate(t, schemaOf(t, file.Schema), content); err != nil {
				t.Errorf("%s: %v", file.Path, err)
			}
		}
	}
	if found := filesIn(t, folder(t)); !slices.Equal(found, slices.Sorted(slices.Values(listed))) {
		t.Errorf("there are %d files, and the manifest lists %d", len(found), len(listed))
	}
}

func filesIn(t *testing.T, dir string) (names []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			names = append(names, filepath.ToSlash(strings.TrimPrefix(path, dir+string(filepath.Separator))))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(names)
	return names
}

// A schema refuses what its files never have: it is no schema that takes everything.
func TestSchemasRefuse(t *testing.T) {
	manifest := readInto[vectors.Manifest](t, "manifest.json")
	for _, file := range manifest.Files {
		if file.Schema == "" {
			continue
		}
		schema := schemaOf(t, file.Schema)
		for what, spoil := range map[string]func(map[string]any){
			"an unknown member":   func(d map[string]any) { d["more"] = 1 },
			"no suite":            func(d map[string]any) { delete(d, "suite") },
			"a case without name": func(d map[string]any) { delete(d["cases"].([]any)[0].(map[string]any), "name") },
			"a number for a name": func(d map[string]any) { d["cases"].([]any)[0].(map[string]any)["name"] = 7 },
			"no cases":            func(d map[string]any) { d["cases"] = []any{} },
		} {
			var document map[string]any
			if err := json.Unmarshal(read(t, file.Path), &document); err != nil {
				t.Fatal(err)
			}
			spoil(document)
			raw, err := json.Marshal(document)
			if err != nil {
				t.Fatal(err)
			}
			if validate(t, schema, raw) == nil {
				t.Errorf("%s takes %s in %s", file.Schema, what, file.Path)
			}
		}
	}
}

// Each clause that a vector names is in the catalogue, each name of a case is there once in its
// file, and the manifest counts the cases.
func TestCasesAreNamedAndCounted(t *testing.T) {
	catalogue, err := clauses.Load()
	if err != nil {
		t.Fatal(err)
	}
	manifest, counted := readInto[vectors.Manifest](t, "manifest.json"), map[string]int{}
	for _, file := range manifest.Files {
		if file.Schema == "" {
			continue
		}
		var document struct {
			Suite string `json:"suite"`
			Cases []struct {
				Name, Says string
				Expect     vectors.Expect
				Clauses    []string
			} `json:"cases"`
		}
		if err := json.Unmarshal(read(t, file.Path), &document); err != nil {
			t.Fatal(err)
		}
		seen := map[string]bool{}
		for _, c := range document.Cases {
			if seen[c.Name] {
				t.Errorf("%s has two cases %q", file.Path, c.Name)
			}
			seen[c.Name] = true
			for _, id := range append(c.Expect.Clauses, c.Clauses...) {
				if _, known := catalogue.Clause(id); !known {
					t.Errorf("%s, %s: there is no clause %s", file.Path, c.Name, id)
				}
			}
		}
		counted[document.Suite] += len(document.Cases)
	}
	if len(counted) != len(manifest.Cases) {
		t.Errorf("%d suites, the manifest has %d", len(counted), len(manifest.Cases))
	}
	for suite, count := range counted {
		if manifest.Cases[suite] != count {
			t.Errorf("%s has %d cases, the manifest says %d", suite, count, manifest.Cases[suite])
		}
	}
}

// The same seed makes the same bytes: those of a second run, and those that were made when the
// golden file was written. The hash of the manifest covers all files.
func TestSameSeedSameBytes(t *testing.T) {
	again := filepath.Join(t.TempDir(), "again")
	if _, err := vectors.Write(t.Context(), again, vectors.Config{Seed: 1}); err != nil {
		t.Fatal(err)
	}
	second, err := os.ReadFile(filepath.Join(again, "manifest.json"))
	if err != nil {
		t.Fatal(err)
	}
	first := read(t, "manifest.json")
	if !bytes.Equal(first, second) {
		t.Error("two runs with one seed differ")
	}
	hash := sha256.Sum256(first)
	golden.File(t, "testdata/seed1.sha256", hex.EncodeToString(hash[:])+"  manifest.json\n")
}

// Another seed makes other keys, hashes and signatures. A choice of forks leaves the other forks
// out.
func TestSeedAndForksAreChosen(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "other")
	manifest, err := vectors.Write(context.Background(), dir, vectors.Config{Seed: 2, Forks: []eth.Fork{eth.Capella}})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(manifest.Forks, []string{"capella"}) {
		t.Errorf("forks %v", manifest.Forks)
	}
	for _, file := range manifest.Files {
		if strings.Contains(file.Path, "fulu") {
			t.Errorf("%s was not asked for", file.Path)
		}
		if strings.HasSuffix(file.Path, "valid.ssz") {
			raw, err := os.ReadFile(filepath.Join(dir, file.Path))
			if err != nil {
				t.Fatal(err)
			}
			if bytes.Equal(raw, read(t, file.Path)) {
				t.Errorf("%s is the same with another seed", file.Path)
			}
		}
	}
	if _, err := vectors.Write(context.Background(), dir, vectors.Config{Seed: 2}); err == nil {
		t.Error("old vectors stay among new ones")
	}
}
