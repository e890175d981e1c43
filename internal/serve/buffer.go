package serve

import "bytes"

// newBuffer has room for a body whose length is known, plus what ReadFrom wants to see the end of it without growing.
func newBuffer(size int64) *bytes.Buffer {
	return bytes.NewBuffer(make([]byte, 0, size+bytes.MinRead))
}
