package app

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// folderOf is a run folder with these files; facts are those of a recorded run.
func folderOf(t *testing.T, files map[string]string) string {
	t.Helper()
	folder := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

func recorded(t *testing.T) string {
	t.Helper()
	facts, err := os.ReadFile("../testdata/facts.ndjson")
	if err != nil {
		t.Fatal(err)
	}
	return string(facts)
}

// The page of a run folder has its facts and verdicts. Of a run that was killed it has what is
// there, and says what is not.
func TestWriteTimeline(t *testing.T) {
	const plan, about = "slots: 2\nspeed: 2\n", `{"name": "story", "variant": "speed=2", "seed": 7, "go": "go1.26"}`
	const verdicts = `[{"expectation": "landed in slot <b>1</b>", "met": true, "reason": "once"}]`
	for name, row := range map[string]struct {
		files map[string]string
		want  []string
		not   string
	}{
		"whole": {map[string]string{"plan.yaml": plan, "run.json": about, "verdicts.json": verdicts,
			"facts.ndjson": recorded(t)},
			[]string{"<h1>story speed=2</h1>", "✓ met: landed in slot &lt;b&gt;1&lt;/b&gt; — once",
				"submission judged builder-1", "27 facts."}, "is broken"},
		"killed": {map[string]string{"plan.yaml": plan, "run.json": about, "facts.ndjson": recorded(t)[:20_000]},
			[]string{"did not come to its end", "Facts are missing, since the file is broken: read fact 2", "2 facts."}, "✓"},
		"no fact": {map[string]string{"plan.yaml": plan, "run.json": about, "facts.ndjson": ""},
			[]string{"No fact has come yet."}, "is broken"},
	} {
		folder := folderOf(t, row.files)
		path := filepath.Join(folder, "run.html")
		if err := WriteTimeline(folder, path); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		page, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range row.want {
			if !strings.Contains(string(page), want) {
				t.Errorf("%s: no %q in\n%.3000s", name, want, page)
			}
		}
		if strings.Contains(string(page), row.not) {
			t.Errorf("%s: the page has %q", name, row.not)
		}
	}
}

// What is no run folder, and what cannot be written, is said in words, and no half of a page is
// left.
func TestWriteTimelineRefuses(t *testing.T) {
	good := map[string]string{"plan.yaml": "slots: 1\n", "run.json": "{}", "facts.ndjson": ""}
	with := func(name, text string) map[string]string {
		files := map[string]string{}
		for name, text := range good {
			files[name] = text
		}
		if files[name] = text; text == "" {
			delete(files, name)
		}
		return files
	}
	for name, row := range map[string]struct {
		files      map[string]string
		path, want string
	}{
		"no plan":          {with("plan.yaml", ""), "run.html", "read the run: open "},
		"a broken plan":    {with("plan.yaml", "slotz: 1"), "run.html", "unknown key"},
		"no description":   {with("run.json", ""), "run.html", "read the run: open "},
		"a broken one":     {with("run.json", "["), "run.html", "run.json: unexpected EOF"},
		"no facts":         {with("facts.ndjson", ""), "run.html", "read the run: open "},
		"broken verdicts":  {with("verdicts.json", "{}"), "run.html", "verdicts.json: json: cannot unmarshal"},
		"no place":         {good, "nowhere/run.html", "write the page: "},
		"a folder instead": {good, ".", "write the page: "},
	} {
		folder := folderOf(t, row.files)
		err := WriteTimeline(folder, filepath.Join(folder, row.path))
		if err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: %v, want %q", name, err, row.want)
		}
		for _, of := range []string{folder, filepath.Dir(folder)} {
			if left, _ := filepath.Glob(filepath.Join(of, ".run-*")); len(left) > 0 {
				t.Errorf("%s: left %v", name, left)
			}
		}
	}
}
