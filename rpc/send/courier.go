package send

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"
)

// Signer makes the value of the signature header for a body, with the service's own key. It is safe for concurrent use.
type Signer interface {
	Sign(body []byte) (header string, err error)
}

// maxAnswer is how much of a builder's answer is read.
const maxAnswer = 64 << 10

// errServer is an answer after which the request may be repeated: a status of 500 or above.
type errServer struct {
	status int
}

func (e *errServer) Error() string { return fmt.Sprintf("builder answered %d", e.status) }

// deliver posts a body until the builder has answered, at most 1+Retries times. The error tells what a person can act on, without the URL, which
// may have a key in it.
func (c *Couriers) deliver(ctx context.Context, b Builder, body []byte) error {
	header, err := c.config.Signer.Sign(body)
	if err != nil {
		return fmt.Errorf("sign the request: %w", err)
	}
	for attempt := 0; ; attempt++ {
		err := c.post(ctx, b, body, header)
		if err == nil || attempt >= c.config.Retries || !repeatable(err) || ctx.Err() != nil {
			return err
		}
		if err := pause(ctx, c.config.Backoff<<attempt); err != nil {
			return fmt.Errorf("wait to try again: %w", err)
		}
	}
}

// repeatable says whether the builder may take the same request another time: it did not decide about this one.
func repeatable(err error) bool {
	var server *errServer
	var transport *url.Error
	return errors.As(err, &server) || errors.As(err, &transport)
}

func (c *Couriers) post(ctx context.Context, b Builder, body []byte, header string) error {
	ctx, cancel := context.WithTimeout(ctx, c.config.Timeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, b.URL, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("make the request: %w", err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set(c.config.Header, header)
	response, err := c.config.Client.Do(request)
	if err != nil {
		return withoutURL(err)
	}
	defer response.Body.Close()
	if response.StatusCode >= http.StatusInternalServerError {
		return &errServer{response.StatusCode}
	}
	answer, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil {
		return &url.Error{Op: "read", Err: err}
	}
	return judge(response.StatusCode, answer)
}

// withoutURL leaves the builder's address out of an error.
func withoutURL(err error) error {
	var transport *url.Error
	if errors.As(err, &transport) {
		return &url.Error{Op: "post", URL: "builder", Err: transport.Err}
	}
	return err
}

// judge reads an answer: a JSON-RPC error, in either of its dialects, is a no; so is a status that says so without one.
func judge(status int, answer []byte) error {
	var envelope struct {
		Error json.RawMessage `json:"error"`
	}
	readable := json.Unmarshal(answer, &envelope) == nil
	if readable && len(envelope.Error) > 0 && string(envelope.Error) != "null" {
		return fmt.Errorf("builder refused: %s", reason(envelope.Error))
	}
	switch {
	case status < 200 || status > 299:
		return fmt.Errorf("builder answered %d", status)
	case !readable:
		return errors.New("builder's answer is not JSON-RPC")
	}
	return nil
}

// reason is the message of an error object, or the error itself; not too long for a person.
func reason(raw json.RawMessage) string {
	var object struct {
		Message string `json:"message"`
	}
	var text string
	if json.Unmarshal(raw, &object) == nil && object.Message != "" {
		text = object.Message
	} else if json.Unmarshal(raw, &text) != nil {
		text = string(raw)
	}
	const most = 200
	if runes := []rune(text); len(runes) > most {
		text = string(runes[:most]) + "…"
	}
	return text
}

// pause waits, unless ctx ends first.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
