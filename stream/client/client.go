// Package client listens to an order-flow event stream and reads its history, as searchers do. It
// shares no code with the service, so that a mistake of ours on one side is not made good by the
// same one on the other; what it takes for granted is the interface alone.
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

// Options change how a client talks. Zero values take the defaults that are named.
type Options struct {
	// HTTP is the client to use; it must not bound how long an answer takes. By default one with a
	// connection pool of its own.
	HTTP *http.Client
	// MinWait and MaxWait bound the wait before Events connects again: 100 ms, which doubles with each
	// failure up to 10 s. A stream that brought an event begins anew. Where the service says how long
	// to wait (Retry-After) it waits that, up to MaxWait.
	MinWait, MaxWait time.Duration
	// Silence is how long nothing may come, not even a ping, before a connection counts as broken: 40
	// s.
	Silence time.Duration
	// MaxLineBytes bounds a line of the stream: 8 MiB. A longer one breaks the connection.
	MaxLineBytes int
	// MaxPageBytes bounds an answer of the history: 64 MiB.
	MaxPageBytes int64
	// Broken is told why a connection ended, before the wait; nil for nobody.
	Broken func(err error, wait time.Duration)
}

// ErrLineTooLong is why a connection ends that sends a longer line, or a longer event in several
// lines, than Options.MaxLineBytes.
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
	// Message is what the service said.
	Message string
	// RetryAfter is how long it asks to wait; 0 if it does not.
	RetryAfter time.Duration
}

// Error implements error.
func (e *StatusError) Error() string { return fmt.Sprintf("status %d: %s", e.Status, e.Message) }

// permanent says whether the same request can only fail again: it was wrong. What is only too much,
// or too early, passes.
func permanent(err error) bool {
	var status *StatusError
	return errors.As(err, &status) && status.Status >= 400 && status.Status < 500 &&
		status.Status != http.StatusTooManyRequests &&
		status.Status != http.StatusRequestTimeout
}

// get asks for a path and takes only 200. The caller closes the body.
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

// statusOf reads what a service says that refuses: JSON with a message or an error, or any text.
func statusOf(response *http.Response) error {
	text, err := io.ReadAll(io.LimitReader(response.Body, 4<<10))
	if err != nil {
		return errors.Join(&StatusError{Status: response.StatusCode, Message: response.Status}, err)
	}
	var said struct{ Message, Error string }
	_ = json.Unmarshal(text, &said) // else the text is the message
	wait, err := time.ParseDuration(cmp.Or(response.Header.Get("Retry-After"), "0") + "s")
	if err != nil || wait < 0 { // a date, which nobody sends here
		wait = 0
	}
	message := cmp.Or(said.Message, said.Error, strings.TrimSpace(string(text)), response.Status)
	return &StatusError{Status: response.StatusCode, Message: message, RetryAfter: wait}
}
