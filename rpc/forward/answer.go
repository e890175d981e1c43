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

// Answer writes an answer of another instance to the client.
func Answer(w http.ResponseWriter, answer []byte) error {
	response, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(answer)), nil)
	if err != nil {
		return fmt.Errorf("read an answer of another instance: %w", err)
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

// answer is an answer that is being written.
type answer struct {
	header http.Header
	status int
	body   bytes.Buffer
}

// Header implements http.ResponseWriter.
func (a *answer) Header() http.Header { return a.header }

// WriteHeader implements http.ResponseWriter.
func (a *answer) WriteHeader(status int) {
	if a.status == 0 && status >= http.StatusOK {
		a.status = status
	}
}

// Write implements io.Writer.
func (a *answer) Write(data []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	return a.body.Write(data)
}

func (a *answer) bytes() ([]byte, error) {
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
