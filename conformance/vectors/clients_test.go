//go:build clients

package vectors_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gavel-relay/gavel/conformance/vectors"
	"github.com/gavel-relay/gavel/internal/eth"
)

// consume runs the JavaScript program on a folder of vectors.
func consume(t *testing.T, dir string) (said string, err error) {
	t.Helper()
	node := exec.CommandContext(t.Context(), "node", "client.mjs", dir)
	node.Dir = "testdata/client"
	out, err := node.CombinedOutput()
	return string(out), err
}

// Libraries of another language read all vectors, and find what the vectors say: encodings, roots,
// signatures, hashes and events.
func TestClientsConsumeVectors(t *testing.T) {
	said, err := consume(t, folder(t))
	if err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	t.Log(said)
}

// The JavaScript program notices one wrong byte in a vector: by the manifest, and by what the
// vector says.
func TestClientsNoticeWrongVectors(t *testing.T) {
	dir := t.TempDir()
	if _, err := vectors.Write(t.Context(), dir, vectors.Config{Seed: 1, Forks: []eth.Fork{eth.Capella}}); err != nil {
		t.Fatal(err)
	}
	if said, err := consume(t, dir); err != nil {
		t.Fatalf("before anything is wrong: %v: %s", err, said)
	}
	var wanted []string
	for _, row := range []struct {
		file, says string
		spoil      func([]byte) []byte
	}{
		{"relay/submissions/capella/valid.ssz", "relay/submissions capella/valid: another signing root",
			func(raw []byte) []byte { raw[3] ^= 1; return raw }},
		{"relay/reveals/capella/first.ssz", "relay/reveals capella/first: ",
			func(raw []byte) []byte { raw[150] ^= 1; return raw }},
		{"rpc/eth-send-bundle/cases.json", "rpc/eth-send-bundle one: hash",
			func(raw []byte) []byte {
				return bytes.Replace(raw, []byte(`"bundleHash": "0x`), []byte(`"bundleHash": "0xf`), 1)
			}},
		{"rpc/signatures/cases.json", "rpc/signatures right: signer undefined, expected accepted",
			func(raw []byte) []byte {
				return bytes.Replace(raw, []byte("getUserStatsV2"), []byte("getUserStatsV3"), 1)
			}},
		{"stream/transcripts/cases.json", "stream/transcripts one: ",
			func(raw []byte) []byte {
				return bytes.Replace(raw, []byte(`"bytes": "0x64`), []byte(`"bytes": "0x65`), 1)
			}},
	} {
		name := filepath.Join(dir, row.file)
		good, err := os.ReadFile(name)
		if err == nil {
			err = os.WriteFile(name, row.spoil(good), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		wanted = append(wanted, "manifest "+row.file+": other bytes", row.says)
	}
	said, err := consume(t, dir)
	if err == nil {
		t.Fatalf("wrong vectors are taken: %s", said)
	}
	for _, want := range wanted {
		if !strings.Contains(said, want) {
			t.Errorf("%q is not noticed: %s", want, said)
		}
	}
}
