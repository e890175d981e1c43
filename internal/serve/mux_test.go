package serve

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"path"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// A path is clean when path.Clean leaves it as it is.
func TestIsClean(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOf(rapid.SampledFrom([]rune("//..ab%"))).Draw(t, "path")
		if want := strings.HasPrefix(text, "/") && path.Clean(text) == text; isClean(text) != want {
			t.Fatalf("%q: %t, want %t", text, !want, want)
		}
	})
}

// Whatever paths there are, and whatever is asked for, the operation is the one that http.ServeMux
// would choose, with the same values of wildcards. What that redirects, and an unclean path in any
// writing, is nobody's.
func TestMuxFindsWhatServeMuxFinds(t *testing.T) {
	element := rapid.SampledFrom([]string{"a", "b", "{x}", "a%", "c d"})
	rapid.Check(t, func(t *rapid.T) {
		ours, theirs := &Mux{NotFound: no(404), NotAllowed: no(405)}, http.NewServeMux()
		known, withValues := map[string]bool{}, rapid.Bool().Draw(t, "with values")
		for _, elements := range rapid.SliceOfN(rapid.SliceOfN(element, 0, 3), 1, 6).Draw(t, "patterns") {
			for i := range elements {
				if elements[i] == "{x}" {
					elements[i] = "{x" + strings.Repeat("x", i) + "}"
				}
			}
			pattern := "/" + strings.Join(elements, "/")
			if known[pattern] || strings.ContainsAny(pattern, "%") {
				continue
			}
			known[pattern] = true
			answer := func(w http.ResponseWriter, r *http.Request) {
				_, _ = w.Write([]byte(pattern + " " + r.PathValue("x") + " " + r.PathValue("xx") + " " + r.PathValue("xxx")))
			}
			if pattern == "/" {
				pattern = "/{$}"
			}
			if !handles(theirs, pattern, answer) { // matches some paths as well as another pattern does
				continue
			}
			if !withValues {
				ours.Handle("GET", pattern, answer)
				continue
			}
			ours.HandleWith("GET", pattern, func(w http.ResponseWriter, r *http.Request, values Values) {
				number := 0
				for i, element := range elements {
					if strings.HasPrefix(element, "{") {
						r.SetPathValue("x"+strings.Repeat("x", i), values[number])
						number++
					}
				}
				answer(w, r)
			})
		}
		asked := "/" +
			strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c d", "a%2Fb", "%2e", "a%25", "%61", "x", ""}), 0,
				4).Draw(t, "path"), "/")
		parsed, err := url.ParseRequestURI(strings.ReplaceAll(asked, " ", "%20"))
		if err != nil {
			t.Skip("no path")
		}
		want, got := httptest.NewRecorder(), httptest.NewRecorder()
		theirs.ServeHTTP(want, &http.Request{Method: "GET", URL: parsed, Header: http.Header{}})
		ours.ServeHTTP(got, &http.Request{Method: "GET", URL: parsed, Header: http.Header{}})
		if want.Code != 200 || path.Clean(parsed.Path) != parsed.Path {
			if got.Code != 404 {
				t.Fatalf("%s: %d %s, http.ServeMux %d", asked, got.Code, got.Body, want.Code)
			}
			return
		}
		if got.Code != 200 || got.Body.String() != want.Body.String() {
			t.Fatalf("%s: %d %s, want %s", asked, got.Code, got.Body, want.Body)
		}
	})
}

// A pattern has at most as many wildcards as there are values.
func TestMuxBoundsWildcards(t *testing.T) {
	mux := &Mux{NotFound: no(404), NotAllowed: no(405)}
	mux.HandleWith("GET", "/{a}/{b}/{c}/{d}", func(w http.ResponseWriter, _ *http.Request, values Values) {
		_, _ = w.Write([]byte(strings.Join(values[:], " ")))
	})
	answer := httptest.NewRecorder()
	mux.ServeHTTP(answer, httptest.NewRequest("GET", "/1/2/3/4", nil))
	if answer.Body.String() != "1 2 3 4" {
		t.Errorf("%d %s", answer.Code, answer.Body)
	}
	defer func() {
		if recover() == nil {
			t.Error("five wildcards are taken")
		}
	}()
	mux.Handle("GET", "/{a}/{b}/{c}/{d}/{e}", func(http.ResponseWriter, *http.Request) {})
}

// handles says whether a mux takes a pattern: http.ServeMux panics at what it could not tell apart.
func handles(mux *http.ServeMux, pattern string, operation http.HandlerFunc) (taken bool) {
	defer func() { taken = recover() == nil }()
	mux.HandleFunc("GET "+pattern, operation)
	return true
}
