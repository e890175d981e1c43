package api_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/gavel-relay/gavel/internal/golden"
)

// What clients parse, to the letter: the three operations in the three formats, and an empty list
// in each.
func TestFormats(t *testing.T) {
	handler := serving(t, story()...)
	for name, path := range map[string]string{
		"delivered":    delivered + "?slot=7",
		"received":     received + "?slot=7",
		"registration": registration + "?pubkey=" + proposerA.String(),
		"empty":        delivered + "?slot=0",
	} {
		t.Run(name, func(t *testing.T) {
			var transcript strings.Builder
			for _, accept := range []string{"application/json", "application/x-ndjson", "text/csv"} {
				answer := ask(t, handler, path, accept)
				fmt.Fprintf(&transcript, "> GET %s\n> Accept: %s\n< %d\n< Content-Type: %s\n< Vary: %s\n%s\n", path,
					accept, answer.Code,
					answer.Header().Get("Content-Type"), answer.Header().Get("Vary"), withLineEnd(answer.Body.String()))
			}
			golden.File(t, "testdata/"+name+".txt", transcript.String())
		})
	}
}

func withLineEnd(body string) string {
	if body == "" || strings.HasSuffix(body, "\n") {
		return body
	}
	return body + "\n"
}

func ask(t *testing.T, handler http.Handler, path, accept string) *httptest.ResponseRecorder {
	t.Helper()
	request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
	request.Header.Set("Accept", accept)
	answer := httptest.NewRecorder()
	handler.ServeHTTP(answer, request)
	return answer
}

// REL-HDR-10 for the Data API: what Accept asks for and what comes. Refusals are JSON whatever was
// asked for, and 406 comes before the query is read.
func TestAccept(t *testing.T) {
	handler := serving(t, story()...)
	const textJSON, csv, ndjson = "application/json", "text/csv", "application/x-ndjson"
	for _, test := range []struct {
		accept, query string
		status        int
		media         string
	}{
		{"", "slot=7", 200, textJSON},
		{"*/*", "slot=7", 200, textJSON},
		{"application/*", "slot=7", 200, textJSON},
		{"text/*", "slot=7", 200, csv},
		{"text/csv, application/json", "slot=7", 200, csv},
		{"text/csv;q=0.5, application/json;q=0.4", "slot=7", 200, csv},
		{"text/csv;q=0.5, application/json", "slot=7", 200, textJSON},
		{"text/html, application/xhtml+xml, */*;q=0.8", "slot=7", 200, textJSON}, // a browser
		{"application/x-ndjson;q=0.9, text/csv;q=0.8", "slot=7", 200, ndjson},
		{"application/json;q=0, */*", "slot=7", 200, csv},
		{"text/html", "slot=7", 406, textJSON},
		{"application/json;q=0", "slot=7", 406, textJSON},
		{"text/html", "slot=x", 406, textJSON},
		{"text/csv", "slot=x", 400, textJSON},
	} {
		for _, path := range []string{delivered, received, registration} {
			query := test.query
			if path == registration {
				query = strings.Replace(query, "slot=7", "pubkey="+proposerA.String(), 1)
			}
			answer := ask(t, handler, path+"?"+query, test.accept)
			if media := answer.Header().Get("Content-Type"); answer.Code != test.status || media != test.media {
				t.Errorf("%s?%s, Accept %q: %d %s, want %d %s", path, query, test.accept, answer.Code, media,
					test.status, test.media)
			}
		}
	}
}
