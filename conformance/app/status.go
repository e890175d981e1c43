package app

import (
	"errors"

	"github.com/gavel-relay/gavel/conformance/clauses"
)

// Status is an error that ends the process with an exit status of its own.
type Status struct {
	Code int
	Text string
}

// Error implements error.
func (s Status) Error() string { return s.Text }

// ExitStatus returns the status that the process ends with.
func (s Status) ExitStatus() int { return s.Code }

// WithStatus turns errors of the suite into its exit statuses: 64 for the caller's mistake, 3 for a
// target that cannot be judged, 4 for the suite's fault.
func WithStatus(err error) error {
	var usage UsageError
	var unusable UnusableError
	var known Status
	switch {
	case err == nil || errors.As(err, &known):
		return err
	case errors.As(err, &usage):
		return Status{clauses.WrongUsage, err.Error()}
	case errors.As(err, &unusable):
		return Status{clauses.Unusable, err.Error()}
	default:
		return Status{clauses.SuiteFault, err.Error()}
	}
}
