// Package disk is a disk that can be full, slow, or lose its power: a file system in memory, which
// remembers what was synced beside what was written.
//
//	write ─▶ what everybody reads ── sync ─▶ what is kept … power cut: what is kept is all that there is
//
// It is stricter than file systems usually are: what nobody synced is lost however long ago it was
// written. A synced file is kept with the names of its folders, as ext4, XFS and btrfs do it; a new
// name of a file that was renamed, and that a name is gone, are kept once the folder is synced, or
// the file anew.
package disk

import (
	"maps"
	"slices"
	"sync"
	"syscall"
	"time"
)

// BlockBytes is what room is counted in. A file or folder without contents takes one block.
const BlockBytes = 4096

// Disk is safe for concurrent use. Its methods fail with errors of the system, as a disk's.
type Disk struct {
	mu     sync.Mutex // guards all below, and all nodes
	root   *node
	lastID uint64
	used   int64 // blocks of what has a name
	room   int64 // blocks that there are; negative is no bound
	slow   time.Duration
}

// node is a file or a folder.
type node struct {
	id       uint64
	folder   bool
	mode     uint32 // permissions
	modified time.Time
	parent   *node // nil of the root, and of what has no name any more
	name     string

	data    []byte
	entries map[string]*node

	// kept and keptEntries are what a power cut leaves. changedFrom and changedTo are the part of data
	// that was written since.
	kept                   []byte
	keptEntries            map[string]*node
	changedFrom, changedTo int
	// keptIn and keptAs are where a power cut leaves it; nil is nowhere.
	keptIn *node
	keptAs string
}

// New is an empty disk without a bound.
func New() *Disk {
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

// Full makes the disk full, or gives it room without a bound again. A full disk has the blocks that
// are in use, and no more: what is removed makes room.
func (d *Disk) Full(full bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.room = -1
	if full {
		d.room = d.used
	}
}

// Slow makes each write and each sync take so much longer (wall time).
func (d *Disk) Slow(by time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.slow = by
}

// Cut is a power cut: the disk has only what was kept. Whoever has it mounted must be gone.
func (d *Disk) Cut() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.used = 0
	d.restore(d.root)
}

// restore makes of a node what is kept of it. The caller holds mu.
func (d *Disk) restore(n *node) {
	n.data, n.changedFrom, n.changedTo = slices.Clone(n.kept), 0, 0
	n.entries = maps.Clone(n.keptEntries)
	for name, entry := range n.entries {
		entry.parent, entry.name = n, name
		d.restore(entry)
		d.used += entry.blocks()
	}
}

// blocks is how much room a node takes, without what is in a folder.
func (n *node) blocks() int64 { return 1 + blocksOf(len(n.data)) }

func blocksOf(bytes int) int64 { return int64((bytes + BlockBytes - 1) / BlockBytes) }

// pause lets a slow disk take its time.
func (d *Disk) pause() {
	d.mu.Lock()
	slow := d.slow
	d.mu.Unlock()
	if slow > 0 {
		time.Sleep(slow)
	}
}

// take uses blocks, if there is room. The caller holds mu.
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

// list is what a folder has.
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

// remove takes a name away. Who has the file open may go on with it.
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

// rename moves a file or folder, in place of what has the new name.
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

// read copies what is at a place, less at the end.
func (d *Disk) read(n *node, into []byte, offset int64) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	if offset >= int64(len(n.data)) {
		return 0
	}
	return copy(into, n.data[offset:])
}

// write puts data at a place; a file that is too short for it grows.
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
	n.changed(int(offset), int(offset)+len(data))
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
	n.changed(before, size)
	return 0
}

// changed remembers what is to be kept at the next sync. The caller holds mu.
func (n *node) changed(from, to int) {
	n.modified = time.Now()
	if n.changedFrom == n.changedTo {
		n.changedFrom, n.changedTo = from, to
		return
	}
	n.changedFrom, n.changedTo = min(n.changedFrom, from), max(n.changedTo, to)
}

// resize cuts a file, or makes it longer.
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

// sync keeps a file's contents and name, or a folder's names.
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

// keepName keeps a node under the name that it has, and under no other. The caller holds mu.
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

// keepData copies what was changed. What is longer than before is within that. The caller holds mu.
func (n *node) keepData() {
	n.kept = n.kept[:min(len(n.kept), len(n.data))]
	n.kept = append(n.kept, make([]byte, len(n.data)-len(n.kept))...)
	copy(n.kept[n.changedFrom:n.changedTo], n.data[n.changedFrom:n.changedTo])
	n.changedFrom, n.changedTo = 0, 0
}
