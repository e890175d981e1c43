package client

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"testing"

	"github.com/gavel-relay/gavel/internal/eth"
)

// relay is a server that answers every request alike and remembers the last one.
type relay struct {
	status int
	header http.Header
	body   []byte

	method, uri string
	got         http.Header
	gotBody     []byte
}

func (r *relay) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	r.method, r.uri, r.got = request.Method, request.URL.RequestURI(), request.Header
	var err error
	if r.gotBody, err = io.ReadAll(request.Body); err != nil {
		panic(err)
	}
	for name, values := range r.header {
		w.Header()[name] = values
	}
	w.WriteHeader(r.status)
	if _, err := w.Write(r.body); err != nil {
		panic(err)
	}
}

// client is a client of the relay.
func (r *relay) client(t *testing.T, options Options) *Client {
	t.Helper()
	server := httptest.NewServer(r)
	t.Cleanup(server.Close)
	options.HTTP = server.Client()
	c, err := New(server.URL, options)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// answers makes the relay answer 200 with a versioned value.
func (r *relay) answers(t *testing.T, value any, fork eth.Fork, asJSON bool) {
	t.Helper()
	v := memberOf(reflect.ValueOf(value).Elem(), fork).Interface().(marshaler)
	r.status, r.header = http.StatusOK, http.Header{versionHeader: {fork.String()}, "Content-Type": {mediaSSZ}}
	var err error
	if !asJSON {
		r.body, err = v.MarshalSSZ()
	} else {
		r.header.Set("Content-Type", "application/json; charset=utf-8")
		r.body, err = json.Marshal(map[string]any{"version": fork.String(), "data": v})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// wantRequest checks the last request's line and headers; a header that is wanted as "" must be
// absent.
func (r *relay) wantRequest(t *testing.T, method, uri string, header map[string]string) {
	t.Helper()
	if r.method != method || r.uri != uri {
		t.Errorf("request %s %s, want %s %s", r.method, r.uri, method, uri)
	}
	for name, want := range header {
		if got := r.got.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// wantBody checks that the last request carried the fork's member of a versioned value.
func (r *relay) wantBody(t *testing.T, body []byte, value any, fork eth.Fork, asJSON bool) {
	t.Helper()
	want := memberOf(reflect.ValueOf(value).Elem(), fork)
	got := reflect.New(want.Type().Elem())
	media, decode := mediaSSZ, got.Interface().(unmarshaler).UnmarshalSSZ
	if asJSON {
		media, decode = mediaJSON, got.Interface().(json.Unmarshaler).UnmarshalJSON
	}
	if r.got.Get("Content-Type") != media || r.got.Get(versionHeader) != fork.String() {
		t.Errorf("a body in %q of %q", r.got.Get("Content-Type"), r.got.Get(versionHeader))
	}
	if err := decode(body); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got.Interface(), want.Interface()) {
		t.Errorf("%s:\n got %v\nwant %v", fork, got.Interface(), want.Interface())
	}
}

// forEach runs a test for each fork, with SSZ and with JSON.
func forEach(t *testing.T, test func(t *testing.T, fork eth.Fork, asJSON bool)) {
	for _, fork := range eth.Forks() {
		t.Run(fork.String()+"/ssz", func(t *testing.T) { test(t, fork, false) })
		t.Run(fork.String()+"/json", func(t *testing.T) { test(t, fork, true) })
	}
}
