//go:build !linux

package disk

import (
	"errors"
	"syscall"
)

// Mount fails: it needs Linux.
func (d *Disk) Mount(string) (unmount func() error, err error) {
	return nil, errors.New("mount disk: only Linux can: run the story there")
}

// Apart returns nil: there are no namespaces to ask for.
func Apart() *syscall.SysProcAttr { return nil }
