package run

import (
	"errors"
	"fmt"
	"io"
	"strings"
)

// usage is a mistake of the command's caller, with its exit status. Its text says what to do.
type usage struct {
	err    error
	status int
}

func (u usage) Error() string { return u.err.Error() }
func (u usage) Unwrap() error { return u.err }

// Usage marks an error as a mistake of the caller: a flag, a value, a configuration file. nil stays
// nil.
func Usage(err error) error {
	if err == nil {
		return nil
	}
	return usage{err, 2}
}

// UsageStatus is Usage for commands whose callers expect another status than 2.
func UsageStatus(err error, status int) error {
	if err == nil {
		return nil
	}
	return usage{err, status}
}

// Exit writes an error in one line and returns the process's exit status: 0 without an error, the
// result of the error's method ExitStatus() int if it has one, 2 for Usage, the status of
// UsageStatus, and else 1.
func Exit(stderr io.Writer, program string, err error) int {
	if err == nil {
		return 0
	}
	fmt.Fprintf(stderr, "%s: %s\n", program, strings.Join(strings.Fields(err.Error()), " "))
	var own interface{ ExitStatus() int }
	if errors.As(err, &own) {
		return own.ExitStatus()
	}
	var u usage
	if errors.As(err, &u) {
		return u.status
	}
	return 1
}
