//go:build !linux

package projectiontest

import "errors"

// startedBy is available on Linux only.
func startedBy(int) ([]int, error) { return nil, errors.New("a paused server needs Linux") }
