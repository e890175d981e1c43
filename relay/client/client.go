// Package client is a client of a relay, for builders, proposers and analysts: builder-specs'
// Proposer API, relay-specs' Builder and Data API. It encodes with the public libraries and not
// with the relay's own codecs, so that tests with it find an error that the relay makes in both
// directions. It prefers SSZ if a relay offers it; with Options.JSON it uses only JSON.
package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Client sends requests to one relay. It is safe for concurrent use.
type Client struct {
	base string
	http *http.Client
	json bool
	key  string
}

// Options change how a client sends requests.
type Options struct {
	// HTTP is the client to use; nil means one with a connection pool of its own.
	HTTP *http.Client
	// JSON makes the client send and accept JSON where SSZ is the default.
	JSON bool
	// APIKey is sent as X-Api-Key with all requests, unless it is empty.
	APIKey string
}

// New returns a client of the relay at a URL (http://host:port; a user part, which names the
// relay's key, is ignored).
func New(address string, options Options) (*Client, error) {
	parsed, err := url.Parse(address)
	if err != nil || parsed.Host == "" {
		return nil, fmt.Errorf("relay %q: want http://host:port", address)
	}
	parsed.User = nil
	c := &Client{base: strings.TrimSuffix(parsed.String(), "/"), http: options.HTTP, json: options.JSON,
		key: options.APIKey}
	if c.http == nil {
		c.http = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 16, IdleConnTimeout: time.Minute}}
	}
	return c, nil
}

// URL returns the relay's address.
func (c *Client) URL() string { return c.base }

// Error is a refusal: any answer outside 2xx.
type Error struct {
	// Status is the HTTP status. Code is the code in the body; 0 if the body is not builder-specs'
	// ErrorMessage.
	Status, Code int
	// Message is the body's message, or the beginning of a body in another form.
	Message string
	// Refusal is the refusal's id (header X-Refusal); empty if the relay does not send it.
	Refusal string
	// RetryAfter is how long the relay asks to be left alone; 0 if it does not ask.
	RetryAfter time.Duration
	// Failures are the refused entries of a list, by index.
	Failures map[int]string
}

// Error implements error.
func (e *Error) Error() string { return fmt.Sprintf("relay answers %d: %s", e.Status, e.Message) }

// IsRefused says whether an error is a relay's refusal with a status.
func IsRefused(err error, status int) bool {
	refused := (*Error)(nil)
	return errors.As(err, &refused) && refused.Status == status
}

const (
	mediaJSON     = "application/json"
	mediaSSZ      = "application/octet-stream"
	versionHeader = "Eth-Consensus-Version"
	refusalHeader = "X-Refusal"
	// maxAnswer bounds an answer in bytes.
	maxAnswer = 64 << 20
)

// answer is a 2xx answer.
type answer struct {
	status      int
	contentType string
	version     string
	body        []byte
}

// do sends a request; an answer outside 2xx is an *Error.
func (c *Client) do(ctx context.Context, method, path string, header http.Header, body []byte) (*answer, error) {
	request, err := http.NewRequestWithContext(ctx, method, c.base+path, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("make request: %w", err)
	}
	if header != nil {
		request.Header = header
	}
	if c.key != "" {
		request.Header.Set("X-Api-Key", c.key)
	}
	response, err := c.http.Do(request)
	if err != nil {
		return nil, fmt.Errorf("ask relay: %w", err)
	}
	defer response.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	if err != nil {
		return nil, fmt.Errorf("read answer: %w", err)
	}
	if len(raw) > maxAnswer {
		return nil, fmt.Errorf("read answer: more than %d bytes", maxAnswer)
	}
	if response.StatusCode < 200 || response.StatusCode > 299 {
		return nil, refusal(response, raw)
	}
	return &answer{
		status: response.StatusCode, contentType: response.Header.Get("Content-Type"),
		version: response.Header.Get(versionHeader), body: raw,
	}, nil
}

func refusal(response *http.Response, raw []byte) *Error {
	var document struct {
		Code     int    `json:"code"`
		Message  string `json:"message"`
		Failures []struct {
			Index   int    `json:"index"`
			Message string `json:"message"`
		} `json:"failures"`
	}
	refused := &Error{Status: response.StatusCode, Refusal: response.Header.Get(refusalHeader)}
	if seconds, err := strconv.ParseUint(response.Header.Get("Retry-After"), 10, 31); err == nil {
		refused.RetryAfter = time.Duration(seconds) * time.Second
	}
	if json.Unmarshal(raw, &document) != nil {
		refused.Message = string(raw[:min(len(raw), 200)])
		return refused
	}
	refused.Code, refused.Message = document.Code, document.Message
	for _, failure := range document.Failures {
		if refused.Failures == nil {
			refused.Failures = map[int]string{}
		}
		refused.Failures[failure.Index] = failure.Message
	}
	return refused
}
