package main

import "testing"

// A page shows no part of an address that may hold a key: hosted nodes have it in the path, in the
// query or as the user.
func TestWithoutKeys(t *testing.T) {
	for address, want := range map[string]string{
		"http://node:5052":                    "http://node:5052",
		"http://node:5052/":                   "http://node:5052/",
		"https://node.example/v2/KEY":         "https://node.example/(hidden)",
		"https://node.example?key=KEY":        "https://node.example/(hidden)",
		"https://node.example/#KEY":           "https://node.example/(hidden)",
		"https://KEY@node.example":            "https://node.example/(hidden)",
		"postgres://gavel:KEY@db:5432/gavel":  "postgres://db:5432/(hidden)",
		"sqlite:/var/lib/gavel/archive.db":    "sqlite:/var/lib/gavel/archive.db",
		"KEY":                                 "(hidden)",
		"http://node:5052\x7f":                "(hidden)",
		"nats://KEY:KEY@a:4222":               "nats://a:4222/(hidden)",
		"host=db user=gavel password=KEY a=b": "(hidden)",
	} {
		if got := withoutKeys(address); got != want {
			t.Errorf("%q is shown as %q, want %q", address, got, want)
		}
	}
}
