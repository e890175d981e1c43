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

// incarnation is one operating system process of a service, from its start to its end. It is safe
// for concurrent use.
type incarnation struct {
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
	facts func(string, json.RawMessage)) (*incarnation, error) {
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
	n := &incarnation{
		orders: json.NewEncoder(stdin), stdin: stdin, facts: facts, ready: make(chan struct{}), gone: make(chan struct{}),
	}
	if diskDir != "" {
		if err := n.linkDisk(command); err != nil {
			return nil, errors.Join(err, stdin.Close(), stdout.Close())
		}
	}
	if err := n.run(command, stdout); err != nil {
		return nil, errors.Join(fmt.Errorf("start a process: %w", err), stdin.Close(), n.closeDisk())
	}
	if n.disk != nil {
		if err := n.findService(condition); err != nil {
			// The process has reported why it failed.
			return nil, errors.Join(closed(stdin), n.gives(err), n.closeDisk())
		}
	}
	return n, n.order(cfg)
}

// run starts the process, and reads its reports until its end.
func (n *incarnation) run(command *exec.Cmd, stdout io.Reader) error {
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
		n.process = command.Process
		started <- nil
		n.listen(stdout)
		n.status = command.Wait()
		close(n.gone)
	}()
	return <-started
}

// linkDisk changes the command so that it can be a machine (see machine.go), and makes the pipes
// for orders to its disk.
func (n *incarnation) linkDisk(command *exec.Cmd) error {
	theirOrders, ourOrders, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("make a pipe: %w", err)
	}
	ourAnswers, theirAnswers, err := os.Pipe()
	if err != nil {
		return errors.Join(fmt.Errorf("make a pipe: %w", err), theirOrders.Close(), ourOrders.Close())
	}
	command.ExtraFiles, command.SysProcAttr = []*os.File{theirOrders, theirAnswers}, fault.Apart()
	n.disk = &diskLink{orders: ourOrders, answers: ourAnswers, to: json.NewEncoder(ourOrders),
		from: json.NewDecoder(ourAnswers)}
	return nil
}

// findService asks the machine which process is the service, and sets the condition of its disk
// before the service gets its configuration.
func (n *incarnation) findService(condition diskOrder) error {
	said, err := n.disk.answer()
	if err != nil {
		return err
	}
	if n.process, err = os.FindProcess(said.PID); err != nil {
		return fmt.Errorf("find process %d: %w", said.PID, err)
	}
	return n.disk.order(condition)
}

// gives waits for the process to end. It returns the process's own reason, or the given one if it
// has reported none.
func (n *incarnation) gives(reason error) error {
	<-n.gone
	if own := n.failure(); own != nil {
		return own
	}
	return reason
}

func (n *incarnation) closeDisk() error {
	if n.disk == nil {
		return nil
	}
	return n.disk.close()
}

// listen reads reports until the process closes its output.
func (n *incarnation) listen(from io.Reader) {
	lines := json.NewDecoder(bufio.NewReader(from))
	for {
		var said report
		if err := lines.Decode(&said); err != nil {
			// The process ended, or was killed in the middle of a line.
			return
		}
		switch {
		case said.Ready:
			close(n.ready)
		case said.Subject != "":
			n.facts(said.Subject, said.Fact)
		case said.Ended != "":
			n.ended = said.Ended
		}
	}
}

// order sends an order to the process.
func (n *incarnation) order(words any) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if err := n.orders.Encode(words); err != nil {
		return fmt.Errorf("speak to process %d: %w", n.process.Pid, err)
	}
	return nil
}

// serves waits until the process serves. If the context ends first, it kills the process. If the
// process ends first, it returns the reason.
func (n *incarnation) serves(ctx context.Context) error {
	select {
	case <-n.ready:
		return nil
	case <-n.gone:
		return n.failure()
	case <-ctx.Done():
		return errors.Join(ctx.Err(), n.kill())
	}
}

// kill ends the process at once (SIGKILL), and reads what it had reported before. It is an error if
// the process has ended already by itself.
func (n *incarnation) kill() error {
	select {
	case <-n.gone:
		return errors.Join(errors.New("it had ended before"), n.failure())
	default:
	}
	if err := n.process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("kill process %d: %w", n.process.Pid, err)
	}
	<-n.gone
	return errors.Join(closed(n.stdin), n.closeDisk())
}

// cutPower ends the process at once, and discards what its disk has not kept.
func (n *incarnation) cutPower() error {
	select {
	case <-n.gone:
		return errors.Join(errors.New("it had ended before"), n.failure())
	default:
	}
	if err := n.disk.order(diskOrder{Cut: true}); err != nil {
		return err
	}
	<-n.gone
	return errors.Join(closed(n.stdin), n.closeDisk())
}

// stop orders the process to end, and waits for that. The error says how it ended, if not in order.
func (n *incarnation) stop() error {
	// This fails if the process has ended already; failure reports that.
	_ = n.order(order{Stop: true})
	<-n.gone
	return errors.Join(n.failure(), closed(n.stdin), n.closeDisk())
}

// failure returns why the process ended, or nil if it ended in order.
func (n *incarnation) failure() error {
	if n.ended != "" {
		return errors.New(n.ended)
	}
	if n.status != nil {
		return fmt.Errorf("process %d: %w", n.process.Pid, n.status)
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
