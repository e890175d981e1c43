package client

import (
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"testing"
)

func TestNew(t *testing.T) {
	for address, want := range map[string]string{
		"http://relay:8080":             "http://relay:8080",
		"http://relay/":                 "http://relay",
		"https://0xabcd@relay/behind":   "https://relay/behind",
		"relay:8080":                    "",
		"/only/a/path":                  "",
		"http://":                       "",
		"http://relay\n":                "",
		"http://0xabcd:secret@relay:80": "http://relay:80",
	} {
		c, err := New(address, Options{})
		if want == "" {
			if err == nil {
				t.Errorf("%q: taken as %q", address, c.URL())
			}
			continue
		}
		if err != nil || c.URL() != want {
			t.Errorf("%q: %v, %v, want %q", address, c, err, want)
		}
	}
}

// Every answer outside 2xx is an *Error that says what the relay said.
func TestRefusals(t *testing.T) {
	for _, c := range []struct {
		status  int
		refusal string
		body    string
		want    Error
		text    string
	}{
		{
			status: 400, refusal: "no-bid", body: `{"code":400,"message":"no bid","stacktraces":["…"]}`,
			want: Error{Status: 400, Code: 400, Message: "no bid", Refusal: "no-bid"}, text: "relay answers 400: no bid",
		},
		{
			status: 400,
			body:   `{"code":400,"message":"two bad","failures":[{"index":1,"message":"old"},{"index":4,"message":"forged"}]}`,
			want:   Error{Status: 400, Code: 400, Message: "two bad", Failures: map[int]string{1: "old", 4: "forged"}},
			text:   "relay answers 400: two bad",
		},
		{
			status: 502, body: "<html>bad gateway</html>",
			want: Error{Status: 502, Message: "<html>bad gateway</html>"}, text: "relay answers 502: <html>bad gateway</html>",
		},
		{status: 503, want: Error{Status: 503}, text: "relay answers 503: "},
		{status: 301, body: `{}`, want: Error{Status: 301}, text: "relay answers 301: "},
	} {
		r := &relay{status: c.status, header: http.Header{"X-Refusal": {c.refusal}}, body: []byte(c.body)}
		err := r.client(t, Options{}).Status(t.Context())
		got := (*Error)(nil)
		if !errors.As(err, &got) || !reflect.DeepEqual(*got, c.want) || err.Error() != c.text {
			t.Errorf("%d %s: %+v, want %+v", c.status, c.body, err, c.want)
		}
		if !IsRefused(fmt.Errorf("wrapped: %w", err), c.status) || IsRefused(err, c.status+1) {
			t.Errorf("%d: not recognised by its status", c.status)
		}
		r.wantRequest(t, "GET", "/eth/v1/builder/status", nil)
	}
}

func TestStatus(t *testing.T) {
	r := &relay{status: http.StatusOK}
	c := r.client(t, Options{})
	if err := c.Status(t.Context()); err != nil {
		t.Error(err)
	}
	c.base = "http://127.0.0.1:0"
	if err := c.Status(t.Context()); err == nil || IsRefused(err, 0) {
		t.Errorf("a relay that is not there: %v", err)
	}
}
