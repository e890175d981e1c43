package wire

import (
	"encoding/json"
	"fmt"
)

// Media is an encoding of a body.
type Media uint8

// The two encodings of builder-specs.
const (
	JSON Media = iota
	SSZ
)

// ContentType is the media type in HTTP.
func (m Media) ContentType() string {
	if m == SSZ {
		return "application/octet-stream"
	}
	return "application/json"
}

// codec has the methods of all generated types of the libraries.
type codec interface {
	json.Marshaler
	json.Unmarshaler
	MarshalSSZ() ([]byte, error)
	MarshalSSZTo([]byte) ([]byte, error)
	UnmarshalSSZ([]byte) error
	SizeSSZ() int
}

// decodeSSZ reads a value strictly: it accepts only the one valid encoding of its contents.
func decodeSSZ(body []byte, into codec) (err error) {
	defer recoverMalformed(&err)
	return readSSZ(into, body)
}

// recoverMalformed turns a panic into an error. The libraries may index beyond what they read; the
// fuzz tests find no such input. If there is one all the same, the relay must not crash.
func recoverMalformed(err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("malformed input: %v", r)
	}
}

func readSSZ(into codec, body []byte) error {
	if err := into.UnmarshalSSZ(body); err != nil {
		return err
	}
	if size := into.SizeSSZ(); size != len(body) {
		return fmt.Errorf("%d bytes, but what they say takes %d", len(body), size)
	}
	return nil
}

func encode(media Media, value codec) ([]byte, error) {
	if media == JSON {
		return value.MarshalJSON()
	}
	return value.MarshalSSZ()
}
