package shape

import (
	"encoding/binary"
	"fmt"
	"slices"
)

// Field is a named part of a container.
type Field[T any] struct {
	name string
	part Shape[T]
}

// In makes a field of a container T; at says where in a value it is.
func In[T, E any](name string, s Shape[E], at func(*T) *E) Field[T] {
	return Field[T]{name, through(s, at)}
}

// Container has fields in this order; all are mandatory in JSON.
func Container[T any](fields ...Field[T]) Shape[T] {
	depth := depthOf(len(fields))
	return container(fields, func(roots []chunk) chunk { return merkle(roots, depth) })
}

// ProgressiveContainer is a container whose tree grows with its fields (EIP-7495), all of which are
// active. It has at most 64.
func ProgressiveContainer[T any](fields ...Field[T]) Shape[T] {
	active := uint64(1)<<len(fields) - 1
	return container(fields, func(roots []chunk) chunk { return mixIn(progressive(roots), active) })
}

func container[T any](fields []Field[T], tree func([]chunk) chunk) Shape[T] {
	all := members[T](slices.Clone(fields))
	s := Shape[T]{
		fixed: all.head(), least: all.head(),
		write: all.write, read: all.read, toJSON: all.toJSON, ofJSON: all.ofJSON,
		root: func(v *T) chunk {
			roots := make([]chunk, len(all))
			for i := range all {
				roots[i] = all[i].part.root(v)
			}
			return tree(roots)
		},
		size: func(v *T) int {
			size := all.head()
			for i := range all {
				if all[i].part.fixed == 0 {
					size += all[i].part.size(v)
				}
			}
			return size
		},
	}
	for i := range all {
		if all[i].part.fixed == 0 {
			s.fixed = 0
			s.least += all[i].part.least
		}
		if all[i].part.check != nil {
			s.check = all.check
		}
	}
	return s
}

// members are the fields of a container.
type members[T any] []Field[T]

// head is the length of the part before the values of variable size: values of fixed size, and
// offsets of the others.
func (m members[T]) head() (size int) {
	for i := range m {
		if m[i].part.fixed > 0 {
			size += m[i].part.fixed
		} else {
			size += offsetBytes
		}
	}
	return size
}

func (m members[T]) check(v *T) error {
	for i := range m {
		if m[i].part.check == nil {
			continue
		}
		if err := m[i].part.check(v); err != nil {
			return fmt.Errorf("%s: %w", m[i].name, err)
		}
	}
	return nil
}

func (m members[T]) write(to []byte, v *T) []byte {
	at := m.head()
	for i := range m {
		if m[i].part.fixed > 0 {
			to = m[i].part.write(to, v)
			continue
		}
		to = binary.LittleEndian.AppendUint32(to, uint32(at))
		at += m[i].part.size(v)
	}
	for i := range m {
		if m[i].part.fixed == 0 {
			to = m[i].part.write(to, v)
		}
	}
	return to
}

func (m members[T]) read(raw []byte, v *T) error {
	head := m.head()
	if len(raw) < head {
		return fmt.Errorf("%d bytes: want at least %d", len(raw), head)
	}
	at, end := 0, head // of the value that was read last
	pending := -1      // the field of variable size that begins at end
	for i := range m {
		if size := m[i].part.fixed; size > 0 {
			if err := m.readOne(i, raw[at:at+size], v); err != nil {
				return err
			}
			at += size
			continue
		}
		from := int(binary.LittleEndian.Uint32(raw[at:]))
		at += offsetBytes
		if pending < 0 && from != head || from < end || from > len(raw) {
			return fmt.Errorf("%s: %w", m[i].name, errOffsets)
		}
		if pending >= 0 {
			if err := m.readOne(pending, raw[end:from], v); err != nil {
				return err
			}
		}
		pending, end = i, from
	}
	if pending >= 0 {
		return m.readOne(pending, raw[end:], v)
	}
	if len(raw) != head {
		return errLength(len(raw), head)
	}
	return nil
}

func (m members[T]) readOne(i int, raw []byte, v *T) error {
	if err := m[i].part.read(raw, v); err != nil {
		return fmt.Errorf("%s: %w", m[i].name, err)
	}
	return nil
}
