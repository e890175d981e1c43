//go:build !unix

package app

import (
	"errors"
)

var errNoPause = errors.New("this system cannot pause a process: run the story on Linux or macOS")

func pause(*incarnation) error  { return errNoPause }
func resume(*incarnation) error { return errNoPause }
