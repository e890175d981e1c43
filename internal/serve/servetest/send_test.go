package servetest

import (
	"bufio"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
)

// Every request arrives once, whichever client sends it.
func TestSend(t *testing.T) {
	var (
		mu    sync.Mutex // guards paths
		paths []string
	)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		paths = append(paths, r.URL.Path)
		mu.Unlock()
		_, _ = io.WriteString(w, "all is well")
	}))
	defer server.Close()
	of := func(path string) []byte { return []byte("GET " + path + " HTTP/1.1\r\nHost: x\r\n\r\n") }
	address := strings.TrimPrefix(server.URL, "http://")
	if took := Send(t, address, 2, "is well", Each([][]byte{of("/a"), of("/b"), of("/c")})); took <= 0 {
		t.Errorf("took %s", took)
	}
	clients := Dial(t, address, 3)
	defer clients.Close()
	for range 2 {
		clients.Send(t, "", Times(2, of("/d")))
	}
	slices.Sort(paths)
	if want := []string{"/a", "/b", "/c", "/d", "/d", "/d", "/d"}; !slices.Equal(paths, want) {
		t.Errorf("%q, want %q", paths, want)
	}
}

func TestSkip(t *testing.T) {
	for _, c := range []struct{ answer, want, err string }{
		{"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab", "", ""},
		{"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab", "ab", ""},
		{"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab", "x", ": ab"},
		{"HTTP/1.1 429 Too Many Requests\r\nContent-Length: 4\r\n\r\nslow", "", "HTTP/1.1 429 Too Many Requests: slow"},
		{"HTTP/1.1 200 OK\r\n\r\nab", "", "an answer without Content-Length"},
		{"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\na", "", "EOF"},
		{"HTTP/1.1 200 OK\r\nContent-Length: two\r\n\r\nab", "", `strconv.Atoi: parsing "two": invalid syntax`},
	} {
		got := ""
		if err := skip(bufio.NewReader(strings.NewReader(c.answer)), []byte(c.want)); err != nil {
			got = err.Error()
		}
		if got != c.err {
			t.Errorf("%q: %q, want %q", c.answer, got, c.err)
		}
	}
}
