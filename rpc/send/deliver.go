package send

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/gavel-relay/gavel/rpc"
)

// deliver makes a request, again if nobody answers, and tells how it ended.
func (s *Sender) deliver(ctx context.Context, l *lane, r request) {
	began := time.Now()
	err := s.call(ctx, l, r)
	if r.told != nil {
		delivery := rpc.Delivery{Builder: l.Name, Block: r.block, TookMs: time.Since(began).Milliseconds()}
		if err != nil {
			delivery.Error = err.Error()
		}
		r.told(delivery)
		return
	}
	if err != nil && ctx.Err() == nil {
		s.Log.Warn("a builder did not take a cancel", "builder", l.Name, "error", err)
	}
}

func (s *Sender) call(ctx context.Context, l *lane, r request) error {
	body, err := json.Marshal(struct {
		Version string            `json:"jsonrpc"`
		ID      int               `json:"id"`
		Method  string            `json:"method"`
		Params  []json.RawMessage `json:"params"`
	}{"2.0", 1, r.method, []json.RawMessage{r.params}})
	if err != nil {
		return fmt.Errorf("encode request: %w", err)
	}
	signature := s.Sign(body)
	wait := s.Backoff
	for attempt := 0; ; attempt++ {
		err = s.attempt(ctx, l.URL, body, signature)
		if again := (*unanswered)(nil); err == nil || !errors.As(err, &again) || attempt == s.Retries {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(wait):
		}
		wait *= 2
	}
}

// unanswered says that a request may be made again.
type unanswered struct{ error }

// Unwrap is the cause.
func (u *unanswered) Unwrap() error { return u.error }

// maxAnswer bounds what is read of an answer.
const maxAnswer = 64 << 10

// attempt makes a request once. A JSON-RPC error is the builder's word, and final.
func (s *Sender) attempt(ctx context.Context, url string, body []byte, signature string) error {
	ctx, cancel := context.WithTimeout(ctx, s.Timeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("make request: %w", err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set(s.Header, signature)
	response, err := s.Client.RoundTrip(r)
	if err != nil {
		return &unanswered{fmt.Errorf("no answer: %w", err)}
	}
	defer response.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil {
		return &unanswered{fmt.Errorf("read answer: %w", err)}
	}
	return judge(response.StatusCode, raw)
}

// judge reads an answer: what is no refusal is taken for a yes, since builders answer yes in many ways.
func judge(status int, raw []byte) error {
	var answer struct {
		Error json.RawMessage `json:"error"`
	}
	known := json.Unmarshal(raw, &answer) == nil
	if known && len(answer.Error) > 0 && string(answer.Error) != "null" {
		return fmt.Errorf("refused: %s", message(answer.Error))
	}
	switch {
	case status >= http.StatusInternalServerError:
		return &unanswered{fmt.Errorf("answer %d", status)}
	case status >= http.StatusMultipleChoices:
		return fmt.Errorf("refused: answer %d", status)
	}
	return nil
}

// message is the text of an error, which is an object with a message, or the text itself.
func message(raw json.RawMessage) string {
	var object struct {
		Message string `json:"message"`
	}
	var text string
	switch {
	case json.Unmarshal(raw, &object) == nil && object.Message != "":
		text = object.Message
	case json.Unmarshal(raw, &text) == nil:
	default:
		text = string(raw)
	}
	const longest = 200
	return text[:min(len(text), longest)]
}
