//go:build !linux

package journal

import (
	"fmt"
	"os"
	"syscall"
)

// numbering says whether numbers of files last: on the file systems that such systems are run from,
// they do.
func numbering(string) (lasting bool, fileSystem string, err error) { return true, "", nil }

// numberOf is what the file system calls a file or folder.
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
