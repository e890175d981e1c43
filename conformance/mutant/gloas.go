package mutant

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	payloadBidPath = "/eth/v1/builder/execution_payload_bid/"
	capPath        = "/eth/v1/builder/builder_preferences/"
	signedBlocks   = "/eth/v1/builder/beacon_blocks"
)

// payloadBid is a fault that changes the message of bids of gloas in JSON.
func payloadBid(change func(message map[string]any)) func() Fault {
	return document(payloadBidPath, func(d any) any {
		if message := at(d, "data", "message"); message != nil {
			change(message)
		}
		return d
	})
}

// addTo adds to a number that is text.
func addTo(text any, more int64) string {
	n, _ := strconv.ParseInt(fmt.Sprint(text), 10, 64)
	return strconv.FormatInt(n+more, 10)
}

// bidsAnyway is a fault that answers refused requests for a bid with the last bid, if they are
// wrong in one way.
func bidsAnyway(wrong func(e *Exchange) bool) func() Fault {
	return func() Fault {
		var last []byte
		return Fault{Answer: func(e *Exchange) {
			switch {
			case !e.on(payloadBidPath):
			case e.Status == http.StatusOK:
				last = e.Body
			case last != nil && e.Status >= 400 && wrong(e):
				e.say(http.StatusOK, jsonType, string(last))
				e.Header.Set("Eth-Consensus-Version", "gloas")
			}
		}}
	}
}

// gloasMutants returns the mutants of what a relay serves from gloas on.
func gloasMutants() []Mutant {
	return slices.Concat(payloadBidMutants(), bidRequestMutants(), capMutants(), signedBlockMutants(),
		gloasForkMutants())
}

// payloadBidMutants returns mutants of what is in a bid.
func payloadBidMutants() []Mutant {
	flips := func(member string) func() Fault {
		return payloadBid(func(m map[string]any) { m[member] = flip(m[member]) })
	}
	return []Mutant{
		{"relay-payload-bids-name-fork-before", "relay", "bids of gloas name the fork before", []string{"GLO-BID-01"},
			document(payloadBidPath, func(d any) any {
				object(d)["version"] = "fulu"
				return d
			})},
		{"relay-payload-bids-are-signed-for-another-message", "relay", "bids have the signature of another message",
			[]string{"GLO-BID-02"}, payloadBid(func(m map[string]any) {
				m["value"] = addTo(m["value"], 1)
				m["execution_payment"] = addTo(m["execution_payment"], -1)
			})},
		{"relay-payload-bids-on-another-root", "relay", "bids name another parent root", []string{"GLO-BID-03"},
			flips("parent_block_root")},
		{"relay-payload-bids-of-another-randao", "relay", "bids have another RANDAO mix", []string{"GLO-BID-04"},
			flips("prev_randao")},
		{"relay-payload-bids-pay-another-recipient", "relay", "bids name another fee recipient", []string{"GLO-BID-05"},
			flips("fee_recipient")},
		{"relay-payload-bids-of-another-gas-limit", "relay", "bids have a gas limit that is higher by one",
			[]string{"GLO-BID-06"}, payloadBid(func(m map[string]any) { m["gas_limit"] = addTo(m["gas_limit"], 1) })},
		{"relay-payload-bids-round-up", "relay", "bids promise a gwei more than the block pays", []string{"GLO-BID-08"},
			payloadBid(func(m map[string]any) { m["execution_payment"] = addTo(m["execution_payment"], 1) })},
		{"relay-payload-bids-reverse-commitments", "relay", "bids have the commitments in another order",
			[]string{"GLO-BID-09"}, payloadBid(func(m map[string]any) {
				list, _ := m["blob_kzg_commitments"].([]any)
				slices.Reverse(list)
			})},
		{"relay-no-payload-bid-is-200-with-null", "relay", "no bid of gloas is 200 with null", []string{"GLO-BID-10"},
			answers(payloadBidPath, func(e *Exchange) {
				if e.Status == http.StatusNoContent {
					e.say(http.StatusOK, jsonType, "null")
				}
			})},
		{"relay-in-gloas-has-no-status", "relay", "the status is 503 from gloas on", []string{"GLO-STA-01"},
			status("/eth/v1/builder/status", 200, 299, http.StatusServiceUnavailable)},
	}
}

// bidRequestMutants returns mutants that take requests for a bid which are wrong in one way.
func bidRequestMutants() []Mutant {
	message := func(e *Exchange) map[string]any { return at(e.asked(), "message") }
	pathSlot := func(e *Exchange) string {
		slot, _, _ := strings.Cut(strings.TrimPrefix(e.Request.URL.Path, payloadBidPath), "/")
		return slot
	}
	return []Mutant{
		{"relay-payload-bids-whatever-the-version", "relay", "a request for a bid need not name its fork",
			[]string{"GLO-BID-11"}, asks(payloadBidPath, func(e *Exchange) bool {
				e.Request.Header.Set("Eth-Consensus-Version", "gloas")
				return false
			})},
		{"relay-payload-bids-for-auth-of-another-slot", "relay", "an auth of another slot gets a bid",
			[]string{"GLO-BID-14"}, bidsAnyway(func(e *Exchange) bool {
				return message(e) != nil && !same(message(e)["slot"], pathSlot(e))
			})},
		{"relay-payload-bids-for-any-signature", "relay", "an auth of any signature gets a bid", []string{"GLO-BID-15"},
			bidsAnyway(func(e *Exchange) bool { return e.Status == http.StatusUnauthorized })},
		{"relay-payload-bids-come-late-when-asked-again", "relay", "a bid that is asked for again comes too late",
			[]string{"GLO-BID-16"}, bidsLateAgain},
	}
}

// bidsLateAgain holds up the second bid for a proposer and the later ones. The suite says that it
// waits for a second; it asks once before to see that there is a bid.
func bidsLateAgain() Fault {
	asked := map[string]bool{}
	return Fault{Answer: func(e *Exchange) {
		if !e.on(payloadBidPath) || e.Status != http.StatusOK {
			return
		}
		if asked[e.Request.URL.Path] {
			time.Sleep(1200 * time.Millisecond)
		}
		asked[e.Request.URL.Path] = true
	}}
}

// capMutants returns mutants of what proposers count of a payment, and of submissions.
func capMutants() []Mutant {
	taken := func(is func(e *Exchange) bool) func() Fault {
		return answers(capPath, func(e *Exchange) {
			if e.Status >= 400 && is(e) {
				e.say(http.StatusAccepted, "", "")
			}
		})
	}
	// ignores answers 202 to some words of proposers, and forgets them.
	ignores := func(of func(most string) bool) func() Fault {
		return asks(capPath, func(e *Exchange) bool {
			most, _ := at(e.asked(), "preferences")["max_execution_payment"].(string)
			return of(most) && e.say(http.StatusAccepted, "", "")
		})
	}
	return []Mutant{
		{"relay-promises-above-the-cap", "relay", "ignores what a proposer counts of a payment", []string{"GLO-BID-07"},
			ignores(func(most string) bool { return most != "0" })},
		{"relay-takes-cap-of-zero-for-none", "relay", "ignores that a proposer counts no payment",
			[]string{"GLO-PRF-03"}, ignores(func(most string) bool { return most == "0" })},
		{"relay-keeps-the-first-cap", "relay", "keeps the first word of a proposer on payments", []string{"GLO-PRF-01"},
			func() Fault {
				known := map[string]bool{}
				return Fault{Ask: func(e *Exchange) bool {
					if !e.on(capPath) || e.asked() == nil {
						return false
					}
					slot := fmt.Sprint(at(e.asked(), "auth", "message")["slot"])
					again := known[slot]
					known[slot] = true
					return again && e.say(http.StatusAccepted, "", "")
				}}
			}},
		{"relay-takes-caps-of-any-signature", "relay", "answers 202 to preferences that somebody else has signed",
			[]string{"GLO-PRF-02"}, taken(func(e *Exchange) bool { return e.Status == http.StatusUnauthorized })},
		{"relay-takes-any-access-list", "relay", "answers 200 to a block whose access list is not that of its execution",
			[]string{"GLO-SUB-03"}, pardons(submitPath, func(e *Exchange) bool {
				return bytes.Contains(bytes.ToLower(e.Body), []byte("access list"))
			})},
		{"relay-in-gloas-takes-any-builders-signature", "relay", "answers 200 to a block that its builder has not signed",
			[]string{"GLO-SUB-05"}, pardons(submitPath, func(e *Exchange) bool {
				return bytes.Contains(bytes.ToLower(e.Body), []byte("signature"))
			})},
	}
}

// signedBlockMutants returns mutants of how signed blocks are taken.
func signedBlockMutants() []Mutant {
	return []Mutant{
		{"relay-forgets-signed-blocks", "relay", "answers 202 to a signed block, and does nothing", []string{"GLO-BLK-01"},
			asks(signedBlocks, func(e *Exchange) bool {
				return e.hasMedia("application/octet-stream") && e.say(http.StatusAccepted, "", "")
			})},
		{"relay-forgets-signed-blocks-in-json", "relay", "answers 202 to a signed block in JSON, and does nothing",
			[]string{"GLO-BLK-01"}, asks(signedBlocks, func(e *Exchange) bool {
				return e.hasMedia(jsonType) && e.say(http.StatusAccepted, "", "")
			})},
		{"relay-refuses-blocks-it-has-taken", "relay", "answers 400 to a signed block that it has taken before",
			[]string{"GLO-BLK-04"}, func() Fault {
				taken := map[string]bool{}
				return Fault{Answer: func(e *Exchange) {
					if !e.on(signedBlocks) || e.Status != http.StatusAccepted {
						return
					}
					if taken[string(e.Asked)] {
						e.say(http.StatusBadRequest, jsonType, `{"code":400,"message":"this block is known"}`)
					}
					taken[string(e.Asked)] = true
				}}
			}},
		{"relay-takes-signed-blocks-without-a-version", "relay", "a signed block need not name its fork",
			[]string{"GLO-BLK-09"}, asks(signedBlocks, func(e *Exchange) bool {
				if e.Request.Header.Get("Eth-Consensus-Version") == "" {
					e.Request.Header.Set("Eth-Consensus-Version", "gloas")
				}
				return false
			})},
	}
}

// gloasForkMutants returns mutants of relays before the first slot of gloas.
func gloasForkMutants() []Mutant {
	return []Mutant{
		{"relay-serves-nothing-before-gloas", "relay", "has no headers any more once it knows gloas",
			[]string{"GLO-FRK-01"}, status("/eth/v1/builder/header/", 200, 200, http.StatusNoContent)},
		{"relay-has-no-payload-bids-before-gloas", "relay", "answers 204 to a request for a bid before gloas",
			[]string{"GLO-FRK-02"}, status(payloadBidPath, 400, 400, http.StatusNoContent)},
	}
}
