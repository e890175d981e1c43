package app

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"sync"

	"github.com/gavel-relay/gavel/scenarios/fault"
)

// life is one operating system process of a service, from its start to its end. It is safe for
// concurrent use.
type life struct {
	process *os.Process   // of the service itself
	disk    *diskLink     // the lab's disk under the service's data; nil without one
	orders  *json.Encoder // to its stdin
	stdin   io.WriteCloser
	facts   func(subject string, fact json.RawMessage)

	ready chan struct{} // closed once the service serves
	gone  chan struct{} // closed once the process has ended and its output was read to the end
	// ended is the reason that the service reported for its end, status what the operating system
	// says of the process. Both are written before gone is closed.
	ended  string
	status error

	mu sync.Mutex // guards orders: they must not mix
}

// program is the command that starts a service: a path with its arguments.
type program []string

// begin starts a process; its log is appended to logFile. begin does not wait until the service
// serves. With a diskDir, the data in that folder is on a disk of the lab, in the given condition.
func (p program) begin(cfg *serviceConfig, logFile, diskDir string, condition diskOrder,
	facts func(string, json.RawMessage)) (*life, error) {
	log, err := os.OpenFile(logFile, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open log: %w", err)
	}
	defer log.Close()
	args := p[1:len(p):len(p)]
	if diskDir != "" {
		args = append(args, diskFlag, diskDir)
	}
	command := exec.Command(p[0], args...) // the lab's own program; kill and stop end it
	command.Stderr, command.SysProcAttr = log, dieWithParent()
	stdin, err := command.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("make a pipe: %w", err)
	}
	stdout, err := command.StdoutPipe()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("make a pipe: %w", err), stdin.Close())
	}
	l := &life{
		orders: json.NewEncoder(stdin), stdin: stdin, facts: facts, ready: make(chan struct{}), gone: make(chan struct{}),
	}
	if diskDir != "" {
		if err := l.linkDisk(command); err != nil {
			return nil, errors.Join(err, stdin.Close(), stdout.Close())
		}
	}
	if err := l.run(command, stdout); err != nil {
		return nil, errors.Join(fmt.Errorf("start a process: %w", err), stdin.Close(), l.closeDisk())
	}
	if l.disk != nil {
		if err := l.findService(condition); err != nil {
			// The process has reported why it failed.
			return nil, errors.Join(closed(stdin), l.gives(err), l.closeDisk())
		}
	}
	return l, l.order(cfg)
}

// run starts the process, and reads its reports until its end.
func (l *life) run(command *exec.Cmd, stdout io.Reader) error {
	started := make(chan error)
	go func() {
		// With Pdeathsig a child dies with the thread that has started it, so this thread is kept
		// until the child ends.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := command.Start()
		for _, theirs := range command.ExtraFiles {
			err = errors.Join(err, theirs.Close())
		}
		if err != nil {
			started <- err
			return
		}
		l.process = command.Process
		started <- nil
		l.listen(stdout)
		l.status = command.Wait()
		close(l.gone)
	}()
	return <-started
}

// linkDisk changes the command so that it can be a machine (see machine.go), and makes the pipes
// for orders to its disk.
func (l *life) linkDisk(command *exec.Cmd) error {
	theirOrders, ourOrders, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("make a pipe: %w", err)
	}
	ourAnswers, theirAnswers, err := os.Pipe()
	if err != nil {
		return errors.Join(fmt.Errorf("make a pipe: %w", err), theirOrders.Close(), ourOrders.Close())
	}
	command.ExtraFiles, command.SysProcAttr = []*os.File{theirOrders, theirAnswers}, fault.Apart()
	l.disk = &diskLink{orders: ourOrders, answers: ourAnswers, to: json.NewEncoder(ourOrders),
		from: json.NewDecoder(ourAnswers)}
	return nil
}

// findService asks the machine which process is the service, and sets the condition of its disk
// before the service gets its configuration.
func (l *life) findService(condition diskOrder) error {
	said, err := l.disk.answer()
	if err != nil {
		return err
	}
	if l.process, err = os.FindProcess(said.PID); err != nil {
		return fmt.Errorf("find process %d: %w", said.PID, err)
	}
	return l.disk.order(condition)
}

// gives waits for the process to end. It returns the process's own reason, or the given one if it
// has reported none.
func (l *life) gives(reason error) error {
	<-l.gone
	if own := l.failure(); own != nil {
		return own
	}
	return reason
}

func (l *life) closeDisk() error {
	if l.disk == nil {
		return nil
	}
	return l.disk.close()
}

// listen reads reports until the process closes its output.
func (l *life) listen(from io.Reader) {
	lines := json.NewDecoder(bufio.NewReader(from))
	for {
		var said report
		if err := lines.Decode(&said); err != nil {
			// The process ended, or was killed in the middle of a line.
			return
		}
		switch {
		case said.Ready:
			close(l.ready)
		case said.Subject != "":
			l.facts(said.Subject, said.Fact)
		case said.Ended != "":
			l.ended = said.Ended
		}
	}
}

// order sends an order to the process.
func (l *life) order(words any) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.orders.Encode(words); err != nil {
		return fmt.Errorf("speak to process %d: %w", l.process.Pid, err)
	}
	return nil
}

// serves waits until the process serves. If the context ends first, it kills the process. If the
// process ends first, it returns the reason.
func (l *life) serves(ctx context.Context) error {
	select {
	case <-l.ready:
		return nil
	case <-l.gone:
		return l.failure()
	case <-ctx.Done():
		return errors.Join(ctx.Err(), l.kill())
	}
}

// kill ends the process at once (SIGKILL), and reads what it had reported before. It is an error if
// the process has ended already by itself.
func (l *life) kill() error {
	select {
	case <-l.gone:
		return errors.Join(errors.New("it had ended before"), l.failure())
	default:
	}
	if err := l.process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("kill process %d: %w", l.process.Pid, err)
	}
	<-l.gone
	return errors.Join(closed(l.stdin), l.closeDisk())
}

// cutPower ends the process at once, and discards what its disk has not kept.
func (l *life) cutPower() error {
	select {
	case <-l.gone:
		return errors.Join(errors.New("it had ended before"), l.failure())
	default:
	}
	if err := l.disk.order(diskOrder{Cut: true}); err != nil {
		return err
	}
	<-l.gone
	return errors.Join(closed(l.stdin), l.closeDisk())
}

// stop orders the process to end, and waits for that. The error says how it ended, if not in order.
func (l *life) stop() error {
	// This fails if the process has ended already; failure reports that.
	_ = l.order(order{Stop: true})
	<-l.gone
	return errors.Join(l.failure(), closed(l.stdin), l.closeDisk())
}

// failure returns why the process ended, or nil if it ended in order.
func (l *life) failure() error {
	if l.ended != "" {
		return errors.New(l.ended)
	}
	if l.status != nil {
		return fmt.Errorf("process %d: %w", l.process.Pid, l.status)
	}
	return nil
}

// closed closes a pipe that may be closed already.
func closed(pipe io.Closer) error {
	if err := pipe.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
		return fmt.Errorf("close a pipe: %w", err)
	}
	return nil
}
