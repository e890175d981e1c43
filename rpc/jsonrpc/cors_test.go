package jsonrpc

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

// A browser asks before a page of another origin may send a signed request: without a signature,
// and although the client has used up what it may ask.
func TestPreflight(t *testing.T) {
	config := testConfig()
	config.SignatureHeaders = []string{"X-Flashbots-Signature", "X-House-Signature"}
	config.Limits.Client = Rate{PerSecond: 0.001, Burst: 1}
	server := mustServer(t, config)
	post(server, small)
	r := httptest.NewRequest(http.MethodOptions, "/", nil)
	r.Header.Set("Origin", "https://wallet.example")
	r.Header.Set("Access-Control-Request-Method", http.MethodPost)
	r.Header.Set("Access-Control-Request-Headers", "content-type,x-flashbots-signature")
	answer := httptest.NewRecorder()
	server.ServeHTTP(answer, r)
	if answer.Code != http.StatusNoContent || answer.Body.Len() > 0 {
		t.Errorf("%d %s", answer.Code, answer.Body)
	}
	for name, want := range map[string]string{
		"Access-Control-Allow-Origin":  "*",
		"Access-Control-Allow-Methods": "GET, POST, OPTIONS",
		"Access-Control-Allow-Headers": "Content-Type, Content-Encoding, X-Error-Dialect, X-Flashbots-Signature, " +
			"X-House-Signature, X-Flashbots-Origin",
		"Access-Control-Max-Age":           "86400",
		"Access-Control-Allow-Credentials": "",
	} {
		if got := answer.Header().Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// A page reads every answer, also a refusal, and never with a browser's credentials.
func TestAnswersAreForAllOrigins(t *testing.T) {
	config := testConfig()
	config.Limits.Client = Rate{PerSecond: 0.001, Burst: 3}
	server := mustServer(t, config)
	for _, row := range []struct {
		method, path string
		want         int
	}{
		{http.MethodPost, "/", http.StatusUnsupportedMediaType}, {http.MethodGet, "/", http.StatusMethodNotAllowed},
		{http.MethodPost, "/nowhere", http.StatusNotFound}, {http.MethodGet, "/", http.StatusTooManyRequests},
	} {
		r := httptest.NewRequest(row.method, row.path, nil)
		r.Header.Set("Content-Type", "text/plain")
		answer := httptest.NewRecorder()
		server.ServeHTTP(answer, r)
		header := answer.Header()
		if answer.Code != row.want || header.Get("Access-Control-Allow-Origin") != "*" ||
			header.Get("Access-Control-Allow-Credentials") != "" {
			t.Errorf("%s %s: %d, want %d, %v", row.method, row.path, answer.Code, row.want, header)
		}
	}
}
