package serve

import (
	"net/http"
	"path"
	"slices"
	"strings"
)

// Mux is a http.ServeMux whose own answers are JSON too: NotFound for a path that nobody knows, and for a known path with another method
// what NotAllowed says, with an Allow header.
type Mux struct {
	NotFound, NotAllowed Refusal
	// Answer writes them; nil for Refuse.
	Answer func(w http.ResponseWriter, r *http.Request, err error)

	mux     http.ServeMux
	methods map[string][]string // by path pattern
}

// Handle adds an operation. The pattern is a whole path, which may hold wildcards as in http.ServeMux.
func (m *Mux) Handle(method, pattern string, operation http.HandlerFunc) {
	if m.methods == nil {
		m.methods = map[string][]string{}
		m.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { m.refuse(w, r, m.NotFound) })
	}
	m.mux.HandleFunc(method+" "+pattern, func(w http.ResponseWriter, r *http.Request) {
		tellPattern(w, pattern)
		operation(w, r)
	})
	if len(m.methods[pattern]) == 0 {
		m.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			tellPattern(w, pattern)
			w.Header().Set("Allow", strings.Join(allowed(m.methods[pattern]), ", "))
			m.refuse(w, r, m.NotAllowed)
		})
	}
	m.methods[pattern] = append(m.methods[pattern], method)
}

func (m *Mux) refuse(w http.ResponseWriter, r *http.Request, refusal Refusal) {
	if m.Answer != nil {
		m.Answer(w, r, refusal)
		return
	}
	Refuse(w, r, refusal)
}

// allowed are methods in order; who answers GET also answers HEAD.
func allowed(methods []string) []string {
	all := slices.Clone(methods)
	if slices.Contains(all, http.MethodGet) {
		all = append(all, http.MethodHead)
	}
	slices.Sort(all)
	return all
}

// ServeHTTP implements http.Handler.
func (m *Mux) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	// An unclean path is nobody's: http.ServeMux would answer with a redirect, which is no JSON and loses bodies.
	if m.methods == nil || path.Clean(r.URL.Path) != r.URL.Path || !strings.HasPrefix(r.URL.Path, "/") {
		m.refuse(w, r, m.NotFound)
		return
	}
	m.mux.ServeHTTP(w, r)
}
