package shape

import (
	"encoding/binary"
	"errors"
	"fmt"
)

const offsetBytes = 4

var (
	// errTooMany means that a list is longer than its type allows.
	errTooMany = errors.New("more than SSZ has room for")
	// errOffsets means that an offset is not where it must be.
	errOffsets = errors.New("an offset is wrong")
)

func tooMany(most int) error { return fmt.Errorf("more than %d: %w", most, errTooMany) }

// Vector is a list of exactly count items of a fixed size.
func Vector[E any](item Shape[E], count int) Shape[[]E] {
	s := listOf(item, count, nil, func(leaves []chunk, _ int) chunk { return merkle(leaves, depthOf(len(leaves))) })
	whole := func(v *[]E) error {
		if len(*v) != count {
			return fmt.Errorf("%d items: want %d", len(*v), count)
		}
		return nil
	}
	s.fixed, s.least = count*item.fixed, count*item.fixed
	check, read, ofJSON := s.check, s.read, s.ofJSON
	s.check = func(v *[]E) error { return errors.Join(whole(v), check(v)) }
	s.read = func(raw []byte, v *[]E) error {
		if err := read(raw, v); err != nil {
			return err
		}
		return whole(v)
	}
	s.ofJSON = func(c *cursor, v *[]E) error {
		if err := ofJSON(c, v); err != nil {
			return err
		}
		return whole(v)
	}
	return s
}

// List is a list of up to most items.
func List[E any](item Shape[E], most int) Shape[[]E] {
	leaves := most
	if item.basic {
		leaves = (most*item.fixed + chunkBytes - 1) / chunkBytes
	}
	depth := depthOf(leaves)
	return listOf(item, most, nil, func(leaves []chunk, count int) chunk {
		return mixIn(merkle(leaves, depth), uint64(count))
	})
}

// Progressive is a list without a limit, whose tree grows with it (EIP-7916).
func Progressive[E any](item Shape[E]) Shape[[]E] {
	return ProgressiveOf(item, nil)
}

// ProgressiveOf is a progressive list of which no more items are read than its length in bytes
// allows. An item takes memory besides its own bytes, so that a list of tiny ones would take
// several times the memory of its text. What is written and hashed has no bound.
func ProgressiveOf[E any](item Shape[E], most func(bytes int) int) Shape[[]E] {
	return listOf(item, noLimit, most, func(leaves []chunk, count int) chunk {
		return mixIn(progressive(leaves), uint64(count))
	})
}

// noLimit is more than there can be of anything.
const noLimit = 1 << 62

// listOf is a list of up to most items, of which up to readable(bytes) are read; nil is no bound.
func listOf[E any](item Shape[E], most int, readable func(bytes int) int,
	tree func(leaves []chunk, count int) chunk) Shape[[]E] {
	bound := func(bytes int) int {
		if readable == nil {
			return most
		}
		return min(most, readable(bytes))
	}
	s := Shape[[]E]{
		check:  func(v *[]E) error { return checkItems(item, most, *v) },
		root:   func(v *[]E) chunk { return tree(leavesOf(item, *v), len(*v)) },
		toJSON: func(to []byte, v *[]E) []byte { return itemsToJSON(item, to, *v) },
		ofJSON: func(c *cursor, v *[]E) error {
			*v = []E{}
			return c.list(bound(len(c.Doc)/2), func() error { // two digits are a byte
				var e E
				if err := item.ofJSON(c, &e); err != nil {
					return err
				}
				*v = append(*v, e)
				return nil
			})
		},
	}
	if item.fixed > 0 {
		s.size = func(v *[]E) int { return len(*v) * item.fixed }
		s.write = func(to []byte, v *[]E) []byte {
			for i := range *v {
				to = item.write(to, &(*v)[i])
			}
			return to
		}
		s.read = func(raw []byte, v *[]E) error { return readFixed(item, bound(len(raw)), raw, v) }
		return s
	}
	s.size = func(v *[]E) (size int) {
		for i := range *v {
			size += offsetBytes + item.size(&(*v)[i])
		}
		return size
	}
	s.write = func(to []byte, v *[]E) []byte { return writeVariable(item, to, *v) }
	s.read = func(raw []byte, v *[]E) error { return readVariable(item, bound(len(raw)), raw, v) }
	return s
}

func checkItems[E any](item Shape[E], most int, list []E) error {
	if len(list) > most {
		return tooMany(most)
	}
	if item.check == nil {
		return nil
	}
	for i := range list {
		if err := item.check(&list[i]); err != nil {
			return fmt.Errorf("item %d: %w", i, err)
		}
	}
	return nil
}

func itemsToJSON[E any](item Shape[E], to []byte, list []E) []byte {
	to = append(to, '[')
	for i := range list {
		if i > 0 {
			to = append(to, ',')
		}
		to = item.toJSON(to, &list[i])
	}
	return append(to, ']')
}

// writeVariable writes the offsets of items, and the items.
func writeVariable[E any](item Shape[E], to []byte, list []E) []byte {
	at := len(list) * offsetBytes
	for i := range list {
		to = binary.LittleEndian.AppendUint32(to, uint32(at))
		at += item.size(&list[i])
	}
	for i := range list {
		to = item.write(to, &list[i])
	}
	return to
}

func leavesOf[E any](item Shape[E], list []E) []chunk {
	if item.basic {
		packed := make([]byte, 0, len(list)*item.fixed)
		for i := range list {
			packed = item.write(packed, &list[i])
		}
		return pack(packed)
	}
	leaves := make([]chunk, len(list))
	for i := range list {
		leaves[i] = item.root(&list[i])
	}
	return leaves
}

func readFixed[E any](item Shape[E], most int, raw []byte, v *[]E) error {
	if len(raw)%item.fixed != 0 {
		return fmt.Errorf("%d bytes are no multiple of %d", len(raw), item.fixed)
	}
	count := len(raw) / item.fixed
	if count > most {
		return tooMany(most)
	}
	list := make([]E, count)
	for i := range list {
		if err := item.read(raw[i*item.fixed:(i+1)*item.fixed], &list[i]); err != nil {
			return fmt.Errorf("item %d: %w", i, err)
		}
	}
	*v = list
	return nil
}

// readVariable reads items that have an offset each. The first offset also says how many there are.
func readVariable[E any](item Shape[E], most int, raw []byte, v *[]E) error {
	if len(raw) == 0 {
		*v = []E{}
		return nil
	}
	if len(raw) < offsetBytes {
		return errOffsets
	}
	first := int(binary.LittleEndian.Uint32(raw))
	count := first / offsetBytes
	if first == 0 || first%offsetBytes != 0 || first > len(raw) {
		return errOffsets
	}
	if count > most {
		return tooMany(most)
	}
	if item.least*count > len(raw)-first { // before memory is allocated for them
		return fmt.Errorf("%d bytes are too few for %d items", len(raw), count)
	}
	list := make([]E, count)
	from := first
	for i := range list {
		to := len(raw)
		if i+1 < count {
			to = int(binary.LittleEndian.Uint32(raw[(i+1)*offsetBytes:]))
		}
		if to < from || to > len(raw) {
			return fmt.Errorf("item %d: %w", i, errOffsets)
		}
		if err := item.read(raw[from:to], &list[i]); err != nil {
			return fmt.Errorf("item %d: %w", i, err)
		}
		from = to
	}
	*v = list
	return nil
}
