package forward

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"

	"github.com/gavel-relay/gavel/internal/serve"
)

// lastStatus is the last status that HTTP has (RFC 9110, 15). Those below 200 come before an
// answer.
const lastStatus = 599

// Answer writes an answer of another instance to the client.
func Answer(w http.ResponseWriter, answer []byte) error {
	response, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(answer)), nil)
	if err != nil {
		return fmt.Errorf("read an answer of another instance: %w", err)
	}
	// net/http reads any three digits as a status, and panics when it shall write one below 100.
	if code := response.StatusCode; code < http.StatusOK || code > lastStatus {
		return fmt.Errorf("read an answer of another instance: status %d ends no exchange", code)
	}
	body, err := io.ReadAll(response.Body)
	if err = errors.Join(err, response.Body.Close()); err != nil {
		return fmt.Errorf("read an answer of another instance: %w", err)
	}
	header := w.Header()
	for name, values := range response.Header {
		header[name] = slices.Clone(values)
	}
	if refusal := response.Header.Get(serve.RefusalHeader); refusal != "" {
		serve.Named(w, refusal)
	}
	w.WriteHeader(response.StatusCode)
	if len(body) > 0 {
		_, _ = w.Write(body) // the client is gone
	}
	return nil
}

// written is an answer that is being written.
type written struct {
	header http.Header
	status int
	body   bytes.Buffer
}

// Header implements http.ResponseWriter.
func (a *written) Header() http.Header { return a.header }

// WriteHeader implements http.ResponseWriter.
func (a *written) WriteHeader(status int) {
	if a.status == 0 && status >= http.StatusOK {
		a.status = status
	}
}

// Write implements io.Writer.
func (a *written) Write(data []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	return a.body.Write(data)
}

func (a *written) bytes() ([]byte, error) {
	a.WriteHeader(http.StatusOK)
	a.header.Del("Content-Length")
	whole := http.Response{StatusCode: a.status, ProtoMajor: 1, ProtoMinor: 1, Header: a.header,
		ContentLength: int64(a.body.Len()), Body: io.NopCloser(&a.body)}
	var b bytes.Buffer
	b.Grow(a.body.Len() + 1024)
	if err := whole.Write(&b); err != nil {
		return nil, fmt.Errorf("write an answer for another instance: %w", err)
	}
	return b.Bytes(), nil
}
