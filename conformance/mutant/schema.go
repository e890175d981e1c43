package mutant

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
)

// schemaMutants returns the mutants whose answers say the right things in a form that is not that
// of the interface: each in one member, one header or one status.
func schemaMutants() []Mutant {
	return slices.Concat(relaySchemaMutants(), streamSchemaMutants(), rpcSchemaMutants(), sidecarSchemaMutants())
}

// bare makes a decimal text a number.
func bare(value any) any {
	text, is := value.(string)
	if !is {
		return value
	}
	return json.Number(text)
}

// quoted makes a number a decimal text.
func quoted(value any) any {
	number, is := value.(json.Number)
	if !is {
		return value
	}
	return number.String()
}

// refusals is a fault that changes the JSON of answers with a status of 400 to 499.
func refusals(path string, change func(body map[string]any)) func() Fault {
	return answers(path, func(e *Exchange) {
		if e.Status >= 400 && e.Status < 500 {
			e.edit(func(d any) any {
				if o := object(d); o != nil {
					change(o)
				}
				return d
			})
		}
	})
}

// versionless is a fault that takes the fork from answers in one encoding.
func versionless(path, media string) func() Fault {
	return answers(path, func(e *Exchange) {
		if strings.HasPrefix(e.Header.Get("Content-Type"), media) {
			e.Header.Del("Eth-Consensus-Version")
		}
	})
}

func relaySchemaMutants() []Mutant {
	return []Mutant{
		{"relay-gas-used-in-headers-is-number", "relay", "gas_used in headers is a number", []string{"REL-SCH-01"},
			bid(func(m map[string]any) {
				header := at(m, "header")
				header["gas_used"] = bare(header["gas_used"])
			})},
		{"relay-no-execution-requests-are-null", "relay", "no execution requests are null", []string{"REL-SCH-01"},
			bid(func(m map[string]any) {
				if requests := at(m, "execution_requests"); requests != nil {
					requests["deposits"] = nil
				}
			})},
		{"relay-bids-in-ssz-do-not-name-their-fork", "relay", "bids in SSZ do not name their fork", []string{"REL-SCH-01"},
			versionless(headerPath, "application/octet-stream")},
		{"relay-payloads-lack-prev-randao", "relay", "payloads lack prev_randao", []string{"REL-SCH-01"},
			document(payloadPath, func(d any) any {
				delete(at(d, "data", "execution_payload"), "prev_randao")
				return d
			})},
		{"relay-payload-bids-have-slot-as-number", "relay", "bids of gloas have their slot as a number",
			[]string{"GLO-SCH-01"}, payloadBid(func(m map[string]any) { m["slot"] = bare(m["slot"]) })},
		{"relay-payload-bids-in-ssz-do-not-name-their-fork", "relay", "bids of gloas in SSZ do not name their fork",
			[]string{"GLO-SCH-01"}, versionless(payloadBidPath, "application/octet-stream")},
		{"relay-refusals-of-signed-blocks-have-their-code-as-text", "relay",
			"refusals of signed blocks have their code as text", []string{"GLO-SCH-01"},
			refusals(signedBlocks, func(body map[string]any) { body["code"] = "400" })},
		{"relay-takes-preferences-with-201", "relay", "takes preferences with a status of its own", []string{"GLO-SCH-02"},
			answers(capPath, func(e *Exchange) {
				if e.Status == http.StatusAccepted {
					e.Status = http.StatusCreated
				}
			})},
		{"relay-refusals-of-registrations-have-their-code-as-text", "relay",
			"refusals of registrations have their code as text", []string{"REL-SCH-01"},
			refusals(registerPath, func(body map[string]any) { body["code"] = "400" })},
		{"relay-bids-in-json-do-not-name-their-fork-in-header", "relay", "bids in JSON do not name their fork in a header",
			[]string{"REL-SCH-02"},
			versionless(headerPath, jsonType)},
		{"relay-malformed-header-request-is-422", "relay", "a malformed header request is 422", []string{"REL-SCH-02"},
			answers(headerPath, func(e *Exchange) {
				if e.Status == http.StatusBadRequest {
					e.Status = http.StatusUnprocessableEntity
				}
			})},
		{"relay-slots-of-duties-are-numbers", "relay", "the slots of duties are numbers", []string{"REL-SCH-03"},
			document(dutiesPath, func(d any) any {
				list, _ := d.([]any)
				for _, entry := range list {
					object(entry)["slot"] = bare(object(entry)["slot"])
				}
				return d
			})},
		{"relay-refusals-of-blocks-have-no-message", "relay", "refusals of blocks have no message", []string{"REL-SCH-03"},
			refusals(submitPath, func(body map[string]any) { delete(body, "message") })},
		{"relay-duties-are-text-plain", "relay", "duties are text/plain", []string{"REL-SCH-04"}, plainText(dutiesPath)},
		{"relay-num-tx-of-deliveries-is-number", "relay", "num_tx of deliveries is a number", []string{"REL-SCH-05"},
			traces(deliveredPath,
				func(trace map[string]any) { trace["num_tx"] = bare(trace["num_tx"]) })},
		{"relay-received-bids-lack-their-block-number", "relay", "received bids lack their block number",
			[]string{"REL-SCH-05"}, traces(receivedPath,
				func(trace map[string]any) { delete(trace, "block_number") })},
		{"relay-signatures-of-registrations-have-no-zero-x", "relay", "signatures of registrations have no 0x",
			[]string{"REL-SCH-05"}, document(registrationPath,
				func(d any) any {
					text, _ := object(d)["signature"].(string)
					object(d)["signature"] = strings.TrimPrefix(text, "0x")
					return d
				})},
		{"relay-registrations-are-text-plain", "relay", "registrations are text/plain", []string{"REL-SCH-06"},
			plainText(registrationPath)},
	}
}

func streamSchemaMutants() []Mutant {
	const historyPath = "/api/v1/history"
	return []Mutant{
		{"stream-mev-gas-price-of-events-is-number", "stream", "mevGasPrice of events is a number", []string{"STR-SCH-01"},
			events(func(event map[string]any) {
				event["mevGasPrice"] = 1_000_000_000
			})},
		{"stream-what-transactions-do-not-share-is-null", "stream", "what transactions do not share is null",
			[]string{"STR-SCH-01"},
			events(func(event map[string]any) {
				list, _ := event["txs"].([]any)
				for _, tx := range list {
					if o := object(tx); o["callData"] == nil {
						o["callData"] = nil
					}
				}
			})},
		{"stream-blocks-of-records-are-texts", "stream", "blocks of records are texts", []string{"STR-SCH-03"},
			document(historyPath, func(d any) any {
				list, _ := d.([]any)
				for _, record := range list {
					object(record)["block"] = quoted(object(record)["block"])
				}
				return d
			})},
		{"stream-historys-bounds-lack-max-timestamp", "stream", "the history's bounds lack maxTimestamp",
			[]string{"STR-SCH-03"}, document(historyPath+"/info",
				func(d any) any {
					delete(object(d), "maxTimestamp")
					return d
				})},
		{"stream-history-is-text-plain", "stream", "the history is text/plain", []string{"STR-SCH-04"},
			plainText(historyPath)},
	}
}

// envelopes is a fault that changes the object around results and errors.
func envelopes(change func(answer map[string]any)) func() Fault {
	return answers("/", func(e *Exchange) {
		e.edit(func(d any) any {
			if o := object(d); o["jsonrpc"] != nil {
				change(o)
			}
			return d
		})
	})
}

func rpcSchemaMutants() []Mutant {
	gone := func(method, name string) func() Fault {
		return result(method, func(r any) any {
			delete(object(r), name)
			return r
		})
	}
	return []Mutant{
		{"rpc-codes-of-errors-are-texts", "rpc", "codes of errors are texts", []string{"RPC-SCH-01"},
			envelopes(func(a map[string]any) {
				if e := at(a, "error"); e != nil {
					e["code"] = quoted(e["code"])
				}
			})},
		{"rpc-errors-have-result-of-null", "rpc", "errors have a result of null", []string{"RPC-SCH-01"},
			envelopes(func(a map[string]any) {
				if a["error"] != nil {
					a["result"] = nil
				}
			})},
		{"rpc-schema-answers-are-text-plain", "rpc", "answers are text/plain", []string{"RPC-SCH-02"}, plainText("/")},
		{"rpc-gas-of-simulated-transaction-is-text", "rpc", "the gas of a simulated transaction is text",
			[]string{"RPC-SCH-03"}, result("eth_callBundle",
				func(r any) any {
					list, _ := object(r)["results"].([]any)
					for _, tx := range list {
						object(tx)["gasUsed"] = quoted(object(tx)["gasUsed"])
					}
					return r
				})},
		{"rpc-simulated-is-text", "rpc", "isSimulated is text", []string{"RPC-SCH-04"}, member("flashbots_getBundleStatsV2",
			"isSimulated",
			func(any) any { return "true" })},
		{"rpc-simulations-of-shared-bundles-lack-refundable-value", "rpc",
			"simulations of shared bundles lack refundableValue", []string{"RPC-SCH-05"},
			gone("mev_simBundle", "refundableValue")},
		{"rpc-hashes-of-shared-bundles-have-no-zero-x", "rpc", "hashes of shared bundles have no 0x",
			[]string{"RPC-SCH-05"}, member("mev_sendBundle", "bundleHash",
				func(v any) any {
					text, _ := v.(string)
					return strings.TrimPrefix(text, "0x")
				})},
		{"rpc-whether-private-transaction-was-cancelled-is-text", "rpc",
			"whether a private transaction was cancelled is text", []string{"RPC-SCH-06"},
			result("eth_cancelPrivateTransaction", func(any) any { return "false" })},
		{"rpc-eth-send-raw-transaction-answers-object", "rpc", "eth_sendRawTransaction answers an object",
			[]string{"RPC-SCH-07"}, result("eth_sendRawTransaction",
				func(r any) any { return map[string]any{"txHash": r} })},
		{"rpc-totals-of-refunds-have-their-block-as-number", "rpc", "totals of refunds have their block as a number",
			[]string{"RPC-SCH-08"},
			member("flashbots_getFeeRefundTotalsByRecipient", "maxBlockNumber", func(any) any { return 7 })},
		{"rpc-no-delayed-refunds-are-null", "rpc", "no delayed refunds are null", []string{"RPC-SCH-08"},
			member("buildernet_getDelayedRefunds", "refunds",
				func(v any) any {
					if list, _ := v.([]any); len(list) > 0 {
						return v
					}
					return nil
				})},
		{"rpc-totals-of-mev-refunds-lack-what-is-pending", "rpc", "totals of MEV refunds lack what is pending",
			[]string{"RPC-SCH-09"},
			gone("flashbots_getMevRefundTotalByRecipient", "pending")},
	}
}

func sidecarSchemaMutants() []Mutant {
	return []Mutant{
		{"sidecar-gas-limit-in-headers-is-number", "sidecar", "gas_limit in headers is a number", []string{"SID-SCH-01"},
			bid(func(m map[string]any) {
				header := at(m, "header")
				header["gas_limit"] = bare(header["gas_limit"])
			})},
		{"sidecar-bids-in-json-do-not-name-their-fork-in-header", "sidecar",
			"bids in JSON do not name their fork in a header", []string{"SID-SCH-02"},
			versionless(headerPath, jsonType)},
		{"sidecar-payloads-lack-prev-randao", "sidecar", "payloads lack prev_randao", []string{"SID-SCH-03"},
			document(payloadPath, func(d any) any {
				delete(at(d, "data", "execution_payload"), "prev_randao")
				return d
			})},
		{"sidecar-payloads-are-text-plain", "sidecar", "payloads are text/plain", []string{"SID-SCH-04"},
			plainText(payloadPath)},
	}
}
