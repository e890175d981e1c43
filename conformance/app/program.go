package app

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"sync"
	"syscall"
	"time"

	"github.com/gavel-relay/gavel/conformance/probe"
	"github.com/gavel-relay/gavel/devnet/network"
)

// program is a running program of this machine.
type program struct {
	command *exec.Cmd
	said    *tail
	ended   chan struct{}
	failure error // why it ended; read after ended is closed
}

// stopTimeout is how long a program may take to end before it is killed.
const stopTimeout = 5 * time.Second

// word is a placeholder in a command.
var word = regexp.MustCompile(`\{([a-zA-Z]+)\}`)

// usesWord says whether a command has a placeholder.
func usesWord(command, name string) bool {
	for _, m := range word.FindAllStringSubmatch(command, -1) {
		if m[1] == name {
			return true
		}
	}
	return false
}

// fillWords puts words in the place of their names in braces. It returns an error for a name that
// is none of them; braces around anything else stay.
func fillWords(command string, words map[string]string) (string, error) {
	var wrong error
	filled := word.ReplaceAllStringFunc(command, func(name string) string {
		value, known := words[name[1:len(name)-1]]
		if !known {
			wrong = errors.Join(wrong, fmt.Errorf("there is no %s for a command", name))
		}
		return value
	})
	return filled, wrong
}

// startProgram runs a command by the shell. What it writes goes to the log. The caller must call
// stop.
func startProgram(command string, log io.Writer) (*program, error) {
	p := &program{said: &tail{next: log}, ended: make(chan struct{})}
	p.command = exec.CommandContext(context.Background(), "/bin/sh", "-c", command) // stop ends it
	p.command.Stdout, p.command.Stderr = p.said, p.said
	p.command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // so that stop reaches what the shell starts
	p.command.WaitDelay = stopTimeout
	if err := p.command.Start(); err != nil {
		return nil, fmt.Errorf("start %q: %w", command, err)
	}
	go func() {
		p.failure = p.command.Wait()
		close(p.ended)
	}()
	return p, nil
}

// startServer runs a command that starts a server, and waits until the server answers at a path,
// and not with 5xx. The words of the command are those given, and listen and port for a free
// address. It returns the server's URL.
func startServer(ctx context.Context, command string, words map[string]string, ready string,
	within time.Duration, log io.Writer) (address string, stop func() error, err error) {
	host, err := network.FreeAddress()
	if err != nil {
		return "", nil, err
	}
	_, port, _ := net.SplitHostPort(host) // an address of a listener
	words = maps.Clone(words)
	words["listen"], words["port"] = host, port
	command, err = fillWords(command, words)
	if err != nil {
		return "", nil, err
	}
	running, err := startProgram(command, log)
	if err != nil {
		return "", nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	client := probe.NewClient("http://"+host, nil, time.Second)
	if err := running.await(ctx, func(ctx context.Context) error {
		answer, err := client.Do(ctx, probe.Request{Method: http.MethodGet, Path: ready})
		if err == nil && answer.Status >= http.StatusInternalServerError {
			err = fmt.Errorf("%s answers %d", ready, answer.Status)
		}
		return err
	}); err != nil {
		return "", nil, errors.Join(err, running.stop())
	}
	return "http://" + host, running.stop, nil
}

// await asks again and again whether the program is ready, until it is, ends, or the context does.
func (p *program) await(ctx context.Context, ready func(context.Context) error) error {
	const pause = 50 * time.Millisecond
	for {
		err := ready(ctx)
		if err == nil {
			return nil
		}
		timer := time.NewTimer(pause)
		select {
		case <-p.ended:
			timer.Stop()
			return fmt.Errorf("the program ended (%w): %s", errors.Join(p.failure, errEnded), p.said)
		case <-ctx.Done():
			timer.Stop()
			return fmt.Errorf("the program does not get ready (%w): %s", err, p.said)
		case <-timer.C:
		}
	}
}

var errEnded = errors.New("by itself")

// stop ends the program and everything that it has started.
func (p *program) stop() error {
	group := -p.command.Process.Pid
	if err := syscall.Kill(group, syscall.SIGTERM); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("stop the program: %w", err)
	}
	timer := time.NewTimer(stopTimeout)
	defer timer.Stop()
	select {
	case <-p.ended:
	case <-timer.C:
	}
	// what is left of the group ignores the signal
	if err := syscall.Kill(group, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) &&
		!errors.Is(err, os.ErrPermission) {
		return fmt.Errorf("kill the program: %w", err)
	}
	<-p.ended
	return nil
}

// tailBytes is how much of what a program wrote is kept, for a message.
const tailBytes = 2000

// tail hands on what a program writes, and keeps the end of it.
type tail struct {
	next io.Writer

	mu   sync.Mutex
	last bytes.Buffer
}

// Write implements io.Writer.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last.Write(p)
	if over := t.last.Len() - tailBytes; over > 0 {
		t.last.Next(over)
	}
	return t.next.Write(p)
}

// String returns the end of what was written.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.last.String()
}
