//go:build !linux

package disk

import (
	"errors"
	"syscall"
)

// Mount says that it cannot.
func (d *Disk) Mount(string) (unmount func() error, err error) {
	return nil, errors.New("mount disk: only Linux can: run the story there")
}

// Apart has nothing to say here.
func Apart() *syscall.SysProcAttr { return nil }
