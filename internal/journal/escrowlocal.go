package journal

import (
	"bytes"
	"container/list"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// localEscrow keeps the escrow of an embedded engine beside the engine: each value is a file, or a
// slice if there is no folder. A value needs neither order nor replicas there, and going through
// the engine takes three times as long as writing the file (docs/speed.md).
//
//	put ─▶ key.tmp ─▶ written ─▶ renamed: acked        the oldest goes when it is too old, or when there is no room
//
// A written file is in the kernel's cache: it survives a crash of the process, as what the engine
// acks does. A synced file survives a power cut. Of another file a power cut may leave a part,
// which its checksum shows.
type localEscrow struct {
	dir     string // empty keeps the values in memory
	keepFor time.Duration
	room    int64 // in bytes

	mu     sync.Mutex // guards all below, and renaming and removing of files
	taken  int64
	values map[string]*list.Element // elements hold *localValue
	order  list.List                // the oldest first
	temps  int
}

type localValue struct {
	key   string
	size  int64
	since time.Time
	value []byte // nil if the value is in a file
	plain bool   // the file is of an earlier version, without a header
}

// A file begins with the version of its format, and with a length and a checksum that show whether
// the value is complete.
//
//	| "gavel" 0 0 version 1 | length 8 | CRC-32C of length and value 4 | value |
const (
	localSuffix = ".kept"
	// plainSuffix is the suffix of an earlier version's files, which hold the value alone.
	plainSuffix = ".value"
	tempSuffix  = ".tmp"
	localMagic  = "gavel\x00\x00"
	// localVersion is the version that is written. Versions up to it are read.
	localVersion = 1
	localHeader  = len(localMagic) + 1 + 8 + 4
)

// ErrCorrupt says that a value was stored but is not complete. It wraps ErrNotFound.
var ErrCorrupt = fmt.Errorf("%w: what was kept is not whole", ErrNotFound)

// headerOf is the header before a value in its file.
func headerOf(value []byte) []byte {
	header := append([]byte(localMagic), localVersion)
	header = binary.BigEndian.AppendUint64(header, uint64(len(value)))
	sum := crc32.Update(crc32.Checksum(header[len(header)-8:], castagnoli), castagnoli, value)
	return binary.BigEndian.AppendUint32(header, sum)
}

// valueIn is the value in a file; ErrCorrupt if it is not complete.
func valueIn(raw []byte) ([]byte, error) {
	if len(raw) < localHeader || string(raw[:len(localMagic)]) != localMagic {
		return nil, ErrCorrupt
	}
	if version := raw[len(localMagic)]; version > localVersion {
		return nil, fmt.Errorf("it is of format %d, which a newer version of gavel wrote; this one reads formats up to %d",
			version, localVersion)
	}
	value := raw[localHeader:]
	if !bytes.Equal(raw[:localHeader], headerOf(value)) {
		return nil, ErrCorrupt
	}
	return value, nil
}

// plainValue is the value in a file of an earlier version. It has no checksum, so only an empty
// file is known to be incomplete; the reader of the value must notice other damage.
func plainValue(raw []byte) ([]byte, error) {
	if len(raw) == 0 {
		return nil, ErrCorrupt
	}
	return raw, nil
}

// openLocalEscrow opens the escrow with the values that an earlier process left in the folder.
func openLocalEscrow(dir string, keepFor time.Duration, room int64) (*localEscrow, error) {
	e := &localEscrow{dir: dir, keepFor: keepFor, room: room, values: map[string]*list.Element{}}
	if dir == "" {
		return e, nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the escrow's folder: %w", err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("read the escrow's folder: %w", err)
	}
	var found []*localValue
	for _, entry := range entries {
		key, isValue := strings.CutSuffix(entry.Name(), localSuffix)
		plain := false
		if !isValue {
			key, plain = strings.CutSuffix(entry.Name(), plainSuffix)
		}
		if !isValue && !plain { // a file whose value was not acked
			if err := os.Remove(filepath.Join(dir, entry.Name())); err != nil {
				return nil, fmt.Errorf("tidy the escrow's folder: %w", err)
			}
			continue
		}
		info, err := entry.Info()
		if err != nil {
			return nil, fmt.Errorf("read the escrow's folder: %w", err)
		}
		found = append(found, &localValue{key: key, size: info.Size(), since: info.ModTime(), plain: plain})
	}
	slices.SortFunc(found, func(a, b *localValue) int { return a.since.Compare(b.since) })
	for _, v := range found {
		e.add(v)
	}
	return e, nil
}

// put implements escrowStore. In memory it keeps the value itself, not a copy.
func (e *localEscrow) put(_ context.Context, key string, value []byte) error {
	v := &localValue{key: key, size: int64(len(value)), since: time.Now()}
	if e.dir == "" {
		v.value = value
		e.mu.Lock()
		defer e.mu.Unlock()
		return e.replace(v)
	}
	e.mu.Lock()
	e.temps++
	temp := filepath.Join(e.dir, fmt.Sprint(e.temps)+tempSuffix)
	e.mu.Unlock()
	if err := writeValue(temp, value); err != nil {
		return errors.Join(sizeText(err), os.Remove(temp))
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if err := os.Rename(temp, e.path(v)); err != nil {
		return errors.Join(err, os.Remove(temp))
	}
	return e.replace(v)
}

func (e *localEscrow) path(v *localValue) string {
	if v.plain {
		return filepath.Join(e.dir, v.key+plainSuffix)
	}
	return filepath.Join(e.dir, v.key+localSuffix)
}

// writeValue writes a file with a value.
func writeValue(path string, value []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	// copying the value behind its header would cost more than a second system call
	parts := net.Buffers{headerOf(value), value}
	if _, err := parts.WriteTo(f); err != nil {
		return errors.Join(err, f.Close())
	}
	return f.Close()
}

// sync makes a value survive a power cut. It does nothing if the value is gone.
func (e *localEscrow) sync(_ context.Context, key string) error {
	e.mu.Lock()
	element := e.values[key]
	e.mu.Unlock()
	if e.dir == "" || element == nil {
		return nil
	}
	f, err := os.Open(e.path(element.Value.(*localValue)))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return err
	}
	return syncFolder(e.dir)
}

// replace puts a value in place of an earlier one of its key, and removes the oldest values that
// are too old or do not fit. The caller holds mu.
func (e *localEscrow) replace(v *localValue) error {
	if old := e.values[v.key]; old != nil {
		e.leave(old)
	}
	e.add(v)
	var errs []error
	for oldest := e.order.Front(); oldest != nil; oldest = e.order.Front() {
		if e.taken <= e.room && v.since.Sub(oldest.Value.(*localValue).since) <= e.keepFor {
			break
		}
		errs = append(errs, e.remove(oldest))
	}
	return errors.Join(errs...)
}

// add, leave and remove change the list of values; remove also removes the file. The caller holds
// mu.
func (e *localEscrow) add(v *localValue) {
	e.values[v.key] = e.order.PushBack(v)
	e.taken += v.size
}

func (e *localEscrow) leave(element *list.Element) {
	v := e.order.Remove(element).(*localValue)
	delete(e.values, v.key)
	e.taken -= v.size
}

func (e *localEscrow) remove(element *list.Element) error {
	e.leave(element)
	if e.dir == "" {
		return nil
	}
	if err := os.Remove(e.path(element.Value.(*localValue))); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// get implements escrowStore.
func (e *localEscrow) get(_ context.Context, key string) ([]byte, error) {
	e.mu.Lock()
	element := e.values[key]
	e.mu.Unlock()
	if element == nil {
		return nil, ErrNotFound
	}
	v := element.Value.(*localValue)
	if time.Since(v.since) > e.keepFor {
		return nil, ErrNotFound
	}
	if e.dir == "" {
		return v.value, nil
	}
	raw, err := os.ReadFile(e.path(v))
	switch {
	case errors.Is(err, fs.ErrNotExist): // removed meanwhile to make room
		return nil, ErrNotFound
	case err != nil:
		return nil, err
	case v.plain:
		return plainValue(raw)
	}
	return valueIn(raw)
}

// forget implements escrowStore.
func (e *localEscrow) forget(_ context.Context, key string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if element := e.values[key]; element != nil {
		return e.remove(element)
	}
	return nil
}

// bytes implements escrowStore.
func (e *localEscrow) bytes() int64 { return e.room }

// keys implements escrowStore.
func (e *localEscrow) keys(_ context.Context, prefix string) (keys []string, _ error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for key := range e.values {
		if strings.HasPrefix(key, prefix+".") {
			keys = append(keys, key)
		}
	}
	return keys, nil
}

// drop implements escrowStore.
func (e *localEscrow) drop(_ context.Context, prefix string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	var errs []error
	for key, element := range e.values {
		if strings.HasPrefix(key, prefix+".") {
			errs = append(errs, e.remove(element))
		}
	}
	return errors.Join(errs...)
}
