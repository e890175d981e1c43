package mutant

// generalMutants returns the mutants of all operations of a relay.
func generalMutants() []Mutant {
	return []Mutant{
		{"relay-status-always-503", "relay", "status is always 503", []string{"REL-STA-01"}, status(statusPath, 200, 299,
			503)},
		{"relay-status-has-body", "relay", "status has a body", []string{"REL-STA-02"}, answers(statusPath,
			func(e *Exchange) {
				e.Body = []byte("ready to serve")
			})},
		{"relay-all-methods-are-one", "relay", "all methods are one", []string{"REL-STA-03"}, status("/", 405, 405, 200)},
		{"relay-unknown-paths-answered-with-200", "relay", "unknown paths are answered with 200", []string{"REL-GEN-03"},
			status("/", 404, 404, 200)},
		{"relay-refusals-are-plain-text", "relay", "refusals are plain text", []string{"REL-GEN-02"}, answers("/",
			func(e *Exchange) {
				if e.Status == 400 {
					e.say(400, "text/plain", "bad request")
				}
			})},
		{"relay-refusals-have-text-as-code", "relay", "refusals have a text as code", []string{"REL-GEN-02"}, answers("/",
			func(e *Exchange) {
				if e.Status == 400 {
					e.edit(func(d any) any { object(d)["code"] = "400"; return d })
				}
			})},
		{"relay-paths-lack-their-prefix", "relay", "paths lack their prefix", []string{"REL-GEN-01"},
			status("/eth/v1/builder", 200, 299, 404)},
		{"relay-malformed-input-answered-with-500", "relay", "malformed input is answered with 500", []string{"REL-GEN-04"},
			status("/", 400, 400, 500)},
		{"relay-asks-for-authentication", "relay", "asks for authentication", []string{"REL-GEN-05", "REL-SUB-37"},
			asks("/", func(e *Exchange) bool {
				return e.say(401, jsonType, "{}")
			})},
		{"relay-v1-of-blinded-blocks-gone", "relay", "v1 of blinded_blocks is gone", []string{"REL-GEN-07", "REL-PAY-10"},
			asks(payloadPath, func(e *Exchange) bool { return e.say(404, jsonType, "{}") })},
		{"relay-second-of-two-requests-answered-as-the-first", "relay",
			"one of two requests is answered with what was said before", []string{"REL-GEN-09"}, func() Fault {
				var last []byte
				code, n := 0, 0
				return Fault{Answer: func(e *Exchange) {
					if n++; n%2 == 0 && code != 0 {
						e.Status, e.Body = code, last
					}
					last, code = e.Body, e.Status
				}}
			}},
		{"relay-what-is-too-much-refused-without-retry-after", "relay", "what is too much is refused without Retry-After",
			[]string{"REL-GEN-06"},
			answers("/", func(e *Exchange) { e.Header.Del("Retry-After") })},
		{"relay-what-is-too-much-answered-with-503", "relay", "what is too much is answered with 503",
			[]string{"REL-GEN-06"}, status("/", 429, 429, 503)},
	}
}
