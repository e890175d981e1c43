package shape

import (
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"
)

// Bytes is an array of bytes; of gives the bytes of a value.
func Bytes[A any](of func(*A) []byte) Shape[A] {
	return fixedBytes(len(of(new(A))), of, func(*A) {})
}

// Slice is a list of exactly size bytes, which the libraries have in the place of an array.
func Slice(size int) Shape[[]byte] {
	s := fixedBytes(size, func(v *[]byte) []byte { return *v }, func(v *[]byte) { *v = make([]byte, size) })
	s.check = func(v *[]byte) error {
		if len(*v) != size {
			return errLength(len(*v), size)
		}
		return nil
	}
	return s
}

// fixedBytes is the shape of size bytes; grow makes room for them in a value.
func fixedBytes[A any](size int, of func(*A) []byte, grow func(*A)) Shape[A] {
	return Shape[A]{
		fixed: size, least: size,
		size:  func(*A) int { return size },
		write: func(to []byte, v *A) []byte { return append(to, of(v)...) },
		read: func(raw []byte, v *A) error {
			if len(raw) != size {
				return errLength(len(raw), size)
			}
			grow(v)
			copy(of(v), raw)
			return nil
		},
		root: func(v *A) (root chunk) {
			if size <= chunkBytes {
				copy(root[:], of(v))
				return root
			}
			chunks := pack(of(v))
			return merkle(chunks, depthOf(len(chunks)))
		},
		toJSON: func(to []byte, v *A) []byte { return appendHex(to, of(v)) },
		ofJSON: func(c *cursor, v *A) error {
			grow(v)
			return c.fixed(of(v))
		},
	}
}

// ByteList is a list of up to most bytes.
func ByteList[B ~[]byte](most int) Shape[B] {
	depth := depthOf((most + chunkBytes - 1) / chunkBytes)
	s := byteList[B](func(raw []byte) chunk { return merkle(pack(raw), depth) })
	s.check = func(v *B) error {
		if len(*v) > most {
			return tooMany(most)
		}
		return nil
	}
	read := s.read
	s.read = func(raw []byte, v *B) error {
		if len(raw) > most {
			return tooMany(most)
		}
		return read(raw, v)
	}
	s.ofJSON = func(c *cursor, v *B) error {
		raw, err := c.bytes(most)
		*v = raw
		return err
	}
	return s
}

// ProgressiveBytes is a list of bytes without a limit, whose tree grows with it (EIP-7916).
func ProgressiveBytes[B ~[]byte]() Shape[B] {
	return byteList[B](func(raw []byte) chunk { return progressive(pack(raw)) })
}

func byteList[B ~[]byte](tree func([]byte) chunk) Shape[B] {
	return Shape[B]{
		size:  func(v *B) int { return len(*v) },
		write: func(to []byte, v *B) []byte { return append(to, *v...) },
		read: func(raw []byte, v *B) error {
			*v = B(raw[:len(raw):len(raw)])
			return nil
		},
		root:   func(v *B) chunk { return mixIn(tree(*v), uint64(len(*v))) },
		toJSON: func(to []byte, v *B) []byte { return appendHex(to, *v) },
		ofJSON: func(c *cursor, v *B) error {
			raw, err := c.bytes(len(c.Doc))
			*v = raw
			return err
		},
	}
}

// errText means that a text is not UTF-8, so that JSON could not say it.
var errText = errors.New("it is not UTF-8")

// Text is a list of up to most bytes of UTF-8, in JSON the text itself. Beacon APIs have URLs of
// this form.
func Text(most int) Shape[string] {
	raw := ByteList[[]byte](most)
	check := func(v *string) error {
		switch {
		case len(*v) > most:
			return tooMany(most)
		case !utf8.ValidString(*v):
			return errText
		}
		return nil
	}
	return Shape[string]{
		check: check,
		size:  func(v *string) int { return len(*v) },
		write: func(to []byte, v *string) []byte { return append(to, *v...) },
		read: func(raw []byte, v *string) error {
			if len(raw) > most {
				return tooMany(most)
			}
			*v = string(raw)
			return check(v)
		},
		root: func(v *string) chunk {
			list := []byte(*v)
			return raw.root(&list)
		},
		toJSON: func(to []byte, v *string) []byte {
			quoted, err := json.Marshal(*v)
			if err != nil {
				panic(fmt.Sprintf("marshal a string: %v", err)) // every string has a JSON form
			}
			return append(to, quoted...)
		},
		ofJSON: func(c *cursor, v *string) error {
			if c.Peek() != '"' {
				return c.Wrong(wantText)
			}
			text, err := c.Text()
			if err != nil {
				return err
			}
			*v = string(text)
			return check(v)
		},
	}
}
