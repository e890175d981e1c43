//go:build duckdb

package query_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gavel-relay/gavel/internal/run"
	"github.com/gavel-relay/gavel/scenarios/query"
)

// Each format has all digits of a wei, and NULL as what it is.
func TestFormats(t *testing.T) {
	db := demo(t)
	answer, err := db.Ask(t.Context(), `SELECT 115792089237316195423570985008687907853::HUGEINT AS wei, NULL AS none,
		'a, "b"' AS "text", TIMESTAMPTZ '2023-10-18 11:20:35.5Z' AS at, 0.1::DOUBLE AS share, '\x01'::BLOB AS raw`)
	if err != nil {
		t.Fatal(err)
	}
	for format, want := range map[string]string{
		"table": "wei                                      none  text    at                      share  raw\n" +
			"115792089237316195423570985008687907853  NULL  a, \"b\"  2023-10-18T11:20:35.5Z  0.1    0x01\n",
		"csv": "wei,none,text,at,share,raw\n" +
			"115792089237316195423570985008687907853,,\"a, \"\"b\"\"\",2023-10-18T11:20:35.5Z,0.1,0x01\n",
		"json": "[\n  {\n    \"wei\": \"115792089237316195423570985008687907853\",\n    \"none\": null,\n" +
			"    \"text\": \"a, \\\"b\\\"\",\n" +
			"    \"at\": \"2023-10-18T11:20:35.5Z\",\n    \"share\": \"0.1\",\n    \"raw\": \"0x01\"\n  }\n]\n",
	} {
		var out bytes.Buffer
		if err := answer.Write(&out, format); err != nil || out.String() != want {
			t.Errorf("%s: %v\n%q, want\n%q", format, err, out.String(), want)
		}
	}
}

// A shell goes on after a statement that fails, and answers a last one without a semicolon.
func TestShell(t *testing.T) {
	db := demo(t)
	const statements = "SELECT count(*) AS bids\n  FROM bids;\nSELECT nothing FROM bids;\nSELECT 1 AS one;\n\n" +
		"SELECT 2 AS two"
	var out bytes.Buffer
	if err := db.Shell(t.Context(), strings.NewReader(statements), &out, "csv", false); err != nil {
		t.Fatal(err)
	}
	got := out.String()
	if !strings.HasPrefix(got, "bids\n1411\nerror: ask: Binder Error") || !strings.HasSuffix(got, "one\n1\ntwo\n2\n") {
		t.Errorf("%s", got)
	}
	out.Reset()
	if err := db.Shell(t.Context(), strings.NewReader(""), &out, "table", true); err != nil ||
		!strings.HasPrefix(out.String(), "Tables: bids, deliveries, results, transactions.") {
		t.Errorf("%v: %s", err, out.String())
	}
}

// A question that is given up ends at once, and one whose answer does not fit into memory is
// refused with what to do.
func TestQuestionsThatDoNotEnd(t *testing.T) {
	db := demo(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := db.Ask(ctx, "SELECT count(*) FROM range(1000000000000)"); err == nil {
		t.Error("an answer to a question that was given up")
	}
	_, err := db.Ask(t.Context(), "SELECT * FROM range(1000001)")
	if err == nil || !strings.Contains(err.Error(), "COPY") {
		t.Errorf("%v", err)
	}
}

// Folders without a table, and names that would be SQL, are mistakes or names, and nothing else.
func TestFoldersAreNames(t *testing.T) {
	for name, from := range map[string]query.Source{
		"no folder": {Dataset: filepath.Join(t.TempDir(), "none")}, "no table": {Dataset: t.TempDir()},
	} {
		if _, err := query.Open(t.Context(), from); run.Exit(new(bytes.Buffer), "gavel-lab", err) != 2 {
			t.Errorf("%s: %v", name, err)
		}
	}
	dir := filepath.Join(t.TempDir(), "it's; DROP VIEW bids; --")
	part := filepath.Join(dir, "bids", "day=2023-10-18")
	if err := os.MkdirAll(part, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(part, "11.parquet"), []byte("PAR1"), 0o644); err != nil {
		t.Fatal(err)
	}
	_, err := query.Open(t.Context(), query.Source{Dataset: dir})
	if err == nil || !strings.Contains(err.Error(), "11.parquet") {
		t.Errorf("a file that is no Parquet: %v", err)
	}
}
