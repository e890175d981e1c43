package mutant

import (
	"net/http"
	"strings"
)

// refundMutants returns the mutants that change the methods that answer refunds.
func refundMutants() []Mutant {
	return []Mutant{
		{"rpc-totals-are-decimal", "rpc", "totals are decimal", []string{"RPC-RFT-01", "RPC-RFT-02", "RPC-DLT-01"},
			result("", func(r any) any {
				if o := object(r); o != nil && o["pending"] != nil {
					o["pending"], o["received"] = "0", "0"
				}
				return r
			})},
		{"rpc-no-refunds-are-null", "rpc", "no refunds are null", []string{"RPC-RFR-01", "RPC-DLY-01", "RPC-RFB-01",
			"RPC-RFK-01"},
			member("", "refunds", constant(nil))},
		{"rpc-always-cursor", "rpc", "there is always a cursor", []string{"RPC-RFR-02", "RPC-DLY-05"}, result("",
			func(r any) any {
				if o := object(r); o != nil && o["refunds"] != nil {
					o["cursor"], o["nextCursor"] = "x", "x"
				}
				return r
			})},
		{"rpc-addresses-come-back-with-checksums", "rpc", "addresses come back with checksums", []string{"RPC-SET-01"},
			result("flashbots_setFeeRefundRecipient",
				func(r any) any {
					if o := object(r); o != nil {
						o["from"] = strings.ToUpper(o["from"].(string))
					}
					return r
				})},
		{"rpc-indexed-up-to-is-number", "rpc", "indexedUpTo is a number", []string{"RPC-DLY-01", "RPC-DLT-01"},
			member("", "indexedUpTo", constant(7))},
		{"rpc-totals-of-what-followers-brought-are-decimal", "rpc", "totals of what followers brought are decimal",
			[]string{"RPC-RFM-01"}, result("", func(r any) any {
				if o := object(r); o != nil && o["total"] != nil {
					o["total"] = "0"
				}
				return r
			})},
		{"rpc-addresses-cut-to-what-fits", "rpc", "addresses are cut to what fits", []string{"RPC-RFM-02"}, asks("/",
			func(e *Exchange) bool {
				return strings.Contains(e.Method, "MevRefundTotal") && strings.Contains(string(e.Asked), `"0x1234"`) &&
					e.say(http.StatusOK, jsonType, `{"jsonrpc":"2.0","id":1,"result":{"total":"0x0","pending":"0x0"}}`)
			})},
		{"rpc-stranger-has-refunds", "rpc", "a stranger has refunds", []string{"RPC-RFT-02"},
			member("flashbots_getFeeRefundTotalsByRecipient",
				"pending", constant("0x1"))},
	}
}
