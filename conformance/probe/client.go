package probe

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/gavel-relay/gavel/internal/clock"
)

// UserAgent is what the suite calls itself in its requests.
const UserAgent = "gavel-conformance"

// Client sends raw requests to one base address. Specs judge answers as they come, so the client
// never follows redirects and never unpacks bodies. It adds no headers of its own but Host,
// Content-Length and User-Agent.
type Client struct {
	base     string
	http     *http.Client
	recorder *Recorder
	clock    clock.Clock
}

// limitBytes is the most that is read of an answer's body. A longer one counts as no answer, since
// it may have no end. The largest lawful answer of the suite's world is a payload with three blobs
// in JSON, of less than 1 MB.
const limitBytes = 4 << 20

var errEndless = fmt.Errorf("the answer has more than %d bytes", limitBytes)

var transport = &http.Transport{
	DialContext: (&net.Dialer{Timeout: 5 * time.Second}).DialContext, DisableCompression: true, MaxIdleConnsPerHost: 16,
	IdleConnTimeout: 2 * time.Second,
}

// NewClient makes a client that records its exchanges; a nil recorder records none.
func NewClient(base string, recorder *Recorder, timeout time.Duration) *Client {
	return &Client{base: strings.TrimRight(base, "/"), recorder: recorder, clock: clock.Real{}, http: &http.Client{
		Transport: transport, Timeout: timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// By returns the client with a clock by which it measures and waits, but for the timeout of a
// request, which is wall time. It is for targets in this process that run by that clock.
func (c *Client) By(by clock.Clock) *Client {
	c.clock = by
	return c
}

// Request is what to send. Header values that are empty are not sent.
type Request struct {
	Method string
	Path   string
	Header map[string]string
	Body   []byte
}

// Answer is what came back.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
	// Took is the time from the beginning of the request, with the connection if a new one is
	// needed, to the last byte of the answer.
	Took time.Duration
	// SentAt and DoneAt are the beginning and the end of Took.
	SentAt, DoneAt time.Time
}

// String describes the answer in the message of a failed check.
func (a *Answer) String() string {
	return strings.TrimSpace(fmt.Sprintf("status %d %s %.300s", a.Status, a.Header.Get("Content-Type"), shown(a.Body)))
}

// JSON decodes the body, which must be one JSON document.
func (a *Answer) JSON(into any) error {
	if err := json.Unmarshal(a.Body, into); err != nil {
		return fmt.Errorf("the body is not the JSON that it should be (%w): %.200s", err, shown(a.Body))
	}
	return nil
}

// Do sends a request and reads the whole answer. It returns an error if no whole answer came.
func (c *Client) Do(ctx context.Context, r Request) (*Answer, error) {
	request, err := c.request(ctx, r)
	if err != nil {
		return nil, err
	}
	return c.Send(request, r.Body)
}

// Send sends a request that the caller has made. Body is what the report shows as its body.
func (c *Client) Send(request *http.Request, body []byte) (*Answer, error) {
	sent, sentAt := time.Now(), c.clock.Now()
	entry := Exchange{Asked: Message{Method: request.Method, URL: shownURL(request.URL), Header: request.Header,
		Body: shown(body), Bytes: len(body)}}
	if c.recorder != nil {
		entry.AtMs = sent.Sub(c.recorder.began).Milliseconds()
		defer func() {
			entry.TookMs = time.Since(sent).Milliseconds()
			c.recorder.add(entry)
		}()
	}
	response, err := c.http.Do(request)
	if err != nil {
		entry.Failure = err.Error()
		return nil, fmt.Errorf("no answer: %w", err)
	}
	defer response.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(response.Body, limitBytes+1))
	if err == nil && len(raw) > limitBytes {
		err = errEndless
	}
	if err != nil {
		entry.Failure = err.Error()
		return nil, fmt.Errorf("the answer ended early: %w", err)
	}
	entry.Said = &Message{Status: response.StatusCode, Header: response.Header, Body: shown(raw), Bytes: len(raw)}
	doneAt := c.clock.Now()
	answer := &Answer{Status: response.StatusCode, Header: response.Header, Body: raw, Took: doneAt.Sub(sentAt),
		SentAt: sentAt, DoneAt: doneAt}
	if c.recorder != nil && c.recorder.watcher != nil {
		c.recorder.watcher.Answered(c.base, entry, body, answer)
	}
	return answer, nil
}

func (c *Client) request(ctx context.Context, r Request) (*http.Request, error) {
	var body io.Reader
	if r.Body != nil {
		body = bytes.NewReader(r.Body)
	}
	request, err := http.NewRequestWithContext(ctx, r.Method, c.base+r.Path, body)
	if err != nil {
		return nil, fmt.Errorf("make the request: %w", err)
	}
	request.Header.Set("User-Agent", UserAgent)
	for name, value := range r.Header {
		if value != "" {
			request.Header.Add(name, value)
		}
	}
	return request, nil
}
