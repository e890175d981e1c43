package forward

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
)

// The other process sees what the client sent and where from, and the client gets its answer.
func TestRequestAndAnswerArriveWhole(t *testing.T) {
	owner := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || string(body) != `{"a":1}` || r.RemoteAddr != "[2001:db8::7]:0" || r.URL.Path != "/" ||
			r.Header.Get("X-Flashbots-Signature") != "0x1:0x2" || r.Header.Get("Gavel-Client") != "" ||
			len(r.Header.Values("X-Forwarded-For")) != 0 || r.Header.Get("Content-Encoding") != "" {
			t.Errorf("%s from %s with %v, %v", body, r.RemoteAddr, r.Header, err)
		}
		w.Header().Set("X-Refusal", "not-ready")
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = io.WriteString(w, "sorry")
	})
	r := httptest.NewRequest(http.MethodPost, "/", nil)
	r.Header.Set("X-Flashbots-Signature", "0x1:0x2")
	r.Header.Set("Content-Encoding", "gzip")      // the body is decompressed
	r.Header.Set("Gavel-Client", "192.0.2.1")     // a client cannot be another one
	r.Header.Set("X-Forwarded-For", "192.0.2.99") // the address is known already
	request, err := Request(r, netip.MustParseAddr("2001:db8::7"), []byte(`{"a":1}`))
	if err != nil {
		t.Fatal(err)
	}
	answer, err := Do(t.Context(), owner, request)
	if err != nil {
		t.Fatal(err)
	}
	got := httptest.NewRecorder()
	if err := Answer(got, answer); err != nil || got.Code != http.StatusServiceUnavailable ||
		got.Header().Get("X-Refusal") != "not-ready" || got.Body.String() != "sorry" {
		t.Errorf("%d %v %s, %v", got.Code, got.Header(), got.Body, err)
	}
}

// An answer without a body, and a client without an address, are carried too.
func TestNotification(t *testing.T) {
	r := httptest.NewRequest(http.MethodPost, "/", nil)
	request, err := Request(r, netip.Addr{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := Do(t.Context(), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.RemoteAddr != "" {
			t.Error(r.RemoteAddr)
		}
		w.WriteHeader(http.StatusNoContent)
	}), request)
	if err != nil {
		t.Fatal(err)
	}
	got := httptest.NewRecorder()
	if err := Answer(got, answer); err != nil || got.Code != http.StatusNoContent || got.Body.Len() != 0 {
		t.Errorf("%d %s, %v", got.Code, got.Body, err)
	}
}

// What is no HTTP is an error, not a crash and not an answer.
func FuzzForeignBytes(f *testing.F) {
	f.Add([]byte("POST / HTTP/1.1\r\nHost: owner\r\nContent-Length: 2\r\n\r\n{}"))
	f.Add([]byte("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nshort"))
	f.Fuzz(func(t *testing.T, data []byte) {
		called := false
		_, err := Do(t.Context(), http.HandlerFunc(func(http.ResponseWriter, *http.Request) { called = true }), data)
		if called == (err != nil) {
			t.Errorf("called: %t, %v", called, err)
		}
		if err := Answer(httptest.NewRecorder(), data); err == nil && !strings.HasPrefix(string(data), "HTTP/") {
			t.Error("an answer of something else")
		}
	})
}
