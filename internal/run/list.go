package run

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/goccy/go-yaml"
)

// DecodeList reads a list in YAML. An empty file is an empty list. An unknown key is an error. The
// error names the line and the key. The library panics at some tags on a list; DecodeList returns
// an error for that, too.
func DecodeList[T any](text []byte) (list []T, err error) {
	defer func() {
		if r := recover(); r != nil {
			list, err = nil, fmt.Errorf("not YAML that can be read: %v", r)
		}
	}()
	err = yaml.NewDecoder(bytes.NewReader(text), yaml.Strict()).Decode(&list)
	switch {
	case errors.Is(err, io.EOF):
		return nil, nil
	case err != nil:
		return nil, errors.New(yaml.FormatError(err, false, false))
	}
	return list, nil
}
