package mutant

import (
	"encoding/json"
	"net/http"
	"strings"
	"time"
)

// envelopeMutants returns the mutants that change what every method has: the JSON-RPC envelope,
// HTTP, and limits.
func envelopeMutants() []Mutant {
	return []Mutant{
		{"rpc-ids-are-null", "rpc", "ids are null", []string{"RPC-ENV-01", "RPC-ENV-02", "RPC-ENV-03"},
			envelope(func(o map[string]any) {
				o["id"] = nil
			})},
		{"rpc-ids-are-text", "rpc", "ids are text", []string{"RPC-ENV-02"}, envelope(func(o map[string]any) {
			if number, is := o["id"].(json.Number); is {
				o["id"] = number.String()
			}
		})},
		{"rpc-ids-are-numbers-of-floating-point", "rpc", "ids are numbers of floating point", []string{"RPC-ENV-02"},
			envelope(func(o map[string]any) {
				if number, is := o["id"].(json.Number); is {
					o["id"], _ = number.Float64()
				}
			})},
		{"rpc-results-have-error-null-beside-them", "rpc", "results have error null beside them", []string{"RPC-ENV-04"},
			envelope(func(o map[string]any) {
				if _, has := o["result"]; has {
					o["error"] = nil
				}
			})},
		{"rpc-errors-have-result-null-beside-them", "rpc", "errors have result null beside them", []string{"RPC-ENV-04"},
			envelope(func(o map[string]any) {
				if o["error"] != nil {
					o["result"] = nil
				}
			})},
		{"rpc-jsonrpc-is-1-0", "rpc", "jsonrpc is 1.0", []string{"RPC-ENV-01"},
			envelope(func(o map[string]any) { o["jsonrpc"] = "1.0" })},
		{"rpc-what-cannot-be-read-is-success", "rpc", "what cannot be read is a success", []string{"RPC-ENV-05",
			"RPC-ENV-06", "RPC-ENV-09", "RPC-ENV-11",
			"RPC-ENV-13"}, answers("/", func(e *Exchange) {
			if strings.Contains(string(e.Body), `"code":-32700`) || strings.Contains(string(e.Body), `"code":-32600`) {
				e.say(http.StatusOK, jsonType, `{"jsonrpc":"2.0","id":null,"result":true}`)
			}
		})},
		{"rpc-refusals-have-status-500", "rpc", "refusals have status 500", []string{"RPC-ENV-05", "RPC-ENV-16"},
			answers("/", func(e *Exchange) {
				if strings.Contains(string(e.Body), `"error"`) {
					e.Status = http.StatusInternalServerError
				}
			})},
		{"rpc-envelope-is-text-plain", "rpc", "answers are text/plain", []string{"RPC-ENV-18"}, answers("/",
			func(e *Exchange) {
				e.Header.Set("Content-Type", "text/plain")
			})},
		{"rpc-any-content-type-is-json", "rpc", "any content type is JSON", []string{"RPC-ENV-14"}, asks("/",
			func(e *Exchange) bool {
				e.Request.Header.Set("Content-Type", jsonType)
				return false
			})},
		{"rpc-of-list-only-first-request-answered", "rpc", "of a list only the first request is answered",
			[]string{"RPC-ENV-10"},
			answers("/", func(e *Exchange) {
				e.edit(func(d any) any {
					if all, is := d.([]any); is && len(all) > 1 {
						return all[:1]
					}
					return d
				})
			})},
		{"rpc-requests-without-id-answered", "rpc", "requests without id are answered", []string{"RPC-ENV-12"}, answers("/",
			func(e *Exchange) {
				if e.Status == http.StatusNoContent {
					e.say(http.StatusOK, jsonType, `{"jsonrpc":"2.0","id":null,"result":true}`)
				}
			})},
		{"rpc-after-500-requests-come-429s", "rpc", "after 500 requests come 429s", []string{"RPC-LIM-01"}, func() Fault {
			n := 0
			return Fault{Ask: func(e *Exchange) bool {
				n++
				return n > 500 && e.say(http.StatusTooManyRequests, jsonType, "{}")
			}}
		}},
		{"rpc-unknown-members-refused-without-their-name", "rpc", "unknown members are refused without their name",
			[]string{"RPC-ENV-17"},
			asks("/", func(e *Exchange) bool {
				return strings.Contains(string(e.Asked), "conformanceSuite") &&
					e.say(http.StatusOK, jsonType, `{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"invalid params"}}`)
			})},
		{"rpc-errors-are-success-without-result", "rpc", "errors are success without a result", []string{"RPC-ERR-01",
			"RPC-ENV-04"},
			envelope(func(o map[string]any) { delete(o, "error") })},
		{"rpc-errors-are-texts-without-code", "rpc", "errors are texts without a code", []string{"RPC-ERR-03"},
			envelope(func(o map[string]any) {
				if o["error"] != nil {
					o["error"] = "no"
				}
			})},
		{"rpc-get-answered-as-call", "rpc", "GET is answered as a call", []string{"RPC-ENV-15"}, asks("/",
			func(e *Exchange) bool {
				return e.Request.Method == http.MethodGet && e.say(http.StatusOK, jsonType,
					`{"jsonrpc":"2.0","id":1,"result":true}`)
			})},
		{"rpc-known-methods-refused-for-parameters", "rpc",
			"unknown methods are refused for their parameters, and so are known ones", []string{"RPC-VER-03"},
			envelope(func(o map[string]any) {
				if e := at(o, "error"); e != nil {
					e["code"] = -32601
				}
			})},
		{"rpc-what-is-too-much-refused-without-retry-after", "rpc", "what is too much is refused without Retry-After",
			[]string{"RPC-LIM-02"},
			answers("/", func(e *Exchange) { e.Header.Del("Retry-After") })},
		{"rpc-what-is-too-much-answered-with-200", "rpc", "what is too much is answered with 200", []string{"RPC-LIM-02"},
			status("/", 429, 429, 200)},
		{"rpc-pages-may-not-send-signature", "rpc", "pages may not send a signature", []string{"RPC-ENV-20"}, answers("/",
			func(e *Exchange) {
				e.Header.Set("Access-Control-Allow-Headers", "content-type")
			})},
		{"rpc-pages-may-ask-and-read-no-answer", "rpc", "pages may ask and read no answer", []string{"RPC-ENV-20"},
			answers("/", func(e *Exchange) {
				if e.Request.Method == http.MethodPost {
					e.Header.Del("Access-Control-Allow-Origin")
				}
			})},
		{"rpc-services-description-lacks-most-methods", "rpc", "the service's description lacks most methods",
			[]string{"RPC-ENV-21"},
			member("rpc.discover", "methods", func(v any) any {
				all, _ := v.([]any)
				return all[:min(len(all), 1)]
			})},
		{"rpc-thousand-requests-taken-in-ten-seconds", "rpc", "a thousand requests are taken in ten seconds",
			[]string{"RPC-LIM-01"}, func() Fault {
				n, since := 0, time.Now()
				return Fault{Ask: func(e *Exchange) bool {
					if n++; time.Since(since) > 10*time.Second {
						n, since = 0, time.Now()
					}
					return n > 1000 && e.say(http.StatusTooManyRequests, jsonType, "{}")
				}}
			}},
	}
}
