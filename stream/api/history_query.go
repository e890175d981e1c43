package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/gavel-relay/gavel/internal/serve"
	"github.com/gavel-relay/gavel/stream"
)

// bodyBytes bounds the body of a POST.
const bodyBytes = 64 << 10

// values are the parameters of a query as text, by name. Missing parameters are not set.
type values map[string]string

// readQuery reads the query of a GET. If a name comes twice, the first one counts. Unknown names
// are ignored.
func (h *historyHandler) readQuery(r *http.Request) (stream.Query, error) {
	sent, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return stream.Query{}, stream.InvalidParameter.With("%v", err)
	}
	v := values{}
	for name := range sent {
		v[name] = sent.Get(name)
	}
	return v.query(h.MaxLimit)
}

// readBody reads the object of a POST. Only one known client sends such requests: for it 0 or null
// means no bound, and its names may end with a colon.
func (h *historyHandler) readBody(w http.ResponseWriter, r *http.Request) (q stream.Query, err error) {
	body, err := serve.ReadBody(w, r, bodyBytes, "gzip")
	switch {
	case errors.Is(err, serve.ErrTooLarge):
		return q, stream.BodyTooLarge.Plain()
	case errors.Is(err, serve.ErrEncoding):
		return q, stream.UnsupportedMediaType.Plain()
	case errors.Is(err, serve.ErrBusy):
		return q, stream.Overloaded.Plain()
	case err != nil:
		return q, stream.BodyUnreadable.Plain()
	}
	v, err := readObject(body)
	if err != nil {
		return q, err
	}
	return v.query(h.MaxLimit)
}

// readObject reads an object of numbers. An empty body counts as an empty object.
func readObject(body []byte) (values, error) {
	if len(bytes.TrimSpace(body)) == 0 {
		return values{}, nil
	}
	sent, err := readMembers(body)
	if err != nil {
		return nil, err
	}
	v := values{}
	for name, raw := range sent {
		text := string(raw)
		if quoted := ""; json.Unmarshal(raw, &quoted) == nil && text != "null" {
			text = quoted
		}
		plain := strings.TrimSuffix(name, ":")
		if _, both := sent[plain]; both && plain != name {
			continue // the name without a colon counts
		}
		if text != "null" && text != "0" {
			v[plain] = text
		}
	}
	return v, nil
}

// readMembers reads the members of an object. It refuses a name that comes twice, because some
// readers would take its first value and some its last.
func readMembers(body []byte) (map[string]json.RawMessage, error) {
	decoder := json.NewDecoder(bytes.NewReader(body))
	if first, err := decoder.Token(); err != nil || first != json.Delim('{') {
		return nil, stream.InvalidBody.With("want a JSON object")
	}
	sent := map[string]json.RawMessage{}
	for decoder.More() {
		var raw json.RawMessage
		name, err := decoder.Token()
		if err == nil {
			err = decoder.Decode(&raw)
		}
		text, isText := name.(string)
		if err != nil || !isText {
			return nil, stream.InvalidBody.With("want a JSON object")
		}
		if _, twice := sent[text]; twice {
			return nil, stream.InvalidBody.With("%.40q comes twice", text)
		}
		sent[text] = raw
	}
	if _, err := decoder.Token(); err != nil { // the closing brace
		return nil, stream.InvalidBody.With("want a JSON object")
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, stream.InvalidBody.With("there is something after the object")
	}
	return sent, nil
}

func (v values) query(maxLimit int) (q stream.Query, err error) {
	if q.Blocks, err = v.bounds("blockStart", "blockEnd"); err != nil {
		return q, err
	}
	if q.Times, err = v.bounds("timestampStart", "timestampEnd"); err != nil {
		return q, err
	}
	if q.Offset, err = v.number("offset", 0); err != nil {
		return q, err
	}
	limit, err := v.number("limit", int64(maxLimit))
	if err == nil && (limit < 1 || limit > int64(maxLimit)) {
		err = stream.InvalidParameter.Of("limit", "%d is not between 1 and %d", limit, maxLimit)
	}
	q.Limit = int(limit)
	return q, err
}

func (v values) bounds(start, end string) (r stream.Range, err error) {
	if r.From, err = v.number(start, stream.Always.From); err != nil {
		return r, err
	}
	if r.To, err = v.number(end, stream.Always.To); err != nil {
		return r, err
	}
	if r.From > r.To {
		return r, stream.InvalidParameter.Of(start, "%d is after %s, %d", r.From, end, r.To)
	}
	return r, nil
}

// number is the value of a parameter, decimal digits up to 2⁶³-1, or otherwise if it is not set.
func (v values) number(name string, otherwise int64) (int64, error) {
	text, set := v[name]
	if !set {
		return otherwise, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || strings.Trim(text, "0123456789") != "" {
		return 0, stream.InvalidParameter.Of(name, "%.40q is not a decimal number between 0 and 9223372036854775807", text)
	}
	return n, nil
}
