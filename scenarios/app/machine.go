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

	"github.com/gavel-relay/gavel/scenarios/fault"
)

// A machine is a process between the lab and a service whose disk a scenario breaks. It mounts a
// disk of the lab over the service's data, and starts the service. Nobody else sees that disk. When
// the service has ended, the machine writes the disk's contents to the folder below the mount.
//
//	lab ── orders, reports ──────────────────▶ service, a child of the machine
//	   └── full, slow, cut ──▶ machine ─ disk ──┘

// diskOrder sets the condition of a machine's disk: whether it is full, and how much longer writes
// take. Cut cuts the power.
type diskOrder struct {
	Full bool          `json:"full"`
	Slow time.Duration `json:"slow"`
	Cut  bool          `json:"cut,omitempty"`
}

// diskAnswer says that an order was obeyed. The first answer comes without an order, and has the
// process id of the service.
type diskAnswer struct {
	PID int `json:"pid,omitempty"`
}

// Flags behind the command that starts a service: diskFlag makes it a machine with a disk over a
// folder, and probeFlag only tests whether machines work here.
const (
	diskFlag  = "--disk"
	probeFlag = "--probe-disk"
)

// Files of a machine's process beside the standard three: it reads orders from one and writes
// answers to the other.
const (
	machineOrders  = 3
	machineAnswers = 4
)

// Machine runs a program as a service whose data folder is on a disk that the lab can break, and
// waits for its end. It reports on out if that failed.
func Machine(dir string, program []string, out io.Writer) error {
	err := onMachine(dir, program)
	// otherwise the service has reported it itself
	if ended := (*exec.ExitError)(nil); err != nil && !errors.As(err, &ended) {
		_ = json.NewEncoder(out).Encode(report{Ended: err.Error()}) // it fails if the lab is gone
	}
	return err
}

func onMachine(dir string, program program) (err error) {
	data, err := fault.LoadDisk(dir)
	if err != nil {
		return err
	}
	unmount, err := data.Mount(dir)
	if err != nil {
		return err
	}
	runtime.LockOSThread()                              // the child dies with the thread that started it
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

// obeyDisk obeys orders for the disk, until the power is cut or the lab is gone.
func obeyDisk(data *fault.Disk, service *os.Process, cut *atomic.Bool) {
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
			_ = service.Kill() // it fails if the service has ended, which is the aim
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

// ProbeMachine returns an error if this process cannot mount a disk of the lab.
func ProbeMachine() error {
	dir, err := os.MkdirTemp("", "gavel-disk-")
	if err != nil {
		return fmt.Errorf("make a folder: %w", err)
	}
	unmount, err := fault.NewDisk().Mount(dir)
	if err == nil {
		err = errors.Join(os.WriteFile(filepath.Join(dir, "probe"), []byte("probe"), 0o600), unmount())
	}
	return errors.Join(err, os.Remove(dir))
}

// canBreakDisks returns an error that says why this computer cannot run scenarios with faults of
// disks.
func (p program) canBreakDisks() error {
	command := exec.Command(p[0], append(p[1:len(p):len(p)], probeFlag)...) // the lab's own program, which ends by itself
	command.SysProcAttr = fault.Apart()
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

// diskLink is the lab's end of the pipes to a machine.
type diskLink struct {
	orders  *os.File
	answers *os.File
	to      *json.Encoder
	from    *json.Decoder
}

// order sends an order to a machine's disk, and waits until it is obeyed.
func (d *diskLink) order(wanted diskOrder) error {
	if err := d.to.Encode(wanted); err != nil {
		return fmt.Errorf("speak to the disk: %w", err)
	}
	if wanted.Cut {
		return nil // a machine without power does not answer
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

// lastLine returns the last line of a text, after trimming empty ones.
func lastLine(text []byte) string {
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}
