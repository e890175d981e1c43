package mutant

import (
	"net/http"
	"strings"
)

// forkMutants returns the mutants of what changes at a fork, and what does not. A proxy knows the
// fork of a world by the versions that it sees.
func forkMutants() []Mutant {
	return []Mutant{
		{"relay-bids-name-fork-that-first-bid-had", "relay", "bids name the fork that the first bid had",
			[]string{"REL-FRK-01"}, firstVersion(headerPath)},
		{"relay-submissions-in-ssz-never-refused-for-their-fork", "relay",
			"submissions in SSZ are never refused for their fork", []string{"REL-FRK-02"},
			pardons(submitPath, func(e *Exchange) bool { return e.Request.Header.Get("Eth-Consensus-Version") != "" })},
		{"relay-reveals-to-signature-under-another-fork", "relay", "reveals to a signature under another fork",
			[]string{"REL-FRK-03"},
			reveals(func(e *Exchange, block, bid map[string]any) bool {
				return len(differing(block, bid)) == 0 && block["proposer_index"] == e.duty(block["slot"])
			})},
		{"relay-registrations-forgotten-at-fork", "relay",
			"registrations are forgotten when the first bid of another fork was served",
			[]string{"REL-FRK-04"}, func() Fault {
				first, over := "", false
				return Fault{Answer: func(e *Exchange) {
					switch version := e.version(); {
					case e.on(headerPath) && version != "":
						if first == "" {
							first = version
						}
						over = over || version != first
					case e.on(dutiesPath) && e.Status == http.StatusOK && over:
						e.say(http.StatusOK, jsonType, "[]")
					}
				}}
			}},
		{"relay-payloads-name-fork-that-first-payload-had", "relay", "payloads name the fork that the first payload had",
			[]string{"REL-FRK-05"},
			firstVersion(payloadPath)},
	}
}

// firstVersion is a fault that names in all answers at a path the fork that the first one had.
func firstVersion(path string) func() Fault {
	return func() Fault {
		first := ""
		return Fault{Answer: func(e *Exchange) {
			version := e.version()
			if !e.on(path) || version == "" {
				return
			}
			if first == "" {
				first = version
			}
			e.edit(func(d any) any {
				object(d)["version"] = first
				return d
			})
			e.Header.Set("Eth-Consensus-Version", first)
		}}
	}
}

// version returns the fork that an answer in JSON names; empty if it is none.
func (e *Exchange) version() string {
	if e.Status != http.StatusOK || !strings.HasPrefix(e.Header.Get("Content-Type"), jsonType) {
		return ""
	}
	var version string
	e.edit(func(d any) any {
		version, _ = object(d)["version"].(string)
		return d
	})
	return version
}
