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

// A status that ends no exchange is an error, whatever instance it comes from.
func TestStatusThatHTTPLacks(t *testing.T) {
	for _, status := range []string{"000", "099", "100", "101", "199", "600", "999", "1000", "-1"} {
		got := httptest.NewRecorder()
		if err := Answer(got, []byte("HTTP/1.1 "+status+" \r\nX-Refusal: a\r\n\r\n")); err == nil ||
			len(got.Header()) != 0 {
			t.Errorf("%s was answered: %d %v", status, got.Code, got.Header())
		}
	}
	answer, err := Do(t.Context(), http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(1000)
	}), []byte("POST / HTTP/1.1\r\nHost: owner\r\n\r\n"))
	if err == nil {
		err = Answer(httptest.NewRecorder(), answer)
	}
	if err == nil {
		t.Error("status 1000 of a handler was answered")
	}
}

// A handler that panics answers nothing, and the process goes on: also one that cuts its answer
// short on purpose, which serve.Wrap hands on.
func TestHandlerThatPanics(t *testing.T) {
	answer, err := Do(t.Context(), http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "half")
		panic(http.ErrAbortHandler)
	}), []byte("POST / HTTP/1.1\r\nHost: owner\r\n\r\n"))
	if err == nil || len(answer) > 0 {
		t.Errorf("answered %q, %v", answer, err)
	}
}

// What is no HTTP is an error, not a crash and not an answer.
func FuzzForeignBytes(f *testing.F) {
	f.Add([]byte("POST / HTTP/1.1\r\nHost: owner\r\nContent-Length: 2\r\n\r\n{}"))
	f.Add([]byte("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nshort"))
	for _, status := range []string{"000", "099", "100", "101", "199", "600", "999", "1000", "-1", "+10", "2e1"} {
		f.Add([]byte("HTTP/1.1 " + status + " \r\n\r\n"))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		called := false
		_, err := Do(t.Context(), http.HandlerFunc(func(http.ResponseWriter, *http.Request) { called = true }), data)
		if called == (err != nil) {
			t.Errorf("called: %t, %v", called, err)
		}
		got := httptest.NewRecorder()
		switch err := Answer(got, data); {
		case err == nil && !strings.HasPrefix(string(data), "HTTP/"):
			t.Error("an answer of something else")
		case err == nil && (got.Code < 200 || got.Code > 599):
			t.Errorf("status %d", got.Code)
		case err != nil && (got.Body.Len() > 0 || len(got.Header()) > 0):
			t.Errorf("a part of an answer was written: %v %s, %v", got.Header(), got.Body, err)
		}
	})
}
