//go:build unix

package arch

import (
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// checkout is a copy of some scripts, with a place for a repository around them and a PATH of its
// own.
type checkout struct {
	t    *testing.T
	root string
	bin  string
}

// tools are what any machine has, as against what scripts/needs.sh looks for.
var tools = []string{
	"awk", "bash", "basename", "cat", "cut", "diff", "dirname", "env", "find", "grep", "head", "id", "kill", "ls", "mkdir",
	"mktemp", "mv", "nproc", "paste", "readlink", "rm",
	"sed", "sleep", "sort", "tail", "tee", "touch", "tr", "umount", "uname", "xargs", "chmod",
}

func newCheckout(t *testing.T, scripts ...string) *checkout {
	t.Helper()
	h := &checkout{t: t, root: t.TempDir()}
	h.bin = filepath.Join(h.root, "path")
	for _, tool := range tools {
		if path, err := exec.LookPath(tool); err == nil { // who needs one that is not there says so
			h.do(os.MkdirAll(h.bin, 0o700))
			h.do(os.Symlink(path, filepath.Join(h.bin, tool)))
		}
	}
	for _, name := range scripts {
		text, err := os.ReadFile(filepath.Join("../../scripts", name))
		h.do(err)
		h.write(filepath.Join("scripts", name), string(text))
	}
	return h
}

func (h *checkout) do(err error) {
	h.t.Helper()
	if err != nil {
		h.t.Fatal(err)
	}
}

// write makes a file that can be run.
func (h *checkout) write(name, text string) {
	h.t.Helper()
	path := filepath.Join(h.root, name)
	h.do(os.MkdirAll(filepath.Dir(path), 0o700))
	h.do(os.WriteFile(path, []byte(text), 0o700)) // it is a program
}

// has puts a program into the PATH that runs some lines of shell.
func (h *checkout) has(name, lines string) {
	h.t.Helper()
	h.write("path/"+name, "#!/bin/sh\n"+lines+"\n")
}

// run runs a script and is what it said, and its status.
func (h *checkout) run(args ...string) (said string, status int) {
	h.t.Helper()
	command := exec.CommandContext(h.t.Context(), filepath.Join(h.bin, "bash"), args...)
	command.Dir, command.Env = h.root, []string{"PATH=" + h.bin, "HOME=" + h.root, "SSL_CERT_FILE=/there"}
	out, err := command.CombinedOutput()
	if _, ended := err.(*exec.ExitError); err != nil && !ended { //nolint:errorlint // as it is returned
		h.t.Fatal(err)
	}
	return string(out), command.ProcessState.ExitCode()
}

// want wants a script's status and words, and not others.
func (h *checkout) want(what, said string, status, wanted int, words ...string) {
	h.t.Helper()
	if status != wanted {
		h.t.Errorf("%s: status %d, want %d: %s", what, status, wanted, said)
	}
	for _, word := range words {
		if !strings.Contains(said, word) {
			h.t.Errorf("%s: it does not say %q: %s", what, word, said)
		}
	}
}

// A run of a fuzz target that ended by its time alone is no finding; whatever else ends one is,
// also at the moment of its time.
func TestFuzzTellsFindingsFromDeadlines(t *testing.T) {
	const late = "--- FAIL: FuzzOne (10.02s)\n    context deadline exceeded\n"
	for name, c := range map[string]struct {
		output string
		status int
	}{
		"it ends well":                     {"fuzz: elapsed: 10s, execs: 4711 (471/sec)\nPASS\n", 0},
		"its time is over":                 {late + "FAIL\n", 0},
		"earlier inputs take all its time": {"fuzz: elapsed: 10s, gathering baseline coverage: 403/538 completed\nPASS\n", 0},
		"a finding": {
			"--- FAIL: FuzzOne (0.02s)\n    --- FAIL: FuzzOne (0.00s)\n        one_test.go:9: wrong\n\n    Failing input " +
				"written to testdata/fuzz/FuzzOne/1\n", 1},
		"a finding at the deadline": {late + "    Failing input written to testdata/fuzz/FuzzOne/1\nFAIL\n", 1},
		"a seed at the deadline":    {late + "    --- FAIL: FuzzOne/seed#0 (0.00s)\n        one_test.go:9: wrong\n", 1},
		"a panic at the deadline":   {late + "panic: runtime error: index out of range\n", 1},
		"a worker that hangs": {late +
			"    fuzzing process hung or terminated unexpectedly while minimizing: exit status 2\n", 1},
		"nothing runs":      {"testing: warning: no fuzz tests to fuzz\nPASS\n", 1},
		"it does not start": {"cannot open the corpus\n", 1},
	} {
		t.Run(name, func(t *testing.T) {
			h := newCheckout(t, "fuzz.sh")
			h.write("one/one_test.go", "package one\n\nfunc FuzzOne(f *testing.F) {}\n")
			h.write("output", c.output)
			failed := "1"
			if strings.HasSuffix(c.output, "PASS\n") {
				failed = "0"
			}
			// What the go command builds is a program that says what the target would.
			h.has("go", `case $1 in
env) echo "$HOME/cache" ;;
test) while [ "$1" != -o ]; do shift; done; printf '#!/bin/sh\ncat "%s/output"; exit `+failed+
				`\n' "$HOME" >"$2"; chmod +x "$2" ;;
esac`)
			said, status := h.run("scripts/fuzz.sh", "10s")
			if (status != 0) != (c.status != 0) || strings.Contains(said, "FAILS") != (c.status != 0) ||
				!strings.Contains(said, "1 fuzz targets ran") {
				t.Errorf("status %d, want %d: %s", status, c.status, said)
			}
		})
	}
}

// What is missing is named, all of it and nothing else, with how to install it; root has it
// installed where that is Debian.
func TestNeedsNameWhatIsMissing(t *testing.T) {
	asUser, asRoot := `[ "$1" = -u ] && echo 1000`, `[ "$1" = -u ] && echo 0`
	h := newCheckout(t, "needs.sh")
	h.write("go.mod", "module x\n\ngo 1.26.5\n")
	h.do(os.Remove(filepath.Join(h.bin, "id")))
	h.has("id", asUser)

	all := []string{"git", "make", "gcc", "libc6-dev"}
	said, status := h.run("scripts/needs.sh", "build")
	h.want("a bare machine", said, status, 1,
		"missing: git make gcc libc6-dev. Install them, for example: sudo apt-get install git make gcc libc6-dev",
		"missing: go 1.26 or newer")
	said, status = h.run("scripts/needs.sh", "tests")
	h.want("a bare machine, for tests", said, status, 1, append(all, "curl", "prometheus", "chromium",
		"missing: go 1.26")...)

	h.do(os.Remove(filepath.Join(h.bin, "id")))
	h.has("id", asRoot)
	h.has("apt-get",
		`case $1 in install) for one; do case $one in -*|install|libc6-dev) ;; gcc) printf '#!/bin/sh\n' >"$HOME/path/cc" ;; *) printf '#!/bin/sh\necho 1\n' >"$HOME/path/$one" ;; esac; done; chmod +x "$HOME"/path/*; echo "installed $*" >&2 ;; esac`)
	h.has("go", "echo go1.26.5")
	said, status = h.run("scripts/needs.sh", "build")
	h.want("root on Debian", said, status, 0, "installed install -qq -y --no-install-recommends git make gcc libc6-dev",
		"nothing is missing (go1.26.5")
	said, status = h.run("scripts/needs.sh", "build")
	if h.want("once more", said, status, 0, "nothing is missing"); strings.Contains(said, "install") {
		t.Errorf("what is there is installed again: %s", said)
	}
	h.has("go", "echo go1.25.9")
	said, status = h.run("scripts/needs.sh", "build")
	h.want("an old go", said, status, 1, "go 1.25.9 is too old: install 1.26 or newer")
}

// What a command leaves is listed and removed, and fails it; its own status comes first.
func TestLeftoversAreNoticed(t *testing.T) {
	if _, err := os.Stat("/proc/self/environ"); err != nil {
		t.Skip("skipped: there is no /proc to look at processes")
	}
	for name, c := range map[string]struct {
		command string
		status  int
		words   []string
	}{
		"nothing":              {`mkdir "$TMPDIR/x" && rmdir "$TMPDIR/x"`, 0, nil},
		"a folder":             {`mkdir "$TMPDIR/left"`, 1, []string{"left behind: ", "/left"}},
		"a failure":            {`mkdir "$TMPDIR/left"; exit 3`, 3, []string{"/left"}},
		"a process":            {`sleep 1000 >/dev/null 2>&1 &`, 1, []string{"left behind: process ", "sleep 1000"}},
		"one in a new session": {`setsid sleep 1000 >/dev/null 2>&1 &`, 1, []string{"left behind: process ", "sleep 1000"}},
	} {
		t.Run(name, func(t *testing.T) {
			h := newCheckout(t, "leftovers.sh")
			for _, tool := range []string{"setsid", "rmdir"} {
				path, err := exec.LookPath(tool)
				h.do(err)
				h.do(os.Symlink(path, filepath.Join(h.bin, tool)))
			}
			said, status := h.run("scripts/leftovers.sh", "bash", "-c", `echo "$TMPDIR" >"$HOME/where"; `+c.command)
			h.want(name, said, status, c.status, c.words...)
			if c.words == nil && said != "" {
				t.Errorf("it says %s", said)
			}
			where, err := os.ReadFile(filepath.Join(h.root, "where"))
			h.do(err)
			if _, err := os.Stat(strings.TrimSpace(string(where))); !os.IsNotExist(err) {
				t.Errorf("the folder itself is left: %v", err)
			}
		})
	}
}

// Steps run side by side, and each one's words come whole. The first that fails ends the run with
// its status, whichever of them is shown, and nothing that it has begun outlives it.
func TestStepsEndWithTheFirstFailure(t *testing.T) {
	const forever = `sleep 30 & echo $$ $! >new; mv new pids; wait`
	for name, c := range map[string]struct {
		behind, shown string
		status        int
		words         []string
	}{
		"all end well": {"echo b1; echo b2 SKIPPED", "echo s1 SKIPPED", 0, []string{
			"== shown: bash -c echo s1 SKIPPED\ns1 SKIPPED\n== shown: ok after ", "\nb1\nb2 SKIPPED\n== behind: ok after ",
			"\nsaid:\nb2 SKIPPED\ns1 SKIPPED\n"}},
		"the shown one fails": {forever, "echo s1; until [ -s pids ]; do :; done; exit 3", 3,
			[]string{"s1\n== shown: FAILED with status 3 after ", "== behind: ended unfinished\n"}},
		"the other one fails": {"until [ -s pids ]; do :; done; echo b1; exit 4", forever, 4,
			[]string{"\nb1\n== behind: FAILED with status 4 after ", "== shown: ended unfinished\n"}},
		"it failed already": {"echo b1; exit 5", "while kill -0 $(cat behind); do :; done 2>there; exit 0", 5,
			[]string{"\nb1\n== behind: FAILED with status 5 after "}},
		"it is killed": {"kill -KILL $$", "true", 137, []string{"== behind: FAILED with status 137 after "}},
	} {
		t.Run(name, func(t *testing.T) {
			h := newCheckout(t, "steps.sh")
			h.write("run", "set -euo pipefail\nsource scripts/steps.sh\nbegin behind bash -c '"+c.behind+"'\n"+
				"echo ${group[behind]} >behind\nstep shown bash -c '"+c.shown+"'\nfinish behind\n"+
				"echo said:; said SKIPPED\n")
			said, status := h.run("run")
			h.want(name, said, status, c.status, c.words...)
			pids, err := os.ReadFile(filepath.Join(h.root, "pids"))
			if (err == nil) != (c.behind == forever || c.shown == forever) {
				t.Errorf("what runs for ever has begun: %v", err)
			}
			for _, pid := range strings.Fields(string(pids)) {
				if number, err := strconv.Atoi(pid); err != nil || syscall.Kill(number, 0) == nil {
					t.Errorf("process %s is left: %v", pid, err)
				}
			}
		})
	}
}

// CI runs every step, whatever runs beside it; one that fails fails the run, and what a machine
// could not show is said at the end.
func TestCIRunsEveryStep(t *testing.T) {
	steps := []string{"needs", "lab", "lint", "prove", "conformance", "gloas", "forks", "figures", "sidecar", "reports",
		"scenarios", "test", "faults", "replay", "sql", "devnet", "image", "fuzz"}
	targets := map[string]string{
		"gloas": "conformance-gloas", "forks": "conformance-forks", "sidecar": "conformance-sidecar",
		"faults": "fault-tests", "figures": "bench", "image": "conformance-image", "replay": "replay-demo", "sql": "test-sql",
	}
	ci := func(t *testing.T, failing string) (said string, status int) {
		h := newCheckout(t, "steps.sh")
		text, err := os.ReadFile("../../.ci/run")
		h.do(err)
		h.write(".ci/run", string(text))
		h.write("scripts/needs.sh", "[ needs != '"+failing+"' ]")
		h.write("scripts/engine.sh", `shift; "$@"`)
		h.has("nice", `shift 2; exec "$@"`)
		h.has("make", `echo "makes $2: SKIPPED"; [ "$2" != '`+cmp.Or(targets[failing], failing)+"' ]")
		return h.run(".ci/run")
	}
	makefile, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	said, status := ci(t, "")
	if status != 0 || !strings.Contains(said, "== all other steps ok after ") {
		t.Errorf("status %d: %s", status, said)
	}
	for _, step := range steps {
		if !strings.Contains(said, "\n== "+step+": ok after ") {
			t.Errorf("%s does not end: %s", step, said)
		}
		_, told, _ := strings.Cut(said, "== NOT SHOWN on this machine:\n")
		if target := cmp.Or(targets[step], step); step != "needs" {
			if !strings.Contains(told, "makes "+target+": SKIPPED\n") {
				t.Errorf("what %s could not show is not said: %s", target, told)
			}
			if !strings.Contains(string(makefile), "\n"+target+":") {
				t.Errorf("the Makefile has no target %s", target)
			}
		}
	}
	for _, step := range []string{"prove", "lint", "fuzz", "image"} {
		if said, status := ci(t, step); status != 1 || !strings.Contains(said, "== "+step+": FAILED with status 1") {
			t.Errorf("%s fails: status %d: %s", step, status, said)
		}
	}
	if got := strings.Count(said, ": ok after "); got != len(steps) {
		t.Errorf("%d steps, want %d", got, len(steps))
	}
}

// A test of faults that did not run is noticed, and so is a kind without tests; what was skipped is
// said, with why.
func TestFaultsThatDidNotRunAreNoticed(t *testing.T) {
	const kinds = "kill pause disk-full slow-disk power-cut journal-away clock-jump restart"
	test := func(line, name string) string {
		return "// What it is.\n//\n" + line + "\nfunc " + name + "(t *testing.T) {}\n"
	}
	for name, c := range map[string]struct {
		text   string
		output string
		status int
		words  []string
	}{
		"all ran": {
			test("//gavel:fault "+kinds, "TestOne"), "=== RUN   TestOne\n--- PASS: TestOne (0.00s)\nok x 1s", 0,
			[]string{"1 tests of faults ran, 0 of them were skipped"},
		},
		"one was skipped": {
			test("//gavel:fault "+kinds, "TestOne"),
			"=== RUN   TestOne\n    one_test.go:7: no disk here\n--- SKIP: TestOne (0.00s)\nok x 1s", 0,
			[]string{"1 of them were skipped", "SKIPPED: ./one TestOne: no disk here"},
		},
		"it did not run": {test("//gavel:fault "+kinds, "TestOne"), "testing: warning: no tests to run\nok x 1s", 1,
			[]string{"./one: TestOne did not run"}},
		"a failure": {test("//gavel:fault "+kinds, "TestOne"), "--- FAIL: TestOne\nFAIL", 1,
			[]string{"./one: the tests of faults fail"}},
		"a kind has none": {test("//gavel:fault kill", "TestOne"), "--- PASS: TestOne (0.00s)", 1,
			[]string{"no test has the line //gavel:fault disk-full"}},
		"an unknown kind": {test("//gavel:fault fire "+kinds, "TestOne"), "--- PASS: TestOne (0.00s)", 1,
			[]string{"//gavel:fault fire: the kinds are"}},
		"it is on no test": {test("//gavel:fault "+kinds, "helper"), "", 1,
			[]string{"./one: a line //gavel:fault is above no test"}},
		"there is a second": {test("//gavel:fault "+kinds, "TestOne") + test("//gavel:fault kill", "TestTwo"),
			"--- PASS: TestOne (0.00s)", 1, []string{"./one: TestTwo did not run"}},
	} {
		t.Run(name, func(t *testing.T) {
			h := newCheckout(t, "faults.sh")
			h.write("one/one_test.go", "package one\n\n"+c.text)
			h.write("output", c.output+"\n")
			h.has("go", `cat "$HOME/output"; if grep -q FAIL "$HOME/output"; then exit 1; fi`)
			said, status := h.run("scripts/faults.sh")
			h.want(name, said, status, c.status, c.words...)
		})
	}
}

// Each fault of a process has a test here, and faults.sh lists it under its package.
func TestFaultsAreListed(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "bash", "../../scripts/faults.sh", "--list").Output()
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if want := "./rpc/app TestWhatWasAnsweredSurvivesAKill kill"; !slices.Contains(lines, want) {
		t.Errorf("no %q in %q", want, lines)
	}
}
