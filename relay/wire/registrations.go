package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/gavel-relay/gavel/relay"
)

// registrationSize is a SignedValidatorRegistrationV1 in SSZ; a list of them is their plain concatenation.
const registrationSize = 180

// EntryError says why one registration of a batch could not be decoded.
type EntryError struct {
	Index int
	Err   error
}

// DecodeRegistrations reads a batch. Entries that can be decoded come back in order with their places in the batch; the others as errors.
// The error is for a body that is no list at all.
func DecodeRegistrations(media Media, body []byte) (entries []*relay.SignedRegistration, places []int, bad []EntryError, err error) {
	var raws [][]byte
	if media == SSZ {
		if len(body)%registrationSize != 0 {
			return nil, nil, nil, fmt.Errorf("%d bytes are no multiple of %d", len(body), registrationSize)
		}
		for ; len(body) > 0; body = body[registrationSize:] {
			raws = append(raws, body[:registrationSize])
		}
	} else if raws, err = listItems(body); err != nil {
		return nil, nil, nil, err
	}
	for i, raw := range raws {
		entry := new(relay.SignedRegistration)
		if err := decode(media, raw, entry); err != nil {
			bad = append(bad, EntryError{Index: i, Err: err})
			continue
		}
		if entry.Message == nil {
			bad = append(bad, EntryError{Index: i, Err: errors.New("no message")})
			continue
		}
		entries, places = append(entries, entry), append(places, i)
	}
	return entries, places, bad, nil
}

// listItems are the raw items of a JSON list.
func listItems(body []byte) ([][]byte, error) {
	var items []json.RawMessage
	decoder := json.NewDecoder(bytes.NewReader(body))
	if err := decoder.Decode(&items); err != nil {
		return nil, fmt.Errorf("not a JSON list: %w", err)
	}
	if items == nil || decoder.More() {
		return nil, errors.New("not a JSON list")
	}
	raws := make([][]byte, len(items))
	for i := range items {
		raws[i] = items[i]
	}
	return raws, nil
}
