package serve

import (
	"net/http"
	"testing"
)

const (
	textJSON = "application/json"
	bareSSZ  = "application/octet-stream"
)

// H05: what clients send, and what they get.
func TestNegotiate(t *testing.T) {
	for _, row := range []struct {
		accept []string
		want   string // empty: 406
	}{
		{nil, textJSON},
		{[]string{""}, textJSON},
		{[]string{"*/*"}, textJSON},
		{[]string{"application/*"}, textJSON},
		{[]string{"application/json"}, textJSON},
		{[]string{"application/octet-stream"}, bareSSZ},
		{[]string{"Application/Octet-Stream"}, bareSSZ},
		{[]string{"application/octet-stream;q=1.0,application/json;q=0.9"}, bareSSZ},
		{[]string{"application/octet-stream;q=1,application/json;q=0.9"}, bareSSZ},
		{[]string{"application/octet-stream;q=0.5, application/json;q=0.9"}, textJSON},
		{[]string{"application/json;charset=utf-8"}, textJSON},
		{[]string{"application/octet-stream, application/json"}, bareSSZ},
		{[]string{"application/json, application/octet-stream"}, textJSON},
		{[]string{"application/json", "application/octet-stream"}, textJSON},
		{[]string{"application/octet-stream", "application/json"}, bareSSZ},
		{[]string{"application/octet-stream, */*"}, bareSSZ},
		{[]string{"*/*, application/octet-stream"}, textJSON},
		{[]string{"application/json;q=0.1, */*"}, bareSSZ},
		{[]string{"application/octet-stream;q=0, application/json"}, textJSON},
		{[]string{"application/octet-stream;q=0, */*"}, textJSON},
		{[]string{"application/json;q=0, */*"}, bareSSZ},
		{[]string{"application/json;q=0, application/octet-stream;q=0.1"}, bareSSZ},
		{[]string{"application/json;q=0, application/octet-stream;q=0"}, ""},
		{[]string{"application/json;q=0"}, ""},
		{[]string{"*/*;q=0"}, ""},
		{[]string{"text/html"}, ""},
		{[]string{"text/html, application/json;q=0.2"}, textJSON},
		{[]string{"text/*"}, ""},
		{[]string{"application/json;q=2"}, ""},
		{[]string{"application/json;q=NaN"}, ""},
		{[]string{"application/json;q="}, ""},
		{[]string{";;;"}, ""},
	} {
		r := &http.Request{Header: http.Header{}}
		for _, value := range row.accept {
			r.Header.Add("Accept", value)
		}
		if got, ok := Negotiate(r, textJSON, bareSSZ); got != row.want || ok != (row.want != "") {
			t.Errorf("Accept %q: %q, want %q", row.accept, got, row.want)
		}
	}
}

func TestContentType(t *testing.T) {
	for header, want := range map[string]string{
		"": textJSON, "application/json": textJSON, "application/json; charset=utf-8": textJSON, "APPLICATION/JSON": textJSON,
		"application/octet-stream": bareSSZ, "text/plain": "text/plain", "application/json;;": "", "/": "",
	} {
		r := &http.Request{Header: http.Header{}}
		if header != "" {
			r.Header.Set("Content-Type", header)
		}
		if got, ok := ContentType(r); ok != (want != "") || (ok && got != want) {
			t.Errorf("Content-Type %q: %q, %v, want %q", header, got, ok, want)
		}
	}
}
