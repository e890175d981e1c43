package mutant

import (
	"net/http"
	"strconv"
	"strings"
)

const sidecarStatusPath = "/eth/v1/builder/status"

// sidecarMutants returns the mutants that are put between the beacon node and a sidecar. What a
// sidecar does wrong towards relays is inside it (package overlay).
func sidecarMutants() []Mutant {
	return []Mutant{
		{"sidecar-status-is-503", "sidecar", "the status is 503", []string{"SID-STA-01", "SID-STA-02"},
			status(sidecarStatusPath, 200, 200, http.StatusServiceUnavailable)},
		{"sidecar-status-is-200-whatever-relays-say", "sidecar", "the status is 200, whatever relays say",
			[]string{"SID-STA-03"},
			status(sidecarStatusPath, 400, 599, http.StatusOK)},
		{"sidecar-no-bid-is-404", "sidecar", "no bid is 404", []string{"SID-HDR-03"}, status(headerPath, 204, 204,
			http.StatusNotFound)},
		{"sidecar-unreadable-header-request-answered-with-204", "sidecar",
			"a request for a header that cannot be read is answered with 204", []string{"SID-HDR-07"},
			status(headerPath, 400, 404, http.StatusNoContent)},
		{"sidecar-bids-have-no-version", "sidecar", "bids have no version", []string{"SID-HDR-29"}, document(headerPath,
			func(d any) any {
				delete(object(d), "version")
				return d
			})},
		{"sidecar-ssz-is-answer-to-who-names-no-encoding", "sidecar", "SSZ is the answer to who names no encoding",
			[]string{"SID-HDR-30"},
			asks(headerPath, func(e *Exchange) bool {
				if e.Request.Header.Get("Accept") == "" {
					e.Request.Header.Set("Accept", "application/octet-stream")
				}
				return false
			})},
		{"sidecar-ssz-has-no-name-of-its-fork", "sidecar", "SSZ has no name of its fork", []string{"SID-HDR-31"},
			answers(headerPath, func(e *Exchange) {
				e.Header.Del("Eth-Consensus-Version")
			})},
		{"sidecar-order-of-encodings-counts-and-not-what-preferred", "sidecar",
			"the order of encodings counts, and not what is preferred", []string{"SID-HDR-32"},
			asks(headerPath, func(e *Exchange) bool {
				first, _, _ := strings.Cut(e.Request.Header.Get("Accept"), ",")
				e.Request.Header.Set("Accept", first)
				return false
			})},
		{"sidecar-bids-have-another-signature", "sidecar", "bids have another signature", []string{"SID-HDR-05"},
			document(headerPath, func(d any) any {
				if data := at(d, "data"); data != nil {
					data["signature"] = flip(data["signature"])
				}
				return d
			})},
		{"sidecar-unwanted-registrations-answered-with-200", "sidecar",
			"registrations that no relay takes are answered with 200", []string{"SID-REG-06"},
			status("/eth/v1/builder/validators", 400, 599, http.StatusOK)},
		{"sidecar-202-has-body", "sidecar", "202 has a body", []string{"SID-PAY-01"},
			answers("/eth/v2/builder/blinded_blocks",
				func(e *Exchange) {
					if e.Status == http.StatusAccepted {
						e.say(http.StatusAccepted, jsonType, "{}")
					}
				})},
		{"sidecar-refusals-of-blocks-have-no-code", "sidecar", "refusals of blocks have no code", []string{"SID-PAY-09"},
			answers("/eth/v2/builder/blinded_blocks", func(e *Exchange) {
				if e.Status >= 400 {
					e.edit(func(d any) any {
						delete(object(d), "code")
						return d
					})
				}
			})},
		{"sidecar-blocks-that-cannot-be-read-answered-with-502", "sidecar",
			"blocks that cannot be read are answered with 502", []string{"SID-PAY-15"},
			answers("/eth/v2/builder/blinded_blocks", func(e *Exchange) {
				if e.Status == http.StatusBadRequest {
					e.say(http.StatusBadGateway, jsonType, `{"code":502,"message":"bad gateway"}`)
				}
			})},
		{"sidecar-payload-has-more-gas", "sidecar", "a payload has more gas", []string{"SID-PAY-11"},
			document("/eth/v1/builder/blinded_blocks",
				func(d any) any {
					payload := at(d, "data", "execution_payload")
					if payload == nil { // before deneb it stands alone
						payload = at(d, "data")
					}
					if used, err := strconv.ParseUint(text(payload["gas_used"]), 10, 64); err == nil {
						payload["gas_used"] = strconv.FormatUint(used+1, 10)
					}
					return d
				})},
		{"sidecar-payload-that-no-relay-reveals-is-empty-object", "sidecar",
			"a payload that no relay reveals is an empty object", []string{"SID-PAY-13"},
			answers("/eth/v1/builder/blinded_blocks", func(e *Exchange) {
				if e.Status >= 400 {
					e.say(http.StatusOK, jsonType, "{}")
				}
			})},
	}
}

// text returns the value as text; empty if it is none.
func text(value any) string {
	t, _ := value.(string)
	return t
}
