//go:build unix

package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gavel-relay/gavel/devnet/network"
)

// What makes this test binary another program than the tests.
const (
	asService = "be-a-service"
	asLab     = "be-a-lab"
	asMute    = "say-nothing"
	// asServiceWithoutDevice is as on a machine without /dev/fuse, in a namespace of its own.
	asServiceWithoutDevice = "be-a-service-without-the-device"
)

func TestMain(m *testing.M) {
	status := 0
	switch args := os.Args[1:]; {
	case len(args) == 2 && args[0] == asService && args[1] == probeFlag:
		if err := ProbeMachine(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			status = 1
		}
	case len(args) == 3 && args[0] == asService && args[1] == diskFlag:
		if err := Machine(args[2], serviceProgram, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			status = 1
		}
	case len(args) > 0 && args[0] == asService:
		if err := Serve(context.Background(), os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			status = 1
		}
	case len(args) == 2 && args[0] == asServiceWithoutDevice && args[1] == probeFlag:
		if err := errors.Join(hideDevices(), ProbeMachine()); err != nil {
			fmt.Fprintln(os.Stderr, err)
			status = 1
		}
	case len(args) > 0 && args[0] == asLab:
		if err := lonelyLab(args[1]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			status = 1
		}
	case len(args) > 0 && args[0] == asMute:
		status = 3
	default:
		status = m.Run()
	}
	os.Exit(status)
}

// serviceProgram is how the tests' lab starts a service.
var serviceProgram = []string{os.Args[0], asService}

// journalProcess is a service that needs nobody else.
func journalProcess(dir, address string, program []string) *process {
	return &process{
		name: "journal", address: address, program: program, clock: newLabClock(time.Now(), 1), logFile: filepath.Join(dir,
			"journal.log"),
		config: func() (*serviceConfig, error) {
			return &serviceConfig{Journal: &journalPlan{DataDir: filepath.Join(dir, "journal")}}, nil
		},
		facts: func(string, json.RawMessage) {},
	}
}

// freeAddress is a host:port at which nobody listens.
func freeAddress(t *testing.T) string {
	t.Helper()
	address, err := network.FreeAddress()
	if err != nil {
		t.Fatal(err)
	}
	return address
}

// answers says whether somebody listens at an address.
func answers(t *testing.T, address string) bool {
	t.Helper()
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", address)
	if err != nil {
		return false
	}
	_ = conn.Close()
	return true
}

// A process is killed and started again at one address; kill is SIGKILL, and stop an orderly end.
//
//gavel:fault kill
func TestProcess(t *testing.T) {
	p := journalProcess(t.TempDir(), freeAddress(t), serviceProgram)
	start := func() error { return p.start(t.Context()) }
	step := func(what string, do func() error, want bool) {
		t.Helper()
		if err := do(); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		if got := answers(t, p.address); got != want {
			t.Errorf("after %s somebody answers: %v, want %v", what, got, want)
		}
	}
	step("nothing", func() error { return nil }, false)
	step("the start", start, true)
	first := p.incarnation
	step("a second start", start, true)
	if p.incarnation != first {
		t.Error("a second process was started")
	}
	step("the kill", p.kill, false)
	ended := (*exec.ExitError)(nil)
	if !errors.As(first.status, &ended) {
		t.Fatalf("the process ended by %v, want SIGKILL", first.status)
	}
	if status := ended.Sys().(syscall.WaitStatus); !status.Signaled() || status.Signal() != syscall.SIGKILL {
		t.Errorf("the process ended by %v, want SIGKILL", first.status)
	}
	step("a second kill", p.kill, false)
	step("the restart", start, true)
	second := p.incarnation
	step("the stop", p.stop, false)
	if second.status != nil {
		t.Errorf("told to stop it ended with %v", second.status)
	}
}

// A process that is paused is there and answers nothing, until it is resumed; and it can be killed
// meanwhile.
//
//gavel:fault pause
func TestPause(t *testing.T) {
	p := journalProcess(t.TempDir(), freeAddress(t), serviceProgram)
	for what, do := range map[string]func() error{"pause": p.pause, "resume": p.resume} {
		if err := do(); err != nil {
			t.Errorf("%s of a process that does not run: %v", what, err)
		}
	}
	if err := p.start(t.Context()); err != nil {
		t.Fatal(err)
	}
	pid := p.incarnation.process.Pid
	if err := p.pause(); err != nil {
		t.Fatal(err)
	}
	waitState(t, pid, "T")
	if err := p.resume(); err != nil {
		t.Fatal(err)
	}
	waitState(t, pid, "SR")
	if err := p.pause(); err != nil {
		t.Fatal(err)
	}
	if err := p.kill(); err != nil {
		t.Error(err)
	}
}

// waitState waits until the system calls a process stopped (T), or else. Without a limit of its
// own: the test's deadline ends it.
func waitState(t *testing.T, pid int, states string) {
	t.Helper()
	for {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if os.IsNotExist(err) {
			if _, err := os.Stat("/proc/self"); err != nil {
				t.Skip("skipped: there is no /proc to look at processes")
			}
		}
		if err != nil {
			t.Fatal(err)
		}
		_, rest, _ := strings.Cut(string(text), ") ")
		if strings.ContainsAny(rest[:1], states) {
			return
		}
	}
}

// A service that cannot start says why, and where more stands.
func TestProcessThatDoesNotStart(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "journal"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		program []string
		want    string
	}{
		"its folder is a file":  {serviceProgram, "not a directory"},
		"it ends and says none": {[]string{os.Args[0], asMute}, "exit status 3"},
		"there is no program":   {[]string{filepath.Join(dir, "none")}, "no such file"},
	} {
		p := journalProcess(dir, freeAddress(t), c.program)
		err := p.start(t.Context())
		if err == nil || !strings.Contains(err.Error(), "start journal: ") || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		if p.incarnation != nil {
			t.Errorf("%s: it runs", name)
		}
	}
}

// That a service has ended by itself is said when it is killed, or stopped.
func TestProcessThatEndedBefore(t *testing.T) {
	for name, end := range map[string]func(*process) error{"kill": (*process).kill, "stop": (*process).stop} {
		p := journalProcess(t.TempDir(), freeAddress(t), serviceProgram)
		if err := p.start(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := p.incarnation.process.Signal(syscall.SIGTERM); err != nil { // it has no handler here
			t.Fatal(err)
		}
		<-p.incarnation.gone
		if err := end(p); err == nil || !strings.Contains(err.Error(), "signal: terminated") ||
			!strings.Contains(err.Error(), "journal.log") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// lonelyLab is a lab that starts services, says who they are, and waits to be killed. One of them
// is paused: it cannot notice anything by itself.
func lonelyLab(dir string) error {
	for i, name := range []string{"awake", "paused"} {
		p := journalProcess(filepath.Join(dir, name), os.Args[3+i], serviceProgram)
		if err := os.MkdirAll(filepath.Join(dir, name), 0o700); err != nil {
			return err
		}
		if err := p.start(context.Background()); err != nil {
			return err
		}
		if name == "paused" {
			if err := p.pause(); err != nil {
				return err
			}
		}
		fmt.Println(p.incarnation.process.Pid)
	}
	_, err := io.Copy(io.Discard, os.Stdin)
	return err
}

// Services die with their lab, however it dies.
//
//gavel:fault kill
func TestNoOrphans(t *testing.T) {
	lab := exec.CommandContext(t.Context(), os.Args[0], asLab, t.TempDir(), freeAddress(t), freeAddress(t))
	lab.Stderr = os.Stderr
	if _, err := lab.StdinPipe(); err != nil { // held open, or it would end by itself
		t.Fatal(err)
	}
	out, err := lab.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := lab.Start(); err != nil {
		t.Fatal(err)
	}
	var awake, paused int
	if _, err := fmt.Fscan(out, &awake, &paused); err != nil {
		t.Fatal(err)
	}
	if err := lab.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = lab.Wait() // says that it was killed
	for _, pid := range []int{awake, paused} {
		for alive(pid) { // the test's deadline ends it
		}
	}
}

// alive says whether a process runs; one that has ended and that nobody has waited for does not.
func alive(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !strings.Contains(string(text), ") Z ")
}

// The lab's beacon node is no process of its own; its API comes and goes all the same.
func TestBeaconAPI(t *testing.T) {
	api, err := newBeaconAPI(http.NotFoundHandler(), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		for range 2 {
			if err := api.start(t.Context()); err != nil || !answers(t, api.address) {
				t.Errorf("started, but nobody answers: %v", err)
			}
		}
		for range 2 {
			if err := api.kill(); err != nil || answers(t, api.address) {
				t.Errorf("killed, but somebody answers: %v", err)
			}
		}
	}
}
