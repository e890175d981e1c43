package fault

import (
	"context"
	"errors"
	"fmt"
	iofs "io/fs"
	"os"
	"syscall"
	"time"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
)

// cached is how long the kernel may cache attributes and names. It can be long, because only the
// kernel changes this file system.
var cached = time.Hour

// Mount mounts the disk at a folder until unmount is called. It needs /dev/fuse and the right to
// mount, which a user has in a user namespace of its own (see Apart).
func (d *Disk) Mount(dir string) (unmount func() error, err error) {
	if err := device(); err != nil {
		return nil, fmt.Errorf("mount disk: %w", err)
	}
	server, err := fs.Mount(dir, &inode{disk: d, node: d.root}, &fs.Options{
		EntryTimeout: &cached, AttrTimeout: &cached, UID: uint32(os.Getuid()), GID: uint32(os.Getgid()),
		MountOptions: fuse.MountOptions{
			Name: "gavel-disk", FsName: "gavel-disk", DirectMountStrict: true, DisableXAttrs: true,
		},
	})
	if err != nil {
		return nil, fmt.Errorf("mount disk: %w", err)
	}
	return func() error {
		if err := server.Unmount(); err != nil {
			return fmt.Errorf("unmount disk: %w", err)
		}
		return nil
	}, nil
}

// device checks that this user can open /dev/fuse, and says how to mend it otherwise.
func device() error {
	device, err := os.OpenFile("/dev/fuse", os.O_RDWR, 0)
	switch {
	case errors.Is(err, iofs.ErrNotExist):
		return errors.New("there is no /dev/fuse: load the kernel's module fuse (modprobe fuse), or give the container " +
			"that device")
	case errors.Is(err, iofs.ErrPermission):
		return errors.New("/dev/fuse is not open to this user: have root open it to all (chmod 666 /dev/fuse), as udev does")
	case err != nil:
		return err
	}
	return device.Close()
}

// inode is the kernel's view of a node. It asks the disk for everything.
type inode struct {
	fs.Inode
	disk *Disk
	node *node
}

var (
	_ fs.NodeLookuper  = (*inode)(nil)
	_ fs.NodeReaddirer = (*inode)(nil)
	_ fs.NodeCreater   = (*inode)(nil)
	_ fs.NodeMkdirer   = (*inode)(nil)
	_ fs.NodeUnlinker  = (*inode)(nil)
	_ fs.NodeRmdirer   = (*inode)(nil)
	_ fs.NodeRenamer   = (*inode)(nil)
	_ fs.NodeGetattrer = (*inode)(nil)
	_ fs.NodeSetattrer = (*inode)(nil)
	_ fs.NodeOpener    = (*inode)(nil)
	_ fs.NodeReader    = (*inode)(nil)
	_ fs.NodeWriter    = (*inode)(nil)
	_ fs.NodeFsyncer   = (*inode)(nil)
	_ fs.NodeAllocater = (*inode)(nil)
	_ fs.NodeStatfser  = (*inode)(nil)
)

// child makes the inode of a node below this one.
func (i *inode) child(ctx context.Context, n *node, out *fuse.EntryOut) *fs.Inode {
	i.disk.describe(n, &out.Attr)
	return i.NewInode(ctx, &inode{disk: i.disk, node: n}, fs.StableAttr{Mode: n.kind(), Ino: n.id})
}

func (n *node) kind() uint32 {
	if n.folder {
		return syscall.S_IFDIR
	}
	return syscall.S_IFREG
}

// describe fills in a node's attributes.
func (d *Disk) describe(n *node, out *fuse.Attr) {
	d.mu.Lock()
	defer d.mu.Unlock()
	out.Ino, out.Mode, out.Nlink = n.id, n.kind()|n.mode, 1
	out.Size, out.Blksize = uint64(len(n.data)), BlockBytes
	out.Blocks = uint64(blocksOf(len(n.data))) * BlockBytes / 512
	out.SetTimes(nil, &n.modified, &n.modified)
}

// Lookup implements fs.NodeLookuper.
func (i *inode) Lookup(ctx context.Context, name string, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	n, errno := i.disk.lookup(i.node, name)
	if errno != 0 {
		return nil, errno
	}
	return i.child(ctx, n, out), 0
}

// Readdir implements fs.NodeReaddirer.
func (i *inode) Readdir(context.Context) (fs.DirStream, syscall.Errno) {
	var entries []fuse.DirEntry
	for _, n := range i.disk.list(i.node) {
		entries = append(entries, fuse.DirEntry{Name: n.name, Mode: n.kind(), Ino: n.id})
	}
	return fs.NewListDirStream(entries), 0
}

// Create implements fs.NodeCreater.
func (i *inode) Create(
	ctx context.Context, name string, _, mode uint32, out *fuse.EntryOut,
) (node *fs.Inode, handle fs.FileHandle, flags uint32, errno syscall.Errno) {
	n, errno := i.disk.create(i.node, name, false, mode)
	if errno != 0 {
		return nil, nil, 0, errno
	}
	return i.child(ctx, n, out), nil, fuse.FOPEN_KEEP_CACHE, 0
}

// Mkdir implements fs.NodeMkdirer.
func (i *inode) Mkdir(ctx context.Context, name string, mode uint32, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	n, errno := i.disk.create(i.node, name, true, mode)
	if errno != 0 {
		return nil, errno
	}
	return i.child(ctx, n, out), 0
}

// Unlink implements fs.NodeUnlinker.
func (i *inode) Unlink(_ context.Context, name string) syscall.Errno {
	return i.disk.remove(i.node, name, false)
}

// Rmdir implements fs.NodeRmdirer.
func (i *inode) Rmdir(_ context.Context, name string) syscall.Errno {
	return i.disk.remove(i.node, name, true)
}

// Rename implements fs.NodeRenamer.
func (i *inode) Rename(_ context.Context, old string, to fs.InodeEmbedder, name string, flags uint32) syscall.Errno {
	target, ok := to.(*inode)
	if !ok || flags != 0 {
		return syscall.EINVAL
	}
	return i.disk.rename(i.node, old, target.node, name)
}

// Getattr implements fs.NodeGetattrer.
func (i *inode) Getattr(_ context.Context, _ fs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	i.disk.describe(i.node, &out.Attr)
	return 0
}

// Setattr implements fs.NodeSetattrer.
func (i *inode) Setattr(_ context.Context, _ fs.FileHandle, in *fuse.SetAttrIn, out *fuse.AttrOut) syscall.Errno {
	if size, ok := in.GetSize(); ok {
		if errno := i.disk.resize(i.node, int(size)); errno != 0 { // the kernel bounds the size
			return errno
		}
	}
	i.disk.mu.Lock()
	if mode, ok := in.GetMode(); ok {
		i.node.mode = mode & 0o7777
	}
	if modified, ok := in.GetMTime(); ok {
		i.node.modified = modified
	}
	i.disk.mu.Unlock()
	i.disk.describe(i.node, &out.Attr)
	return 0
}

// Open implements fs.NodeOpener.
func (i *inode) Open(context.Context, uint32) (handle fs.FileHandle, flags uint32, errno syscall.Errno) {
	return nil, fuse.FOPEN_KEEP_CACHE, 0
}

// Read implements fs.NodeReader.
func (i *inode) Read(_ context.Context, _ fs.FileHandle, into []byte, offset int64) (fuse.ReadResult, syscall.Errno) {
	return fuse.ReadResultData(into[:i.disk.read(i.node, into, offset)]), 0
}

// Write implements fs.NodeWriter.
func (i *inode) Write(_ context.Context, _ fs.FileHandle, data []byte,
	offset int64) (written uint32, errno syscall.Errno) {
	if errno := i.disk.write(i.node, data, offset); errno != 0 {
		return 0, errno
	}
	return uint32(len(data)), 0 // the kernel bounds the length
}

// Fsync implements fs.NodeFsyncer, for files and folders.
func (i *inode) Fsync(context.Context, fs.FileHandle, uint32) syscall.Errno {
	i.disk.sync(i.node)
	return 0
}

// Allocate implements fs.NodeAllocater. It can only make a file longer.
func (i *inode) Allocate(_ context.Context, _ fs.FileHandle, offset, size uint64, mode uint32) syscall.Errno {
	if mode != 0 {
		return syscall.EOPNOTSUPP
	}
	i.disk.mu.Lock()
	defer i.disk.mu.Unlock()
	if end := int(offset + size); end > len(i.node.data) { // the kernel bounds both
		return i.disk.grow(i.node, end)
	}
	return 0
}

// sizeBlocks is the size that an unlimited disk reports: 64 GiB.
const sizeBlocks = 16 << 20

// Statfs implements fs.NodeStatfser.
func (i *inode) Statfs(_ context.Context, out *fuse.StatfsOut) syscall.Errno {
	i.disk.mu.Lock()
	defer i.disk.mu.Unlock()
	room := i.disk.room
	if room < 0 {
		room = sizeBlocks
	}
	out.Bsize, out.Frsize, out.NameLen = BlockBytes, BlockBytes, 255
	out.Blocks, out.Bfree = sizeBlocks, uint64(max(room-i.disk.used, 0))
	out.Bavail = out.Bfree
	return 0
}

// Apart lets a child process mount at folders that nobody else sees: the child is root in user and
// mount namespaces of its own, and the caller's user outside of them.
func Apart() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
		Pdeathsig:   syscall.SIGKILL,
	}
}
