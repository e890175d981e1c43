package mutant

import (
	"encoding/json"
	"net/http"
	"strings"
)

// escrow has what a relay has accepted and served so far.
type escrow struct {
	payloads map[string]any            // of accepted submissions, by slot: the newest
	bids     map[string]map[string]any // messages of served bids, by slot: the newest
}

// reveals is a fault that answers refused requests for a payload with it, if they are wrong in one
// way. Bid is the message of the slot's newest bid that was served.
func reveals(wrong func(e *Exchange, block, bid map[string]any) bool) func() Fault {
	return func() Fault {
		known := escrow{payloads: map[string]any{}, bids: map[string]map[string]any{}}
		return Fault{Answer: func(e *Exchange) {
			document := e.asked()
			slot, _ := at(document, "message")["slot"].(string)
			switch {
			case e.on(submitPath) && e.Status < 300:
				known.payloads[slot] = document["execution_payload"]
			case e.on(headerPath) && e.Status == http.StatusOK:
				var served any
				_ = json.Unmarshal(e.Body, &served) // SSZ is not parsed: no mutant is about it
				slot, _, _ = strings.Cut(strings.TrimPrefix(e.Request.URL.Path, headerPath), "/")
				known.bids[slot] = at(served, "data", "message")
			case e.on(payloadPath) && e.Status == http.StatusBadRequest && known.payloads[slot] != nil &&
				wrong(e, at(document, "message"), known.bids[slot]):
				raw, err := json.Marshal(map[string]any{"version": e.Request.Header.Get("Eth-Consensus-Version"),
					"data": map[string]any{"execution_payload": known.payloads[slot]}})
				if err == nil {
					e.say(http.StatusOK, jsonType, string(raw))
				}
			}
		}}
	}
}

// differing returns the names of the header's members that differ from the served bid's.
func differing(block, bid map[string]any) (names []string) {
	header, served := at(block, "body", "execution_payload_header"), at(bid, "header")
	for name := range served {
		if !same(header[name], served[name]) {
			names = append(names, name)
		}
	}
	return names
}

// otherHeader says that the header differs from the served one in this member alone.
func otherHeader(name string) func(e *Exchange, block, bid map[string]any) bool {
	return func(_ *Exchange, block, bid map[string]any) bool {
		names := differing(block, bid)
		return len(names) == 1 && names[0] == name
	}
}

// duty returns the index of the validator that proposes in a slot, as the target's list has it.
func (e *Exchange) duty(slot any) any {
	response, err := client.Get(strings.TrimRight(e.base, "/") + dutiesPath)
	if err != nil {
		return nil
	}
	defer response.Body.Close()
	var list []map[string]any
	if json.NewDecoder(response.Body).Decode(&list) != nil {
		return nil
	}
	for _, entry := range list {
		if entry["slot"] == slot {
			return entry["validator_index"]
		}
	}
	return nil
}

// revealedMutants returns the mutants that reveal payloads to requests of one kind that must be
// refused.
func revealedMutants() []Mutant {
	list := []Mutant{
		{"relay-reveals-to-anybodys-signature", "relay", "reveals to anybody's signature", []string{"REL-PAY-03"},
			reveals(func(e *Exchange, block, bid map[string]any) bool {
				return len(differing(block, bid)) == 0 && block["proposer_index"] == e.duty(block["slot"])
			})},
		{"relay-reveals-for-header-that-it-never-served", "relay", "reveals for a header that it never served",
			[]string{"REL-PAY-04"},
			reveals(otherHeader("block_hash"))},
		{"relay-reveals-to-any-proposer-index", "relay", "reveals to any proposer_index", []string{"REL-PAY-13"},
			reveals(func(e *Exchange, block, bid map[string]any) bool {
				return len(differing(block, bid)) == 0 && block["proposer_index"] != e.duty(block["slot"])
			})},
		{"relay-reveals-whatever-commitments-signed", "relay", "reveals whatever commitments are signed",
			[]string{"REL-PAY-15"},
			reveals(func(_ *Exchange, block, bid map[string]any) bool {
				return !same(at(block, "body")["blob_kzg_commitments"], bid["blob_kzg_commitments"])
			})},
		{"relay-answers-200-to-what-is-no-blinded-block", "relay", "answers 200 to what is no blinded block",
			[]string{"REL-PAY-10"},
			pardons(payloadPath, func(e *Exchange) bool { return at(e.asked(), "message")["slot"] == nil })},
		{"relay-refuses-json-without-eth-consensus-version", "relay", "refuses JSON without Eth-Consensus-Version",
			[]string{"REL-PAY-22"},
			asks(payloadPath, func(e *Exchange) bool {
				return e.hasMedia(jsonType) && e.Request.Header.Get("Eth-Consensus-Version") == "" &&
					e.say(http.StatusBadRequest, jsonType, `{"code":400,"message":"Eth-Consensus-Version is missing"}`)
			})},
		{"relay-refuses-blinded-blocks-without-content-type", "relay", "refuses blinded blocks without Content-Type",
			[]string{"REL-PAY-23"},
			asks(payloadPath, func(e *Exchange) bool {
				return e.hasMedia("") && e.Request.Header.Get("Content-Type") == "" &&
					e.say(http.StatusUnsupportedMediaType, jsonType, `{"code":415,"message":"no Content-Type"}`)
			})},
		{"relay-v2-accepts-what-no-beacon-node-takes", "relay", "v2 accepts what no beacon node takes",
			[]string{"REL-PAY-19"}, answers(payloadV2,
				func(e *Exchange) {
					if e.Status >= 400 && e.Status != http.StatusNotFound {
						e.say(http.StatusAccepted, "", "")
					}
				})},
		{"relay-takes-blinded-blocks-of-any-content-type", "relay", "takes blinded blocks of any content type",
			[]string{"REL-PAY-09"},
			pardons(payloadPath, func(e *Exchange) bool { return !e.hasMedia(octets) && !e.hasMedia(jsonType) })},
	}
	for _, name := range []string{"extra_data", "logs_bloom", "gas_used", "transactions_root"} {
		list = append(list, Mutant{"relay-reveals-for-header-with-another-" + strings.ReplaceAll(name, "_", "-"), "relay",
			"reveals for a header with another " + name,
			[]string{"REL-PAY-14"}, reveals(otherHeader(name))})
	}
	return list
}
