package mutant

import (
	"bytes"
	"strings"
)

// registerMutants returns the mutants of a relay's registrations.
func registerMutants() []Mutant {
	return []Mutant{
		{"relay-registrations-never-refused", "relay", "registrations are never refused", []string{
			"REL-REG-02", "REL-REG-04", "REL-REG-05", "REL-REG-09", "REL-REG-10", "REL-REG-11", "REL-REG-12",
		}, blanket(status(registerPath, 400, 499, 200))},
		{"relay-registrations-always-refused", "relay", "registrations are always refused", []string{"REL-REG-08"},
			blanket(status(registerPath, 200, 200, 400))},
		{"relay-registrations-forgotten-at-once", "relay", "registrations are forgotten at once", []string{
			"REL-REG-01", "REL-REG-07", "REL-REG-14", "REL-REG-15", "REL-REG-13", "REL-REG-03", "REL-DAT-17",
		}, blanket(func() Fault {
			n := 0
			return Fault{Ask: func(e *Exchange) bool {
				if !e.on(registerPath) || bytes.Count(e.Asked, []byte("pubkey")) > 6 && n == 0 {
					return false // the first registration of all the world's validators, which every other spec needs
				}
				n++
				return e.say(200, "", "")
			}}
		})},
		{"relay-registrations-in-ssz-refused-with-400", "relay", "registrations in SSZ are refused with 400",
			[]string{"REL-REG-06"},
			asks(registerPath, func(e *Exchange) bool {
				return strings.HasPrefix(e.Request.Header.Get("Content-Type"), "application/octet") &&
					e.say(400, jsonType, `{"code":400,"message":"no"}`)
			})},
		{"relay-data-api-tells-of-first-registration-only", "relay", "the data API tells of the first registration only",
			[]string{"REL-REG-03", "REL-REG-01"},
			func() Fault {
				first := map[string][]byte{}
				return Fault{Answer: func(e *Exchange) {
					if !e.on("/relay/v1/data/validator_registration") || e.Status != 200 {
						return
					}
					key := e.Request.URL.RawQuery
					if known := first[key]; known != nil {
						e.Body = known
					}
					first[key] = e.Body
				}}
			}},
	}
}
