// Package upstream has what all pools of nodes share: reading their URLs, remembering how tries
// went, and asking one after another, in the order of their health, until one answers.
//
//	URLs ─Parse─▶ Endpoints              try ─▶ Health: failures in a row, the pause that follows them
//	question ─▶ Pool.Ask ─▶ Rank: ▸ not held back ▸ not paused ▸ in turn ─▶ try ─▶ answered, or the next node
//
// Two kinds of pools do without Ask: one that has a queue before its nodes (exec/node) uses Health,
// and one that sends a block to all nodes at once (relay/beacon) uses Try.
package upstream

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// Endpoint is where a node is.
type Endpoint struct {
	// Name is the host and port, which logs may show: the rest of a URL may hold secrets.
	Name string
	URL  string
	// Scheme is http, https, ws or wss.
	Scheme string
}

// Parse reads URLs of nodes of a kind, such as "validation node". Its error quotes no URL, which
// may hold a password.
func Parse(kind string, urls []string, schemes ...string) ([]Endpoint, error) {
	if len(urls) == 0 {
		return nil, fmt.Errorf("no %s is configured: give the URL of at least one", kind)
	}
	endpoints := make([]Endpoint, len(urls))
	for i, text := range urls {
		parsed, err := url.Parse(text)
		if err != nil || parsed.Host == "" || !slices.Contains(schemes, parsed.Scheme) {
			last := len(schemes) - 1
			return nil, fmt.Errorf("%s %d: want a URL with %s or %s", kind, i+1, strings.Join(schemes[:last], ", "),
				schemes[last])
		}
		endpoints[i] = Endpoint{Name: parsed.Host, URL: text, Scheme: parsed.Scheme}
	}
	return endpoints, nil
}

// WithoutURL is an error of an HTTP client without the URL, whose path and query may hold secrets.
func WithoutURL(err error) error {
	if wrapped := (*url.Error)(nil); errors.As(err, &wrapped) {
		return wrapped.Err
	}
	return err
}
