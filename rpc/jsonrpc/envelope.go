package jsonrpc

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/gavel-relay/gavel/internal/jsonscan"
	"github.com/gavel-relay/gavel/rpc"
)

// entry is one request of a body. All slices refer to the body.
type entry struct {
	// id is as it came: a number, a string or null. It is nil for a notification, and if the
	// request is so malformed that no id was found.
	id []byte
	// method is the name as it was called, without quotes; nil if none was found.
	method []byte
	params json.RawMessage // a list, or nothing
	// refused says what is wrong with the entry itself.
	refused *rpc.Refused
}

// isNotification says that the client expects no answer. A malformed request is answered with id
// null (JSON-RPC 2.0, 5).
func (e *entry) isNotification() bool {
	return e.id == nil && (e.refused == nil || e.refused.ID == rpc.InvalidParams.ID)
}

// maxDepth bounds how deep lists and objects may be nested. No method needs more than ten levels.
const maxDepth = 500

// errBatchTooLarge ends the reading of a batch.
var errBatchTooLarge = errors.New("batch is too large")

// parse reads a body: one entry, or a batch of at most maxBatch entries. It refuses what is not
// JSON, and what is neither of the two.
func parse(body []byte, maxBatch int) (entries []entry, batch bool, refused *rpc.Refused) {
	s := &jsonscan.Scanner{Doc: body, MaxDepth: maxDepth}
	var err error
	switch s.Peek() {
	case 0:
		if s.AtEnd() {
			return nil, false, rpc.ParseError.With("the body is empty")
		}
		return nil, false, refuseSyntax(s.Fail("value expected"))
	case '[':
		batch = true
		err = s.Items(func() error {
			if len(entries) == maxBatch {
				return errBatchTooLarge
			}
			entries = append(entries, entry{})
			return entries[len(entries)-1].read(s)
		})
	default:
		entries = make([]entry, 1)
		err = entries[0].read(s)
	}
	switch {
	case errors.Is(err, errBatchTooLarge):
		return nil, batch, rpc.InvalidRequest.With("more than %d requests in a batch", maxBatch)
	case err != nil:
		return nil, batch, refuseSyntax(err)
	case !s.AtEnd():
		return nil, batch, refuseSyntax(s.Fail("something after the request"))
	case len(entries) == 0:
		return nil, batch, rpc.InvalidRequest.With("the batch is empty")
	}
	return entries, batch, nil
}

// refuseSyntax says where a body is no longer JSON.
func refuseSyntax(err error) *rpc.Refused {
	var syntax *jsonscan.SyntaxError
	if errors.As(err, &syntax) {
		return rpc.ParseError.With("%s", syntax.Says())
	}
	return rpc.ParseError.With("%v", err)
}

// read reads one request. The returned error is about the JSON text; errors of the request itself
// are stored in refused.
func (e *entry) read(s *jsonscan.Scanner) error {
	if s.Peek() != '{' {
		_, err := s.Value()
		e.refused = rpc.InvalidRequest.With("a request is an object")
		return err
	}
	var id, version, method, params []byte
	err := s.Members(func(name []byte) (err error) {
		target := (*[]byte)(nil)
		switch string(name) {
		case "id":
			target = &id
		case "jsonrpc":
			target = &version
		case "method":
			target = &method
		case "params":
			target = &params
		default:
			_, err = s.Value()
			return err
		}
		if *target != nil {
			e.refused = rpc.InvalidRequest.With("%q comes twice", name)
		}
		*target, err = s.Value()
		return err
	})
	if err == nil && e.refused == nil {
		e.check(id, version, method, params)
	}
	return err
}

// maxID bounds an id as it came, in bytes, because the answer repeats it.
const maxID = 256

// check checks the members of a request, each as it came or nil, and stores them.
func (e *entry) check(id, version, method, params []byte) {
	switch kind := kindOf(id); kind {
	case aNumber, aString, null:
		if len(id) > maxID {
			e.refused = rpc.InvalidRequest.With("id has %d bytes, at most %d", len(id), maxID)
			return
		}
		e.id = id
	case nothing:
	default:
		e.refused = rpc.ParseError.With("invalid id type: %s, want a number, a string or null", kind)
		return
	}
	if kindOf(method) == aString {
		e.method, _ = jsonscan.Unquote(method) // a string that the scanner has checked
	}
	switch {
	case version == nil:
		e.refused = rpc.ParseError.With(`jsonrpc is missing, want "2.0"`)
	case !bytes.Equal(version, []byte(`"2.0"`)):
		e.refused = rpc.ParseError.With(`jsonrpc is %s, want "2.0"`, clip(version))
	case method != nil && e.method == nil:
		e.refused = rpc.InvalidRequest.With("method is %s, want a string", kindOf(method))
	case len(e.method) == 0:
		e.refused = rpc.InvalidRequest.With("missing method")
	default:
		e.refused = checkParams(kindOf(params))
	}
	if kindOf(params) == aList {
		e.params = params
	}
}

func checkParams(kind kind) *rpc.Refused {
	switch kind {
	case aList, null, nothing:
		return nil
	case anObject:
		return rpc.InvalidParams.With("params is an object, want a list: parameters go by position")
	}
	return rpc.InvalidParams.With("params is %s, want a list", kind)
}

// kind is the kind of a JSON value, as messages name it.
type kind string

const (
	nothing  kind = ""
	null     kind = "null"
	aBoolean kind = "a boolean"
	aNumber  kind = "a number"
	aString  kind = "a string"
	aList    kind = "a list"
	anObject kind = "an object"
)

// kindOf returns the kind of a valid value, from its first byte.
func kindOf(value []byte) kind {
	if len(value) == 0 {
		return nothing
	}
	switch value[0] {
	case '"':
		return aString
	case '{':
		return anObject
	case '[':
		return aList
	case 't', 'f':
		return aBoolean
	case 'n':
		return null
	}
	return aNumber
}

// clip shortens a client's text for an answer: enough to recognise it.
func clip(text []byte) string {
	if len(text) > 40 {
		return fmt.Sprintf("%.40s…", text)
	}
	return string(text)
}
