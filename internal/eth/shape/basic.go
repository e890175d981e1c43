package shape

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"slices"
	"strconv"

	"github.com/holiman/uint256"
)

// Number is a uint64; in JSON a quoted decimal.
func Number[N ~uint64]() Shape[N] {
	return Shape[N]{
		fixed: 8, least: 8, basic: true,
		size:  func(*N) int { return 8 },
		write: func(to []byte, v *N) []byte { return binary.LittleEndian.AppendUint64(to, uint64(*v)) },
		read: func(raw []byte, v *N) error {
			if len(raw) != 8 {
				return errLength(len(raw), 8)
			}
			*v = N(binary.LittleEndian.Uint64(raw))
			return nil
		},
		root: func(v *N) (root chunk) {
			binary.LittleEndian.PutUint64(root[:], uint64(*v))
			return root
		},
		toJSON: func(to []byte, v *N) []byte {
			return append(strconv.AppendUint(append(to, '"'), uint64(*v), 10), '"')
		},
		ofJSON: func(c *cursor, v *N) error {
			n, err := c.decimal(64)
			*v = N(n)
			return err
		},
	}
}

// Octet is a uint8; in JSON a quoted decimal.
func Octet[N ~uint8]() Shape[N] {
	return Shape[N]{
		fixed: 1, least: 1, basic: true,
		size:  func(*N) int { return 1 },
		write: func(to []byte, v *N) []byte { return append(to, byte(*v)) },
		read: func(raw []byte, v *N) error {
			if len(raw) != 1 {
				return errLength(len(raw), 1)
			}
			*v = N(raw[0])
			return nil
		},
		root: func(v *N) chunk { return chunk{byte(*v)} },
		toJSON: func(to []byte, v *N) []byte {
			return append(strconv.AppendUint(append(to, '"'), uint64(*v), 10), '"')
		},
		ofJSON: func(c *cursor, v *N) error {
			n, err := c.decimal(8)
			*v = N(n)
			return err
		},
	}
}

// Flag is a boolean, true or false in JSON.
func Flag() Shape[bool] {
	octet := func(v *bool) byte {
		if *v {
			return 1
		}
		return 0
	}
	return Shape[bool]{
		fixed: 1, least: 1, basic: true,
		size:  func(*bool) int { return 1 },
		write: func(to []byte, v *bool) []byte { return append(to, octet(v)) },
		read: func(raw []byte, v *bool) error {
			if len(raw) != 1 {
				return errLength(len(raw), 1)
			}
			if raw[0] > 1 {
				return fmt.Errorf("%#02x is no boolean", raw[0])
			}
			*v = raw[0] == 1
			return nil
		},
		root:   func(v *bool) chunk { return chunk{octet(v)} },
		toJSON: func(to []byte, v *bool) []byte { return strconv.AppendBool(to, *v) },
		ofJSON: func(c *cursor, v *bool) (err error) {
			*v, err = c.boolean()
			return err
		},
	}
}

// Wei is a uint256, which must not be nil; in JSON a quoted decimal.
func Wei() Shape[*uint256.Int] {
	littleEndian := func(v *uint256.Int) chunk {
		raw := v.Bytes32()
		slices.Reverse(raw[:])
		return raw
	}
	return Shape[*uint256.Int]{
		fixed: chunkBytes, least: chunkBytes, basic: true,
		check: func(v **uint256.Int) error {
			if *v == nil {
				return errMissing
			}
			return nil
		},
		size: func(**uint256.Int) int { return chunkBytes },
		write: func(to []byte, v **uint256.Int) []byte {
			raw := littleEndian(*v)
			return append(to, raw[:]...)
		},
		read: func(raw []byte, v **uint256.Int) error {
			if len(raw) != chunkBytes {
				return errLength(len(raw), chunkBytes)
			}
			bigEndian := slices.Clone(raw)
			slices.Reverse(bigEndian)
			*v = new(uint256.Int).SetBytes32(bigEndian)
			return nil
		},
		root:   func(v **uint256.Int) chunk { return littleEndian(*v) },
		toJSON: func(to []byte, v **uint256.Int) []byte { return append(append(append(to, '"'), (*v).Dec()...), '"') },
		ofJSON: func(c *cursor, v **uint256.Int) (err error) {
			*v, err = c.wei()
			return err
		},
	}
}

// Bits is a bitvector of this length.
func Bits[B ~[]byte](length int) Shape[B] {
	size := (length + 7) / 8
	s := fixedBytes(size, func(v *B) []byte { return *v }, func(v *B) { *v = make(B, size) })
	outside := func(raw []byte) error {
		if used := length % 8; used != 0 && raw[size-1]>>used != 0 {
			return fmt.Errorf("a bit after the first %d is set", length)
		}
		return nil
	}
	read, ofJSON := s.read, s.ofJSON
	s.check = func(v *B) error {
		if len(*v) != size {
			return errLength(len(*v), size)
		}
		return outside(*v)
	}
	s.read = func(raw []byte, v *B) error {
		if err := read(raw, v); err != nil {
			return err
		}
		return outside(*v)
	}
	s.ofJSON = func(c *cursor, v *B) error {
		if err := ofJSON(c, v); err != nil {
			return err
		}
		return outside(*v)
	}
	return s
}

// ProgressiveBits is a bitlist whose tree grows with it (EIP-7916). A last bit that is set marks
// its end, and the byte of this bit is its last one.
func ProgressiveBits[B ~[]byte]() Shape[B] {
	marked := func(v *B) error {
		if raw := *v; len(raw) == 0 || raw[len(raw)-1] == 0 {
			return fmt.Errorf("a bitlist without its end")
		}
		return nil
	}
	return Shape[B]{
		least: 1, check: marked,
		size:  func(v *B) int { return len(*v) },
		write: func(to []byte, v *B) []byte { return append(to, *v...) },
		read: func(raw []byte, v *B) error {
			*v = B(raw[:len(raw):len(raw)])
			return marked(v)
		},
		root: func(v *B) chunk {
			raw := slices.Clone(*v)
			last := len(raw) - 1
			end := bits.Len8(raw[last]) - 1
			raw[last] &^= 1 << end
			if end == 0 {
				raw = raw[:last]
			}
			return mixIn(progressive(pack(raw)), uint64(8*last+end))
		},
		toJSON: func(to []byte, v *B) []byte { return appendHex(to, *v) },
		ofJSON: func(c *cursor, v *B) error {
			raw, err := c.bytes(len(c.Doc))
			if err != nil {
				return err
			}
			*v = raw
			return marked(v)
		},
	}
}
