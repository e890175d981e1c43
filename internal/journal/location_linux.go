package journal

import (
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// lastingNumbers are the file systems in which a file keeps its number for as long as it exists.
// Overlays and network file systems without their own numbers are not among them.
var lastingNumbers = map[int64]bool{
	unix.EXT4_SUPER_MAGIC: true, unix.XFS_SUPER_MAGIC: true, unix.BTRFS_SUPER_MAGIC: true, unix.F2FS_SUPER_MAGIC: true,
	unix.TMPFS_MAGIC:     true,
	unix.NFS_SUPER_MAGIC: true, unix.CEPH_SUPER_MAGIC: true, zfsMagic: true,
}

// zfsMagic is the type of ZFS, which is missing in the kernel's own list.
const zfsMagic = 0x2fc12fc1

// numbering says whether files keep their numbers in a folder's file system. fileSystem is its
// identity if it makes snapshots, because files have the same numbers in a snapshot.
func numbering(dir string) (lasting bool, fileSystem string, err error) {
	var about unix.Statfs_t
	if err := unix.Statfs(dir, &about); err != nil {
		return false, "", fmt.Errorf("ask for the file system of %s: %w", dir, os.NewSyscallError("statfs", err))
	}
	kind := int64(about.Type) // the types differ between machines
	if kind == unix.BTRFS_SUPER_MAGIC || kind == zfsMagic {
		fileSystem = fmt.Sprintf("%08x%08x", uint32(about.Fsid.Val[0]), uint32(about.Fsid.Val[1]))
	}
	return lastingNumbers[kind], fileSystem, nil
}

// numberOf is the number of a file or folder in its file system, with its time of birth if that is
// known.
func numberOf(path string) (fileNumber, error) {
	var about unix.Statx_t
	if err := unix.Statx(unix.AT_FDCWD, path, 0, unix.STATX_INO|unix.STATX_BTIME, &about); err != nil {
		return fileNumber{}, fmt.Errorf("ask for the number of %s: %w", path, os.NewSyscallError("statx", err))
	}
	n := fileNumber{Inode: about.Ino}
	if about.Mask&unix.STATX_BTIME != 0 {
		n.Born = strconv.FormatInt(about.Btime.Sec, 10) + "." + fmt.Sprintf("%09d", about.Btime.Nsec)
	}
	return n, nil
}
