package load

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/gavel-relay/gavel/conformance/probe"
)

// timeout bounds a request. What takes longer counts as no answer.
const timeout = 10 * time.Second

// mostAnswer is the most that is read of an answer. A payload with all of its blobs is smaller.
const mostAnswer = 32 << 20

// client sends requests to a service over connections that it keeps.
type client struct{ http *http.Client }

func newClient(connections int) *client {
	return &client{&http.Client{
		Timeout: timeout,
		Transport: &http.Transport{
			DialContext: (&net.Dialer{Timeout: timeout}).DialContext, DisableCompression: true,
			MaxIdleConnsPerHost: connections, MaxIdleConns: 0, IdleConnTimeout: time.Minute, WriteBufferSize: 64 << 10,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

func (c *client) close() { c.http.CloseIdleConnections() }

// request is what to send. Media is the type of the body, if it has one; Accept that of the answer.
type request struct {
	method, url     string
	media, encoding string
	accept, version string
	signature       string
	body            []byte
}

// reply is an answer. Its status is 0 if none came.
type reply struct {
	sent, done time.Time
	status     int
	body       []byte
	err        error
}

// String describes an answer in the words of a fault.
func (r reply) String() string {
	if r.err != nil {
		return r.err.Error()
	}
	return strings.TrimSpace(fmt.Sprintf("status %d %.200s", r.status, r.body))
}

// do sends a request and reads the whole answer.
func (c *client) do(ctx context.Context, q request) (r reply) {
	var body io.Reader
	if q.body != nil {
		body = bytes.NewReader(q.body)
	}
	r.sent = time.Now()
	defer func() { r.done = time.Now() }()
	asked, err := http.NewRequestWithContext(ctx, q.method, q.url, body)
	if err != nil {
		r.err = fmt.Errorf("make a request: %w", err)
		return r
	}
	asked.Header.Set("User-Agent", probe.UserAgent)
	for name, value := range map[string]string{"Content-Type": q.media, "Content-Encoding": q.encoding, "Accept": q.accept,
		"Eth-Consensus-Version": q.version, probe.SignatureHeader: q.signature} {
		if value != "" {
			asked.Header.Set(name, value)
		}
	}
	answer, err := c.http.Do(asked)
	if err != nil {
		r.err = fmt.Errorf("no answer: %w", err)
		return r
	}
	defer answer.Body.Close()
	if r.body, err = io.ReadAll(io.LimitReader(answer.Body, mostAnswer)); err != nil {
		r.err = fmt.Errorf("the answer ended early: %w", err)
		return r
	}
	r.status = answer.StatusCode
	return r
}
