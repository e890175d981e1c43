package app

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"time"

	"github.com/gavel-relay/gavel/scenarios/fault/disk"
)

// A machine is what a service stands on whose disk a story breaks: a process between the lab and
// the service, which has a disk of the lab's own mounted over the service's data. Only the service,
// which it starts, sees that disk. When the service has ended, what the disk has is written to the
// folder below.
//
//	lab ── orders, reports ──────────────────▶ service, a child of the machine
//	   └── full, slow, cut ──▶ machine ─ disk ──┘

// diskOrder is what the lab wants of a machine: that its disk is full or not, by how much it is
// slow, and with Cut that the power is gone.
type diskOrder struct {
	Full bool          `json:"full"`
	Slow time.Duration `json:"slow"`
	Cut  bool          `json:"cut,omitempty"`
}

// diskAnswer says that an order was obeyed; the first one says which process is the service.
type diskAnswer struct {
	PID int `json:"pid,omitempty"`
}

// What a machine's process is given behind the words that start a service: the folder; and the
// question whether one could be.
const (
	diskFlag  = "--disk"
	probeFlag = "--probe-disk"
)

// The files of a machine's process beside the usual three: orders come in by one, answers go out by
// the other.
const (
	machineOrders  = 3
	machineAnswers = 4
)

// Machine starts a service by a program, whose folder of data is on a disk that the lab breaks, and
// waits for its end. Why it could not is said on out.
func Machine(dir string, program []string, out io.Writer) error {
	err := onMachine(dir, program)
	if ended := (*exec.ExitError)(nil); err != nil && !errors.As(err, &ended) { // else the service has said it
		_ = json.NewEncoder(out).Encode(report{Ended: err.Error()}) // fails when the lab is gone
	}
	return err
}

func onMachine(dir string, program program) (err error) {
	data, err := disk.Load(dir)
	if err != nil {
		return err
	}
	unmount, err := data.Mount(dir)
	if err != nil {
		return err
	}
	runtime.LockOSThread()                              // the child dies with this thread
	command := exec.Command(program[0], program[1:]...) // the lab's own program; the lab ends it
	command.Stdin, command.Stdout, command.Stderr, command.SysProcAttr = os.Stdin, os.Stdout, os.Stderr, dieWithParent()
	if err := command.Start(); err != nil {
		return errors.Join(fmt.Errorf("start a process: %w", err), unmount())
	}
	var cut atomic.Bool
	go obeyDisk(data, command.Process, &cut)
	ended := command.Wait()
	if cut.Load() {
		data.Cut()
	}
	return errors.Join(ended, unmount(), data.Save(dir))
}

// obeyDisk does what the lab wants, until the power is cut or the lab is gone.
func obeyDisk(data *disk.Disk, service *os.Process, cut *atomic.Bool) {
	orders := json.NewDecoder(os.NewFile(machineOrders, "orders"))
	answers := json.NewEncoder(os.NewFile(machineAnswers, "answers"))
	answer, full := diskAnswer{PID: service.Pid}, false
	for {
		if answers.Encode(answer) != nil {
			return
		}
		var wanted diskOrder
		if orders.Decode(&wanted) != nil {
			return
		}
		if wanted.Cut {
			cut.Store(true)
			_ = service.Kill() // it fails if the service has ended, and then there is nothing to do
			return
		}
		if wanted.Full != full {
			full = wanted.Full
			data.Full(full)
		}
		data.Slow(wanted.Slow)
		answer = diskAnswer{}
	}
}

// ProbeMachine says why this process cannot have a disk of the lab's own.
func ProbeMachine() error {
	dir, err := os.MkdirTemp("", "gavel-disk-")
	if err != nil {
		return fmt.Errorf("make a folder: %w", err)
	}
	unmount, err := disk.New().Mount(dir)
	if err == nil {
		err = errors.Join(os.WriteFile(filepath.Join(dir, "probe"), []byte("probe"), 0o600), unmount())
	}
	return errors.Join(err, os.Remove(dir))
}

// canBreakDisks says why the machine cannot do what stories with faults of disks need.
func (p program) canBreakDisks() error {
	command := exec.Command(p[0], append(p[1:len(p):len(p)], probeFlag)...) // the lab's own program, which ends by itself
	command.SysProcAttr = disk.Apart()
	said, err := command.CombinedOutput()
	if err == nil {
		return nil
	}
	why := lastLine(said)
	if why == "" {
		why = err.Error()
	}
	return fmt.Errorf("%s. It needs Linux, /dev/fuse open to this user, and user namespaces (sysctl "+
		"user.max_user_namespaces, "+
		"kernel.unprivileged_userns_clone, kernel.apparmor_restrict_unprivileged_userns)", why)
}

// diskLink is the lab's end of a machine's orders.
type diskLink struct {
	orders  *os.File
	answers *os.File
	to      *json.Encoder
	from    *json.Decoder
}

// order gives an order to a machine's disk, and waits until it is obeyed.
func (d *diskLink) order(wanted diskOrder) error {
	if err := d.to.Encode(wanted); err != nil {
		return fmt.Errorf("speak to the disk: %w", err)
	}
	if wanted.Cut {
		return nil // no machine answers without power
	}
	_, err := d.answer()
	return err
}

func (d *diskLink) answer() (said diskAnswer, err error) {
	if err := d.from.Decode(&said); err != nil {
		return said, fmt.Errorf("hear of the disk: %w", err)
	}
	return said, nil
}

// close closes the lab's ends.
func (d *diskLink) close() error { return errors.Join(closed(d.orders), closed(d.answers)) }

// lastLine is the last line of a text that is not empty.
func lastLine(text []byte) string {
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}
