package serve

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// Mux finds the operation of a request. All its own answers are JSON: NotFound for an unknown path,
// and NotAllowed with an Allow header for a known path with another method. It does not use
// http.ServeMux, which answers with redirects and takes a tenth of the time of a short answer.
type Mux struct {
	NotFound, NotAllowed Refusal
	// Answer writes these answers; nil stands for Refuse.
	Answer func(w http.ResponseWriter, r *http.Request, err error)

	root place
	all  []*place // the places that have operations
}

// place is a position in paths, with the elements that may follow.
type place struct {
	literal  map[string]*place
	wildcard *place // the place after any element; name is there the wildcard's
	name     string
	// What follows belongs to the path that ends here.
	pattern    string
	names      []string             // of the wildcards in the pattern
	operations map[string]operation // by method; nil if no path ends here
}

// Values are the elements of a path that stand for the wildcards of its pattern, in their order.
type Values [4]string

// operation is one of two forms of a handler.
type operation struct {
	plain http.HandlerFunc
	with  func(w http.ResponseWriter, r *http.Request, values Values)
}

// Handle adds an operation. The pattern is a whole path. Its elements are literal, or {name} for
// any element that is not empty, which r.PathValue returns. A literal element wins over a wildcard.
// "/{$}" means "/".
func (m *Mux) Handle(method, pattern string, handler http.HandlerFunc) {
	m.handle(method, pattern, operation{plain: handler})
}

// HandleWith is Handle for an operation that gets the wildcards' elements as an argument. They are
// not in the request then, which would allocate a map for them.
func (m *Mux) HandleWith(method, pattern string,
	handler func(w http.ResponseWriter, r *http.Request, values Values)) {
	m.handle(method, pattern, operation{with: handler})
}

func (m *Mux) handle(method, pattern string, handler operation) {
	at := &m.root
	var names []string
	for element := range strings.SplitSeq(strings.TrimPrefix(strings.TrimSuffix(pattern, "/{$}"), "/"), "/") {
		if element != "" {
			at = at.after(element)
		}
		if strings.HasPrefix(element, "{") {
			names = append(names, at.name)
		}
	}
	if len(names) > len(Values{}) {
		panic("too many wildcards in " + pattern)
	}
	if at.operations == nil {
		at.pattern, at.names, at.operations = pattern, names, map[string]operation{}
		m.all = append(m.all, at)
	}
	if _, has := at.operations[method]; has || at.pattern != pattern {
		panic("two operations for " + method + " " + pattern)
	}
	at.operations[method] = handler
}

// after finds or makes the place after an element of a pattern.
func (p *place) after(element string) *place {
	if strings.HasPrefix(element, "{") {
		name := strings.Trim(element, "{}")
		if p.wildcard == nil {
			p.wildcard = &place{name: name}
		}
		if p.wildcard.name != name {
			panic("one wildcard has the names " + p.wildcard.name + " and " + name)
		}
		return p.wildcard
	}
	if p.literal[element] == nil {
		if p.literal == nil {
			p.literal = map[string]*place{}
		}
		p.literal[element] = &place{}
	}
	return p.literal[element]
}

// find returns the place at which a path ends; nil if it is unknown. It sets the values of the
// wildcards from the given number on.
func (p *place) find(path string, decode func(string) string, values *Values, number int) *place {
	if path == "" {
		if p.operations == nil {
			return nil
		}
		return p
	}
	element, rest, _ := strings.Cut(path, "/")
	if decode != nil {
		element = decode(element)
	}
	if next := p.literal[element]; next != nil {
		if end := next.find(rest, decode, values, number); end != nil {
			return end
		}
	}
	if p.wildcard == nil || number == len(values) {
		return nil
	}
	end := p.wildcard.find(rest, decode, values, number+1)
	if end != nil {
		values[number] = element
	}
	return end
}

// find is the place of a request. A slash that is written as %2F does not end an element.
func (m *Mux) find(r *http.Request, values *Values) *place {
	if !isClean(r.URL.Path) { // no operation has such a path
		return nil
	}
	if r.URL.RawPath == "" {
		return m.root.find(r.URL.Path[1:], nil, values, 0)
	}
	raw := r.URL.EscapedPath()
	if !isClean(raw) {
		return nil
	}
	return m.root.find(raw[1:], func(element string) string {
		if plain, err := url.PathUnescape(element); err == nil {
			return plain
		}
		return element
	}, values, 0)
}

// isClean says whether a path begins with a slash, does not end with one unless it is that one, and
// has no empty element, no "." and no "..".
func isClean(path string) bool {
	if path == "/" {
		return true
	}
	rest, rooted := strings.CutPrefix(path, "/")
	for rooted {
		var element string
		element, rest, rooted = strings.Cut(rest, "/")
		if element == "" || element == "." || element == ".." {
			return false
		}
		if !rooted {
			return true
		}
	}
	return false
}

// ServeHTTP implements http.Handler.
func (m *Mux) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var values Values
	at := m.find(r, &values)
	if at == nil {
		m.refuse(w, r, m.NotFound)
		return
	}
	tellPattern(w, at.pattern)
	operation, known := at.operations[r.Method]
	if !known && r.Method == http.MethodHead {
		operation, known = at.operations[http.MethodGet]
	}
	if !known {
		w.Header().Set("Allow", strings.Join(at.allowed(), ", "))
		m.refuse(w, r, m.NotAllowed)
		return
	}
	if operation.with != nil {
		operation.with(w, r, values)
		return
	}
	for i, name := range at.names {
		r.SetPathValue(name, values[i])
	}
	operation.plain(w, r)
}

func (m *Mux) refuse(w http.ResponseWriter, r *http.Request, refusal Refusal) {
	if m.Answer != nil {
		m.Answer(w, r, refusal)
		return
	}
	Refuse(w, r, refusal)
}

// allowed are the methods of the place, sorted. If it answers GET it also answers HEAD.
func (p *place) allowed() (all []string) {
	for method := range p.operations {
		all = append(all, method)
	}
	if slices.Contains(all, http.MethodGet) && !slices.Contains(all, http.MethodHead) {
		all = append(all, http.MethodHead)
	}
	slices.Sort(all)
	return all
}
