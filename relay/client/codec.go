package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/attestantio/go-eth2-client/spec"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/payload"
)

type marshaler interface {
	MarshalSSZ() ([]byte, error)
	MarshalJSON() ([]byte, error)
}

type unmarshaler interface{ UnmarshalSSZ(raw []byte) error }

type versionedAnswer interface {
	json.Unmarshaler
	IsEmpty() bool
}

// accept returns the Accept header: the form that the client prefers, and JSON after SSZ.
func (c *Client) accept() string {
	if c.json {
		return mediaJSON
	}
	return mediaSSZ + ";q=1.0," + mediaJSON + ";q=0.9"
}

// encode returns a body, and adds its version and media type to the header.
func (c *Client) encode(value marshaler, version spec.DataVersion, header http.Header) ([]byte, error) {
	header.Set(versionHeader, version.String())
	if c.json {
		header.Set("Content-Type", mediaJSON)
		return value.MarshalJSON()
	}
	header.Set("Content-Type", mediaSSZ)
	return value.MarshalSSZ()
}

// decode reads a versioned answer. The version is in the document for JSON, and in a header for
// SSZ.
func (a *answer) decode(into versionedAnswer) (err error) {
	// go-eth2-client allocates by a length that it has not checked, so a transaction that is not a
	// string makes it panic (deneb's payload).
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("malformed: %v", cause)
		}
	}()
	if !strings.HasPrefix(a.contentType, mediaSSZ) {
		if err := json.Unmarshal(a.body, into); err != nil {
			return err
		}
		if into.IsEmpty() {
			return errors.New("no data of its version")
		}
		return nil
	}
	fork, err := eth.ParseFork(a.version)
	if err != nil {
		return fmt.Errorf("version %q: %w", a.version, err)
	}
	value, err := payload.MakeMember[unmarshaler](into, fork)
	if err != nil {
		return err
	}
	return value.UnmarshalSSZ(a.body)
}
