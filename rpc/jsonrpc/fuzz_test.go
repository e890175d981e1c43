package jsonrpc

import (
	"bytes"
	"encoding/json"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/gavel-relay/gavel/rpc"
)

// FuzzEnvelope compares the parser with encoding/json, which reads the same more slowly: both take
// the same texts for JSON and find the same in them. And whatever comes, the answer is JSON or
// empty.
func FuzzEnvelope(f *testing.F) {
	transcripts, err := filepath.Glob("testdata/*.txt")
	if err != nil {
		f.Fatal(err)
	}
	for _, path := range transcripts {
		text, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			if body, ok := strings.CutPrefix(line, "--> "); ok && strings.ContainsAny(body[:1], "{[") {
				f.Add([]byte(body))
			}
		}
	}
	config := testConfig()
	config.Limits.Client = Rate{PerSecond: -1}
	server := mustServer(f, config)
	f.Fuzz(func(t *testing.T, body []byte) {
		entries, batch, refused := parse(body, 100)
		if refused == nil {
			wantEntries(t, body, entries, batch)
		} else if valid := json.Valid(body); valid && refused.ID == rpc.ParseError.ID &&
			!strings.Contains(refused.Detail, "too deep") {
			t.Fatalf("%q is JSON, but: %v", body, refused)
		}

		r := httptest.NewRequest("POST", "/", bytes.NewReader(body))
		r.Header.Set("X-Flashbots-Signature", "alice")
		w := httptest.NewRecorder()
		server.ServeHTTP(w, r)
		switch answer := w.Body.Bytes(); {
		case w.Code == 204 && len(answer) == 0:
		case w.Code != 200 && w.Code != 403 || !json.Valid(answer):
			t.Fatalf("%q is answered with %d %q", body, w.Code, answer)
		}
	})
}

// wantEntries wants what encoding/json finds in a body.
func wantEntries(t *testing.T, body []byte, entries []entry, batch bool) {
	t.Helper()
	list := []json.RawMessage{body}
	if batch {
		list = nil
		if err := json.Unmarshal(body, &list); err != nil {
			t.Fatalf("%q is a batch, but: %v", body, err)
		}
	}
	if !json.Valid(body) || len(list) != len(entries) {
		t.Fatalf("%q has %d entries, want %d", body, len(entries), len(list))
	}
	for i, e := range entries {
		var members map[string]json.RawMessage
		err := json.Unmarshal(list[i], &members)
		if e.refused != nil {
			continue // nothing of it is used
		}
		var method string
		if err == nil {
			err = json.Unmarshal(members["method"], &method)
		}
		params := members["params"]
		if string(params) == "null" {
			params = nil
		}
		if err != nil || !bytes.Equal(e.id, members["id"]) || !bytes.Equal(params, e.params) {
			t.Fatalf("%q is taken: %+v, %v", list[i], e, err)
		}
		if utf8.Valid(list[i]) && string(e.method) != method { // what is no text stays as it is, and is no method
			t.Fatalf("%q has the method %q, want %q", list[i], e.method, method)
		}
	}
}
