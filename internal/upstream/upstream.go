// Package upstream has what all pools of nodes share: it reads the nodes' URLs, tracks their
// health, and asks one node after another, in the order of their health, until one answers.
//
//	URLs ─Parse─▶ Endpoints              try ─▶ Health: failures in a row, the pause that follows them
//	question ─▶ Pool.Ask ─▶ Rank: ▸ not held back ▸ not paused ▸ in turn ─▶ try ─▶ answered, or the next node
//
// Two pools do not use Ask: internal/exec/node has a queue before its nodes and uses Health, and
// relay/beacon sends a block to all nodes at once and uses Try.
package upstream

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// Endpoint is the address of a node.
type Endpoint struct {
	// Name is host and port. Logs show it instead of the URL, the rest of which may hold secrets.
	Name string
	URL  string
	// Scheme is http, https, ws or wss.
	Scheme string
}

// Parse reads the URLs of nodes. kind is used in errors, such as "validation node". An error quotes
// no URL, because a URL may hold a password.
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

// ByName says of each endpoint's name whether something holds, which is asked by the endpoint's
// index. Of several endpoints with the same name it must hold for all.
func ByName(endpoints []Endpoint, holds func(node int) bool) map[string]bool {
	all := make(map[string]bool, len(endpoints))
	for i, endpoint := range endpoints {
		others, known := all[endpoint.Name]
		all[endpoint.Name] = holds(i) && (others || !known)
	}
	return all
}

// WithoutURL is an error of an HTTP client without the URL, whose path and query may hold secrets.
func WithoutURL(err error) error {
	if wrapped := (*url.Error)(nil); errors.As(err, &wrapped) {
		return wrapped.Err
	}
	return err
}
