package serve

import (
	"net/http"
	"slices"
	"strings"
)

// Mux is a http.ServeMux whose own answers are JSON too: NotFound for a path that nobody knows, and for a known path with another method
// what NotAllowed says, with an Allow header.
type Mux struct {
	NotFound, NotAllowed Statuser

	mux     http.ServeMux
	methods map[string][]string // by path pattern
}

// Handle adds an operation. The path may hold wildcards as in http.ServeMux.
func (m *Mux) Handle(method, path string, operation http.HandlerFunc) {
	if m.methods == nil {
		m.methods = map[string][]string{}
	}
	m.mux.HandleFunc(method+" "+path, operation)
	if len(m.methods[path]) == 0 {
		m.mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
			allowed := slices.Sorted(slices.Values(m.methods[path]))
			w.Header().Set("Allow", strings.Join(allowed, ", "))
			Refuse(w, r, m.NotAllowed)
		})
	}
	m.methods[path] = append(m.methods[path], method)
}

// ServeHTTP implements http.Handler.
func (m *Mux) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if _, pattern := m.mux.Handler(r); pattern == "" {
		Refuse(w, r, m.NotFound)
		return
	}
	m.mux.ServeHTTP(w, r)
}
