package sidecar

import (
	"net/http"
	"slices"
	"strings"

	"github.com/gavel-relay/gavel/conformance/probe"
	"github.com/gavel-relay/gavel/conformance/scripted"
	"github.com/gavel-relay/gavel/conformance/suite"
)

// checkWorld ends as inconclusive if the sidecar has asked none of the suite's relays, although a
// beacon node has asked it for a header: then it was started with others.
func checkWorld(t *suite.T) {
	if t.Relays == nil {
		return
	}
	for range headersAsked {
		s := open(t)
		for i := range t.Relays.All {
			s.offerHonest(i, mid)
		}
		// what is answered, or not answered, is for the specs
		_, _ = client(t).Do(t, probe.Request{Method: http.MethodGet, Path: s.path(),
			Header: map[string]string{"Accept": jsonType}})
		if slices.ContainsFunc(t.Relays.All, (*scripted.Relay).WasAsked) {
			return
		}
	}
	t.Inconclusive("the sidecar asks none of the suite's relays: it must be started with %s",
		strings.Join(t.Relays.URLs(), ", "))
}

// headersAsked is how many headers a sidecar is asked for before it is told to have other relays.
const headersAsked = 3
