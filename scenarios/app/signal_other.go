//go:build !unix

package app

import (
	"errors"
)

var errNoPause = errors.New("this system cannot pause a process: run the story on Linux or macOS")

func pause(*life) error  { return errNoPause }
func resume(*life) error { return errNoPause }
