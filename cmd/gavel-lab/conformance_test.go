package main

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestMain lets scripts call this program by its name: each call is a process of its own, which the
// suite needs, since Ginkgo runs once in a process.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"gavel-lab": main})
}

// The conformance commands as they are called, with what they say and the status that they end
// with. With -update what is compared is written anew.
//
//	status N command…   runs it, and fails unless that is its exit status
//	world FLAG…         starts a world and puts its address into $WORLD; when
//	                    the script is over it is interrupted, and must end with status 0
//	$GOOD, $LOST, $GONE are servers: one that answers everything with 200, one with 404, one not at
//	                    all; target.yaml is of the first
//	$PINGS              is an event stream that pings at once, and then says nothing
//	$HANG, $DRIP and others are those of badTargets; bad.NAME.yaml has all interfaces at one
func TestConformanceScripts(t *testing.T) {
	bad := openBadTargets(t)
	testscript.Run(t, testscript.Params{
		Dir: "testdata/conformance", UpdateScripts: flag.Lookup("update").Value.String() == "true", RequireExplicitExec: true,
		RequireUniqueNames: true,
		Setup: func(env *testscript.Env) error {
			for name, answer := range map[string]int{"GOOD": http.StatusOK, "LOST": http.StatusNotFound, "GONE": 0} {
				server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					w.WriteHeader(answer)
				}))
				if env.Setenv(name, server.URL); answer == 0 {
					server.Close()
				} else {
					env.Defer(server.Close)
				}
			}
			stream := httptest.NewServer(http.HandlerFunc(pingAtOnce))
			env.Setenv("PINGS", stream.URL)
			env.Defer(stream.Close)
			for name, address := range bad {
				env.Setenv(name, address)
				text := fmt.Sprintf("relay: {proposerUrl: %q}\nstream: {url: %q}\nrpc: {url: %q}\nbudgets: {answerMs: 300}\n",
					address, address, address)
				if err := os.WriteFile(filepath.Join(env.WorkDir, "bad."+name+".yaml"), []byte(text), 0o600); err != nil {
					return err
				}
			}
			secret := strings.Replace(env.Getenv("GOOD"), "http://", "http://somebody:hidden@", 1)
			return os.WriteFile(filepath.Join(env.WorkDir, "target.yaml"), []byte("relay: {proposerUrl: \""+secret+"\"}\n"),
				0o600)
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){"status": endsWith, "world": inWorld},
	})
}

// pingAtOnce is an event stream that pings at once, and then says nothing.
func pingAtOnce(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Accept") != "text/event-stream" {
		http.NotFound(w, r) // it has no history
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = fmt.Fprint(w, ":ping\n\n") // the client may be gone
	_ = http.NewResponseController(w).Flush()
	<-r.Context().Done()
}

// endsWith runs a command that must end with a status.
func endsWith(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: status N command…")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	var ended *exec.ExitError
	switch err := ts.Exec(args[1], args[2:]...); {
	case errors.As(err, &ended):
		got = ended.ExitCode()
	case err != nil:
		ts.Fatalf("run %s: %v", args[1], err)
	}
	if got != want {
		ts.Fatalf("status %d, want %d", got, want)
	}
}

var worldURL = regexp.MustCompile(`worldUrl: (\S+?)}`)

// inWorld starts a world at free ports.
func inWorld(ts *testscript.TestScript, neg bool, args []string) {
	if neg {
		ts.Fatalf("usage: world FLAG…")
	}
	free := []string{"conformance", "world", "--listen", "127.0.0.1:0", "--beacon-listen", "127.0.0.1:0",
		"--validation-listen", "127.0.0.1:0", "--builder-listen", "127.0.0.1:0", "--execution-listen", "127.0.0.1:0"}
	world := exec.Command("gavel-lab", append(free, args...)...)
	world.Stderr = ts.Stderr()
	out, err := world.StdoutPipe()
	ts.Check(err)
	ts.Check(world.Start())
	ts.Defer(func() {
		if err := errors.Join(world.Process.Signal(os.Interrupt), world.Wait()); err != nil {
			ts.Fatalf("the world does not end well: %v", err)
		}
	})
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if found := worldURL.FindStringSubmatch(lines.Text()); found != nil {
			ts.Setenv("WORLD", found[1])
			return
		}
	}
	ts.Fatalf("the world does not say where it is: %v", lines.Err())
}
