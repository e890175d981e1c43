package fault

// Disk simulates a disk that can be full, be slow, or lose its power: a file system in memory which
// keeps what was synced apart from what was only written.
//
//	write ─▶ what everybody reads ── sync ─▶ what is kept … power cut: what is kept is all that there is
//
// It is stricter than file systems usually are: data that was never synced is lost in a power cut,
// however long ago it was written. Syncing a file also keeps the names of its folders, as ext4, XFS
// and btrfs do. A rename or a removal is kept once the folder is synced; a rename also once the
// file itself is synced again.

import (
	"maps"
	"slices"
	"sync"
	"syscall"
	"time"
)

// BlockBytes is the unit in which space is counted. A file or folder without contents takes one
// block.
const BlockBytes = 4096

// Disk is safe for concurrent use. Its methods fail with the system's error numbers, as those of a
// real disk do.
type Disk struct {
	mu     sync.Mutex // guards all fields below, and all nodes
	root   *node
	lastID uint64
	used   int64 // blocks of the nodes that have a name
	room   int64 // blocks that exist in total; negative means unlimited
	slow   time.Duration
}

// node is a file or a folder.
type node struct {
	id       uint64
	folder   bool
	mode     uint32 // permissions
	modified time.Time
	parent   *node // nil for the root, and for nodes that have no name any more
	name     string

	data    []byte
	entries map[string]*node

	// kept and keptEntries are what a power cut leaves. changedFrom and changedTo bound the part of
	// data that was written since the last sync.
	kept                   []byte
	keptEntries            map[string]*node
	changedFrom, changedTo int
	// keptIn and keptAs are the folder and the name under which the node survives a power cut; with
	// a nil keptIn it does not survive.
	keptIn *node
	keptAs string
}

// NewDisk returns an empty disk of unlimited size.
func NewDisk() *Disk {
	d := &Disk{room: -1}
	d.root = d.newNode(true, 0o700)
	return d
}

func (d *Disk) newNode(folder bool, mode uint32) *node {
	d.lastID++
	n := &node{id: d.lastID, folder: folder, mode: mode, modified: time.Now()}
	if folder {
		n.entries, n.keptEntries = map[string]*node{}, map[string]*node{}
	}
	return n
}

// Full makes the disk full, or unlimited again. A full disk has the blocks that are in use and no
// more: removing files makes space.
func (d *Disk) Full(full bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.room = -1
	if full {
		d.room = d.used
	}
}

// Slow makes each write and each sync take longer by the given wall time.
func (d *Disk) Slow(by time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.slow = by
}

// Cut simulates a power cut: the disk has only what was kept. The processes that use its mount must
// have ended before.
func (d *Disk) Cut() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.used = 0
	d.restore(d.root)
}

// restore replaces the contents of a node by what was kept of it. The caller holds mu.
func (d *Disk) restore(n *node) {
	n.data, n.changedFrom, n.changedTo = slices.Clone(n.kept), 0, 0
	n.entries = maps.Clone(n.keptEntries)
	for name, entry := range n.entries {
		entry.parent, entry.name = n, name
		d.restore(entry)
		d.used += entry.blocks()
	}
}

// blocks returns how many blocks a node takes; the nodes in a folder are not counted.
func (n *node) blocks() int64 { return 1 + blocksOf(len(n.data)) }

func blocksOf(bytes int) int64 { return int64((bytes + BlockBytes - 1) / BlockBytes) }

// pause waits for as long as the disk is slow.
func (d *Disk) pause() {
	d.mu.Lock()
	slow := d.slow
	d.mu.Unlock()
	if slow > 0 {
		time.Sleep(slow)
	}
}

// take uses blocks, if there are enough. The caller holds mu.
func (d *Disk) take(blocks int64) syscall.Errno {
	if d.room >= 0 && blocks > 0 && d.used+blocks > d.room {
		return syscall.ENOSPC
	}
	d.used += blocks
	return 0
}

// lookup finds a name in a folder.
func (d *Disk) lookup(in *node, name string) (*node, syscall.Errno) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if n := in.entries[name]; n != nil {
		return n, 0
	}
	return nil, syscall.ENOENT
}

// list returns the nodes in a folder, oldest first.
func (d *Disk) list(in *node) []*node {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.SortedFunc(maps.Values(in.entries), func(a, b *node) int { return int(a.id) - int(b.id) })
}

// create makes a file or a folder.
func (d *Disk) create(in *node, name string, folder bool, mode uint32) (*node, syscall.Errno) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if in.entries[name] != nil {
		return nil, syscall.EEXIST
	}
	if errno := d.take(1); errno != 0 {
		return nil, errno
	}
	n := d.newNode(folder, mode&0o7777)
	n.parent, n.name = in, name
	in.entries[name], in.modified = n, n.modified
	return n, 0
}

// remove takes a node's name away. Processes that have the file open can still use it.
func (d *Disk) remove(in *node, name string, folder bool) syscall.Errno {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := in.entries[name]
	switch {
	case n == nil:
		return syscall.ENOENT
	case folder && !n.folder:
		return syscall.ENOTDIR
	case !folder && n.folder:
		return syscall.EISDIR
	case len(n.entries) > 0:
		return syscall.ENOTEMPTY
	}
	d.drop(n)
	return 0
}

// drop takes a node's name away. The caller holds mu.
func (d *Disk) drop(n *node) {
	delete(n.parent.entries, n.name)
	n.parent.modified = time.Now()
	n.parent = nil
	d.used -= n.blocks()
}

// rename moves a file or folder, and replaces a node that has the new name already.
func (d *Disk) rename(from *node, old string, to *node, name string) syscall.Errno {
	d.mu.Lock()
	defer d.mu.Unlock()
	n, other := from.entries[old], to.entries[name]
	switch {
	case n == nil:
		return syscall.ENOENT
	case n == other:
		return 0
	case other != nil && other.folder != n.folder:
		return syscall.EEXIST
	case other != nil && len(other.entries) > 0:
		return syscall.ENOTEMPTY
	}
	if other != nil {
		d.drop(other)
	}
	delete(from.entries, old)
	n.parent, n.name = to, name
	to.entries[name] = n
	from.modified, to.modified = time.Now(), time.Now()
	return 0
}

// read copies data from an offset, fewer bytes at the end of the file, and returns their number.
func (d *Disk) read(n *node, into []byte, offset int64) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	if offset >= int64(len(n.data)) {
		return 0
	}
	return copy(into, n.data[offset:])
}

// write puts data at an offset; a file that is too short for it grows.
func (d *Disk) write(n *node, data []byte, offset int64) syscall.Errno {
	d.pause()
	d.mu.Lock()
	defer d.mu.Unlock()
	if end := int(offset) + len(data); end > len(n.data) {
		if errno := d.grow(n, end); errno != 0 {
			return errno
		}
	}
	copy(n.data[offset:], data)
	n.markChanged(int(offset), int(offset)+len(data))
	return 0
}

// grow makes a file longer. The caller holds mu.
func (d *Disk) grow(n *node, size int) syscall.Errno {
	if n.parent != nil {
		if errno := d.take(blocksOf(size) - blocksOf(len(n.data))); errno != 0 {
			return errno
		}
	}
	before := len(n.data)
	n.data = slices.Grow(n.data, size-before)[:size]
	clear(n.data[before:])
	n.markChanged(before, size)
	return 0
}

// markChanged widens the range of bytes that the next sync copies. The caller holds mu.
func (n *node) markChanged(from, to int) {
	n.modified = time.Now()
	if n.changedFrom == n.changedTo {
		n.changedFrom, n.changedTo = from, to
		return
	}
	n.changedFrom, n.changedTo = min(n.changedFrom, from), max(n.changedTo, to)
}

// resize shortens a file, or makes it longer.
func (d *Disk) resize(n *node, size int) syscall.Errno {
	d.mu.Lock()
	defer d.mu.Unlock()
	if size > len(n.data) {
		return d.grow(n, size)
	}
	if n.parent != nil {
		d.used -= blocksOf(len(n.data)) - blocksOf(size)
	}
	n.data, n.modified = n.data[:size], time.Now()
	n.changedTo = min(n.changedTo, size)
	n.changedFrom = min(n.changedFrom, n.changedTo)
	return 0
}

// sync keeps a file's contents and its name, or the names in a folder.
func (d *Disk) sync(n *node) {
	d.pause()
	d.mu.Lock()
	defer d.mu.Unlock()
	if n.folder {
		for _, gone := range n.keptEntries {
			gone.keptIn = nil
		}
		clear(n.keptEntries)
		for _, entry := range n.entries {
			entry.keepName()
		}
	} else {
		n.keepData()
	}
	for ; n.parent != nil; n = n.parent {
		n.keepName()
	}
}

// keepName makes a node survive under its present name, and under no other. The caller holds mu.
func (n *node) keepName() {
	if n.keptIn != nil {
		delete(n.keptIn.keptEntries, n.keptAs)
	}
	if other := n.parent.keptEntries[n.name]; other != nil {
		other.keptIn = nil
	}
	n.keptIn, n.keptAs = n.parent, n.name
	n.keptIn.keptEntries[n.keptAs] = n
}

// keepData copies the bytes that were changed; bytes by which the file has grown are among them.
// The caller holds mu.
func (n *node) keepData() {
	n.kept = n.kept[:min(len(n.kept), len(n.data))]
	n.kept = append(n.kept, make([]byte, len(n.data)-len(n.kept))...)
	copy(n.kept[n.changedFrom:n.changedTo], n.data[n.changedFrom:n.changedTo])
	n.changedFrom, n.changedTo = 0, 0
}
