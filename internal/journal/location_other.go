//go:build !linux

package journal

import (
	"fmt"
	"os"
	"syscall"
)

// numbering says that files keep their numbers: on the usual file systems of other systems they do.
func numbering(string) (lasting bool, fileSystem string, err error) { return true, "", nil }

// numberOf is the number of a file or folder in its file system.
func numberOf(path string) (fileNumber, error) {
	info, err := os.Stat(path)
	if err != nil {
		return fileNumber{}, fmt.Errorf("ask for the number of %s: %w", path, err)
	}
	about, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return fileNumber{}, nil
	}
	return fileNumber{Inode: about.Ino}, nil
}
