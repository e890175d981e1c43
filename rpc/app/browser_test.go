package app

import (
	"net/http"
	"strings"
	"testing"
)

// A wallet in a page may send the headers that this service reads signatures from, whatever they
// are called.
func TestBrowsersMaySign(t *testing.T) {
	h := openService(t, func(cfg *Config) { cfg.SignatureHeaders = []string{"X-House-Signature"} })
	r, err := http.NewRequestWithContext(t.Context(), http.MethodOptions, h.url, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Origin", "https://wallet.example")
	r.Header.Set("Access-Control-Request-Method", http.MethodPost)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusNoContent || !strings.Contains(answer.Header.Get("Access-Control-Allow-Headers"),
		"X-House-Signature") {
		t.Errorf("%d %v", answer.StatusCode, answer.Header)
	}
}
