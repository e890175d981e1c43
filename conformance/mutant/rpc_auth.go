package mutant

import (
	"net/http"
	"strings"

	"github.com/gavel-relay/gavel/conformance/probe"
)

// authMutants returns the mutants that change signatures and statistics.
func authMutants() []Mutant {
	return []Mutant{
		{"rpc-any-signature-will-do", "rpc", "any signature will do", []string{
			"RPC-AUT-01", "RPC-AUT-03", "RPC-AUT-04", "RPC-AUT-06", "RPC-AUT-08", "RPC-AUT-09", "RPC-AUT-10", "RPC-AUT-13",
			"RPC-AUT-14", "RPC-AUT-19", "RPC-CPR-02", "RPC-CAN-07",
		}, blanket(asks("/", func(e *Exchange) bool { e.signAsImpostor(); return false }))},
		{"rpc-missing-signature-will-do", "rpc", "a missing signature will do", []string{"RPC-AUT-01", "RPC-AUT-13"},
			asks("/", func(e *Exchange) bool {
				if e.Request.Header.Get(probe.SignatureHeader) == "" {
					e.signAsImpostor()
				}
				return false
			})},
		{"rpc-no-signature-will-do", "rpc", "no signature will do", []string{"RPC-AUT-02", "RPC-AUT-07", "RPC-AUT-11",
			"RPC-AUT-12", "RPC-AUT-18"},
			blanket(asks("/", func(e *Exchange) bool {
				e.Request.Header.Set(probe.SignatureHeader, "0x00:0x00")
				return false
			}))},
		{"rpc-addresses-must-have-their-checksum", "rpc", "addresses must have their checksum", []string{"RPC-AUT-11"},
			asks("/", func(e *Exchange) bool {
				value := e.Request.Header.Get(probe.SignatureHeader)
				return value != "" && value == strings.ToLower(value) && e.say(http.StatusForbidden, jsonType, `{"error":"no"}`)
			})},
		{"rpc-v-must-be-27-or-28", "rpc", "v must be 27 or 28", []string{"RPC-AUT-07"}, asks("/", func(e *Exchange) bool {
			value := e.Request.Header.Get(probe.SignatureHeader)
			return strings.HasSuffix(value, "00") && e.say(http.StatusForbidden, jsonType, `{"error":"no"}`) ||
				strings.HasSuffix(value, "01") && e.say(http.StatusForbidden, jsonType, `{"error":"no"}`)
		})},
		{"rpc-only-first-signer-known", "rpc", "only the first signer is known", []string{"RPC-AUT-12"}, func() Fault {
			first := ""
			return Fault{Ask: func(e *Exchange) bool {
				address, _, _ := strings.Cut(e.Request.Header.Get(probe.SignatureHeader), ":")
				if first == "" {
					first = address
				}
				return address != first && e.say(http.StatusForbidden, jsonType, `{"error":"no"}`)
			}}
		}},
		{"rpc-statistics-are-empty", "rpc", "statistics are empty", []string{"RPC-AUT-17"},
			result("flashbots_getUserStatsV2", func(any) any {
				return map[string]any{}
			})},
		{"rpc-old-statistics-have-names-of-new-ones", "rpc", "old statistics have the names of the new ones",
			[]string{"RPC-VER-04"}, result("", func(r any) any {
				if o := object(r); o != nil && o["is_high_priority"] != nil {
					o["isHighPriority"] = o["is_high_priority"]
					delete(o, "is_high_priority")
				}
				return r
			})},
	}
}
