package scenarios

import (
	"strings"
	"testing"

	"github.com/gavel-relay/gavel/internal/golden"
)

func TestParseWhatIfRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"":                                   "changes nothing",
		"why: x\ncolour: red":                "w.yaml:2: colour: unknown key of the what-if",
		"cancellations: maybe":               `cancellations: is "maybe": give one of off, on, freshest`,
		"cancellations: off\nsequence: sent": "sent needs bids that can be cancelled",
		"floor: 3eth":                        "floor: is",
		"close: soon":                        "close: \"soon\" is no time",
		"close: [1s, 2s]":                    "close: is a list",
		"ask: [1s, x]":                       "ask: \"x\" is no time",
		"latency: [builder +1s]":             "write it as builder KEY +TIME",
		"latency: [builder y +1s]":           "is not the beginning of a public key",
		"latency: [builder 0xAB +1s]":        "is not the beginning of a public key",
		"latency: [region eu +1s]":           "region \"eu\" has no builders",
		"latency: [relay x to relay y +1s]":  "write it as builder KEY +TIME",
		"latency: [relay x fast]":            "\"fast\" is no time",
		"regions: eu":                        "regions: is one value",
		"regions: {eu: [bob]}":               "is not the beginning of a public key",
		"execution: verified":                "write it as optimistic or verified 4ms per Mgas",
		"execution: verified x per Mgas":     "\"x\" is no duration",
		"sequence: on":                       "sequence: is \"on\"",
		"shading: 101%":                      "shading: \"101%\" is no percentage",
		"price: third":                       "price: is \"third\"",
		"floor: off\nvary: {t: [1s, 2s]}":    "t: varies, but stands nowhere",
		"ask: $t\nvary: {t: [1s, x]}":        "variant t=x: w.yaml:1: ask: \"x\" is no time",
	} {
		if _, err := ParseWhatIf("w.yaml", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// Variants are all choices, named by them; without vary there is one, named by its file.
func TestParseWhatIfVariants(t *testing.T) {
	for text, want := range map[string]string{
		"ask: 1s": "dir",
		"ask: $t\ncancellations: $c\nvary: {t: [0s, 1s], c: [off, on]}": "t=0s,c=off t=0s,c=on t=1s,c=off t=1s,c=on",
	} {
		variants, err := ParseWhatIf("some/dir.yaml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, v := range variants {
			names = append(names, v.Name)
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("%q: variants %s, want %s", text, got, want)
		}
	}
}

// Every key of the language is in its catalogue, in the same order.
func TestWhatIfKeysAreAll(t *testing.T) {
	keys := []string{"why"}
	for _, k := range WhatIfKeys {
		keys = append(keys, k.Key)
	}
	if got, want := strings.Join(keys, " "), strings.Join(keysOfWhatIf, " "); got != want {
		t.Errorf("the catalogue has %s, the language %s", got, want)
	}
}

func TestWhatIfDocs(t *testing.T) {
	golden.Section(t, "../docs/replay.md", "what-if", WhatIfMarkdown())
}
