package mutant

import (
	"net/http"
	"slices"
	"strings"
)

// plainText is a fault that says of JSON that it is text.
func plainText(paths ...string) func() Fault {
	return answers("/", func(e *Exchange) {
		on := slices.ContainsFunc(paths, e.on)
		if on && e.Status == http.StatusOK && strings.HasPrefix(e.Header.Get("Content-Type"), jsonType) {
			e.Header.Set("Content-Type", "text/plain; charset=utf-8")
		}
	})
}

// formMutants returns the mutants whose answers are right but for their form.
func formMutants() []Mutant {
	return []Mutant{
		{"relay-lists-are-text-plain", "relay", "lists are text/plain", []string{"REL-GEN-10"}, plainText(dutiesPath,
			dataPath)},
		{"relay-bids-and-payloads-are-text-plain", "relay", "bids and payloads are text/plain", []string{"REL-GEN-12"},
			plainText(headerPath, payloadPath)},
		{"relay-refusals-of-payloads-are-two-documents", "relay", "refusals of payloads are two documents",
			[]string{"REL-GEN-11"}, answers(payloadPath,
				func(e *Exchange) {
					if e.Status == http.StatusBadRequest {
						e.Body = append(slices.Clone(e.Body), e.Body...)
					}
				})},
		{"relay-negative-limit-answered-with-500", "relay", "a negative limit is answered with 500", []string{"REL-GEN-04"},
			answers(dataPath,
				func(e *Exchange) {
					if strings.HasPrefix(e.Request.URL.Query().Get("limit"), "-") {
						e.say(http.StatusInternalServerError, jsonType, `{"code":500,"message":"pq: LIMIT must not be negative"}`)
					}
				})},
	}
}
