// Package client listens to an order-flow event stream and reads its history, as searchers do.
// Apart from internal/sse it shares no code with the service, so that a mistake on one side is not
// hidden by the same mistake on the other. It relies on the interface description only.
//
//	Events: GET /?ids=1 ─▶ lines ─▶ events ─▶ caller
//	          ▲   broken ─▶ wait, twice as long each time ─▶ GET with Last-Event-ID: nothing is lost
package client

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/gavel-relay/gavel/internal/sse"
)

// Options configure a client. Zero values stand for the defaults named here.
type Options struct {
	// HTTP is the client to use. It must not bound how long an answer takes. The default has its
	// own connection pool.
	HTTP *http.Client
	// MinWait and MaxWait bound the wait before Events connects again; 0 is 100 ms and 10 s. The
	// wait begins with MinWait, doubles with each failure, and is MinWait again after an event. If
	// the service asks for a longer wait (Retry-After), Events waits that long, up to MaxWait.
	MinWait, MaxWait time.Duration
	// Silence is how long nothing may come, not even a ping, before a connection counts as broken;
	// 0 is 40 s.
	Silence time.Duration
	// MaxLineBytes bounds a line of the stream; 0 is 8 MiB. A longer line ends the connection.
	MaxLineBytes int
	// MaxPageBytes bounds an answer of the history; 0 is 64 MiB.
	MaxPageBytes int64
	// Broken, if set, is called with the reason why a connection ended, before the wait.
	Broken func(err error, wait time.Duration)
}

// ErrLineTooLong says that a line, or an event in several lines, was longer than
// Options.MaxLineBytes.
var ErrLineTooLong = sse.ErrTooLong

// Client talks to one stream. It is safe for concurrent use.
type Client struct {
	base    string
	options Options
}

// New makes a client for a stream's base URL.
func New(base string, options Options) (*Client, error) {
	parsed, err := url.Parse(base)
	if err != nil {
		return nil, fmt.Errorf("stream URL: %w", err)
	}
	if (parsed.Scheme != "http" && parsed.Scheme != "https") || parsed.Host == "" || parsed.RawQuery != "" {
		return nil, fmt.Errorf("stream URL %q: want http://host or https://host", base)
	}
	if options.HTTP == nil {
		transport := http.DefaultTransport.(*http.Transport).Clone()
		transport.ResponseHeaderTimeout = 10 * time.Second
		options.HTTP = &http.Client{Transport: transport}
	}
	options.MinWait = cmp.Or(options.MinWait, 100*time.Millisecond)
	options.MaxWait = max(cmp.Or(options.MaxWait, 10*time.Second), options.MinWait)
	options.Silence = cmp.Or(options.Silence, 40*time.Second)
	options.MaxLineBytes = cmp.Or(options.MaxLineBytes, 8<<20)
	options.MaxPageBytes = cmp.Or(options.MaxPageBytes, 64<<20)
	return &Client{base: strings.TrimRight(parsed.String(), "/"), options: options}, nil
}

// StatusError is an answer with another status than 200.
type StatusError struct {
	Status int
	// Message is the message of the answer.
	Message string
	// RetryAfter is how long the service asks to wait; 0 if it does not.
	RetryAfter time.Duration
}

// Error implements error.
func (e *StatusError) Error() string { return fmt.Sprintf("status %d: %s", e.Status, e.Message) }

// permanent says whether the request was wrong, so that it would fail again. Too many requests and
// time-outs are not permanent.
func permanent(err error) bool {
	var status *StatusError
	return errors.As(err, &status) && status.Status >= 400 && status.Status < 500 &&
		status.Status != http.StatusTooManyRequests &&
		status.Status != http.StatusRequestTimeout
}

// get requests a path. An answer with another status than 200 is a StatusError. The caller must
// close the body.
func (c *Client) get(ctx context.Context, pathAndQuery string, header http.Header) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.base+pathAndQuery, http.NoBody)
	if err != nil {
		return nil, fmt.Errorf("make request: %w", err)
	}
	request.Header = header
	response, err := c.options.HTTP.Do(request)
	if err != nil {
		return nil, fmt.Errorf("ask the stream: %w", err)
	}
	if response.StatusCode != http.StatusOK {
		defer response.Body.Close()
		return nil, statusOf(response)
	}
	return response, nil
}

// statusOf reads a refusal: JSON with a message or an error, or any text.
func statusOf(response *http.Response) error {
	text, err := io.ReadAll(io.LimitReader(response.Body, 4<<10))
	if err != nil {
		return errors.Join(&StatusError{Status: response.StatusCode, Message: response.Status}, err)
	}
	var said struct{ Message, Error string }
	_ = json.Unmarshal(text, &said) // if it fails, the text is the message
	wait, err := time.ParseDuration(cmp.Or(response.Header.Get("Retry-After"), "0") + "s")
	if err != nil || wait < 0 { // a date, which streams do not send
		wait = 0
	}
	message := cmp.Or(said.Message, said.Error, strings.TrimSpace(string(text)), response.Status)
	return &StatusError{Status: response.StatusCode, Message: message, RetryAfter: wait}
}
