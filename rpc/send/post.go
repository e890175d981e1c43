package send

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"

	"github.com/gavel-relay/gavel/internal/run"
)

// maxAnswer is how much of an answer is read, in bytes. A builder's usual answer is a hash.
const maxAnswer = 64 << 10

// retryable is an error after which the same request may succeed: the builder has not refused it.
type retryable struct{ error }

func (r retryable) Unwrap() error { return r.error }

// refusal is a builder's refusal, in its own words.
type refusal struct {
	code    int64
	message string
}

// Error returns the code and the message, which is cut if it is long.
func (r *refusal) Error() string { return fmt.Sprintf("refused: %d %.300q", r.code, r.message) }

// deliver posts a message until the builder answers, all attempts are used, or the context ends.
// Each wait between attempts is twice as long as the one before.
func (s *Sender) deliver(ctx context.Context, to string, m message) error {
	var again retryable
	pauses := run.Backoff{First: s.cfg.Backoff, Longest: s.cfg.Backoff << s.cfg.Retries}
	for failures := 1; ; failures++ {
		err := s.post(ctx, to, m)
		if err == nil || !errors.As(err, &again) || failures > s.cfg.Retries ||
			run.Pause(ctx, pauses.After(failures)) != nil {
			return err
		}
	}
}

// post makes one attempt.
func (s *Sender) post(ctx context.Context, to string, m message) error {
	ctx, cancel := context.WithTimeoutCause(ctx, s.cfg.Timeout, fmt.Errorf("no answer in %s", s.cfg.Timeout))
	defer cancel()
	if s.cfg.Owns != nil {
		defer context.AfterFunc(s.cfg.Lost, cancel)()
		if !s.cfg.Owns() {
			return ErrStopped
		}
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, to, bytes.NewReader(m.body))
	if err != nil {
		return fmt.Errorf("make request: %w", causeOf(ctx, err))
	}
	request.Header.Set("Content-Type", "application/json")
	if m.signature != "" {
		request.Header.Set(s.cfg.Header, m.signature)
	}
	response, err := s.client.Do(request)
	if err != nil {
		return retryable{fmt.Errorf("post: %w", causeOf(ctx, err))}
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	if err != nil {
		return retryable{fmt.Errorf("read answer: %w", causeOf(ctx, err))}
	}
	return judge(response.StatusCode, answer)
}

// causeOf says what went wrong in plain words and without the builder's address, because signers
// read it. If a timeout or the context ended the request, it returns that cause instead of the
// transport's error. Errors that name addresses are replaced by the error inside them.
func causeOf(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	var (
		at   *url.Error
		name *net.DNSError
		op   *net.OpError
	)
	switch {
	case errors.As(err, &name):
		return errors.New("the builder's host name is not known")
	case errors.As(err, &op):
		return fmt.Errorf("%s: %w", op.Op, op.Err)
	case errors.As(err, &at):
		return at.Err
	}
	return err
}

// judge says what an answer means: nil if the builder accepted the message. A JSON-RPC error is the
// builder's decision, whatever the status. A 5xx without one means that the builder could not
// decide.
func judge(status int, answer []byte) error {
	var reply struct {
		Result json.RawMessage `json:"result"`
		Error  *struct {
			Code    int64  `json:"code"`
			Message string `json:"message"`
		} `json:"error"`
	}
	err := json.Unmarshal(answer, &reply)
	switch {
	case len(answer) > maxAnswer:
		return fmt.Errorf("the answer is longer than %d bytes", maxAnswer)
	case err == nil && reply.Error != nil:
		return &refusal{code: reply.Error.Code, message: reply.Error.Message}
	case status >= 500:
		return retryable{fmt.Errorf("status %d", status)}
	case status != http.StatusOK:
		return fmt.Errorf("status %d", status)
	case err != nil:
		return fmt.Errorf("read answer: %w", err)
	case reply.Result == nil:
		return errors.New("the answer has neither result nor error")
	}
	return nil
}
