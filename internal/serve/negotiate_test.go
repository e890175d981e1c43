package serve

import (
	"net/http"
	"testing"

	"pgregory.net/rapid"
)

const (
	textJSON = "application/json"
	bareSSZ  = "application/octet-stream"
)

// What clients send, and what they get.
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
		{[]string{"garbage"}, ""},
		{[]string{"text/html, */*;q=0.1"}, textJSON},
		{[]string{"*/*;q=0.1", "application/octet-stream"}, bareSSZ},
		{[]string{"application/json;q=0.9,application/octet-stream;q=1.0"}, bareSSZ},
		{[]string{"application/json;q=0.9, application/octet-stream;q=0.8"}, textJSON},
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

// The quick way to read a range says what the full one says, or nothing.
func TestPlainRangesAreRanges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		part := rapid.StringMatching(`[ \t]?[a-zA-Z*.-]{0,4}/?[a-z*+/-]{0,4}[ ;]{0,3}([qQ]=?[0-9.e+"-]{0,4})?[ ;]?`).Draw(t,
			"part")
		plain, ok := parsePlainRange(part)
		if any, anyOK := parseAnyRange(part); ok && (!anyOK || plain != any) {
			t.Fatalf("%q: quickly %+v, fully %+v (%v)", part, plain, any, anyOK)
		}
	})
}

func TestNegotiateAllocatesNothingForUsualHeaders(t *testing.T) {
	for _, accept := range []string{"", "application/json", "application/octet-stream;q=1.0,application/json;q=0.9",
		"*/*"} {
		r := &http.Request{Header: http.Header{"Accept": {accept}}}
		if n := testing.AllocsPerRun(100, func() { Negotiate(r, "application/json", "application/octet-stream") }); n != 0 {
			t.Errorf("%q: %v allocations", accept, n)
		}
	}
}
