package journal

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// localEscrow keeps the escrow of an embedded engine beside the engine: each value is a file, or a slice without a folder. A value needs no
// order and no replicas there, and the way through the engine takes three times as long as writing the file (docs/speed.md).
//
//	put ─▶ key.tmp ─▶ written ─▶ renamed: acked        the oldest goes when it is too old, or when there is no room
//
// A file that is written is the kernel's: it survives a crash of the process, as what the engine acks does.
type localEscrow struct {
	dir     string // empty keeps the values in memory
	keepFor time.Duration
	room    int64 // in bytes

	mu     sync.Mutex // guards all below, and renaming and removing of files
	bytes  int64
	values map[string]*list.Element // of *localValue
	order  list.List                // the oldest first
	temps  int
}

type localValue struct {
	key   string
	size  int64
	since time.Time
	value []byte // nil in a file
}

const (
	localSuffix = ".value"
	tempSuffix  = ".tmp"
)

// openLocalEscrow finds what an earlier life of the process has left in the folder.
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
		if !isValue { // was not acked
			if err := os.Remove(filepath.Join(dir, entry.Name())); err != nil {
				return nil, fmt.Errorf("tidy the escrow's folder: %w", err)
			}
			continue
		}
		info, err := entry.Info()
		if err != nil {
			return nil, fmt.Errorf("read the escrow's folder: %w", err)
		}
		found = append(found, &localValue{key: key, size: info.Size(), since: info.ModTime()})
	}
	slices.SortFunc(found, func(a, b *localValue) int { return a.since.Compare(b.since) })
	for _, v := range found {
		e.add(v)
	}
	return e, nil
}

// put implements escrowStore. In memory the value itself is kept.
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
	if err := os.WriteFile(temp, value, 0o600); err != nil {
		return errors.Join(err, os.Remove(temp))
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if err := os.Rename(temp, e.path(key)); err != nil {
		return errors.Join(err, os.Remove(temp))
	}
	return e.replace(v)
}

func (e *localEscrow) path(key string) string { return filepath.Join(e.dir, key+localSuffix) }

// replace puts a value in place of an earlier one of its key and makes room. The caller holds mu.
func (e *localEscrow) replace(v *localValue) error {
	if old := e.values[v.key]; old != nil {
		e.forget(old)
	}
	e.add(v)
	var errs []error
	for oldest := e.order.Front(); oldest != nil; oldest = e.order.Front() {
		if e.bytes <= e.room && v.since.Sub(oldest.Value.(*localValue).since) <= e.keepFor {
			break
		}
		errs = append(errs, e.remove(oldest))
	}
	return errors.Join(errs...)
}

// add, forget and remove change what is known of the values; remove also removes the file. The caller holds mu.
func (e *localEscrow) add(v *localValue) {
	e.values[v.key] = e.order.PushBack(v)
	e.bytes += v.size
}

func (e *localEscrow) forget(element *list.Element) {
	v := e.order.Remove(element).(*localValue)
	delete(e.values, v.key)
	e.bytes -= v.size
}

func (e *localEscrow) remove(element *list.Element) error {
	e.forget(element)
	if e.dir == "" {
		return nil
	}
	if err := os.Remove(e.path(element.Value.(*localValue).key)); !errors.Is(err, fs.ErrNotExist) {
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
	value, err := os.ReadFile(e.path(key))
	if errors.Is(err, fs.ErrNotExist) { // made room meanwhile
		return nil, ErrNotFound
	}
	return value, err
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
