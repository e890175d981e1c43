package mutant

import (
	"bufio"
	"io"
	"net/http"
	"strings"
)

// pass passes a stream on, line by line.
func pass(w http.ResponseWriter, r *http.Request, base string, line func(string) (string, bool)) {
	request, err := http.NewRequestWithContext(r.Context(), http.MethodGet, strings.TrimRight(base, "/")+r.URL.RequestURI(), http.NoBody)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	request.Header = r.Header.Clone()
	endless := *client
	endless.Timeout = 0
	response, err := endless.Do(request)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer response.Body.Close()
	for name, values := range response.Header {
		w.Header()[name] = values
	}
	w.WriteHeader(response.StatusCode)
	flusher, _ := w.(http.Flusher)
	flusher.Flush()
	for lines := bufio.NewReaderSize(response.Body, 1<<20); ; {
		text, err := lines.ReadString('\n')
		if err != nil {
			return
		}
		if changed, keep := line(strings.TrimSuffix(text, "\n")); keep {
			if _, err := io.WriteString(w, changed+"\n"); err != nil {
				return
			}
			flusher.Flush()
		}
	}
}

// streamMutants are put before the event stream.
func streamMutants() []Mutant { return nil }
