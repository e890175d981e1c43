//go:build !linux

package postgrestest

import "errors"

// startedBy is not known elsewhere.
func startedBy(int) ([]int, error) { return nil, errors.New("a paused server needs Linux") }
