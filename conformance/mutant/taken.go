package mutant

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/gavel-relay/gavel/conformance/world"
)

// accepted has the submissions in JSON that a relay has accepted so far: the first one of each
// slot.
type accepted struct {
	first  map[string]map[string]any
	newest uint64
}

// takes is a fault that answers 200 to blocks that the relay refuses, if they are wrong in one way.
// First is the first block that was accepted in the same slot; nil if there is none.
func takes(wrong func(s, first map[string]any, newest uint64) bool) func() Fault {
	return func() Fault {
		known := accepted{first: map[string]map[string]any{}}
		return Fault{Answer: func(e *Exchange) {
			s := e.asked()
			if !e.on(submitPath) || s == nil {
				return
			}
			slot, _ := at(s, "message")["slot"].(string)
			switch number, err := strconv.ParseUint(slot, 10, 64); {
			case e.Status < 300 && err == nil:
				if known.newest = max(known.newest, number); known.first[slot] == nil {
					known.first[slot] = s
				}
			case e.Status == http.StatusBadRequest && wrong(s, known.first[slot], known.newest):
				e.say(http.StatusOK, jsonType, "")
			}
		}}
	}
}

// partsDisagree says that message and payload of a submission have different values of a member.
func partsDisagree(member string) func(s, first map[string]any, newest uint64) bool {
	return func(s, _ map[string]any, _ uint64) bool {
		message, payload := at(s, "message"), at(s, "execution_payload")
		return message != nil && payload != nil && !same(message[member], payload[member])
	}
}

// differsFromFirst says that a part of a submission has another value of a member than the slot's
// first accepted one, and that the block hash is not the first one's.
func differsFromFirst(part, member string) func(s, first map[string]any, newest uint64) bool {
	return func(s, first map[string]any, _ uint64) bool {
		return first != nil && !same(at(s, part)[member], at(first, part)[member]) &&
			!partsDisagree("parent_hash")(s, first, 0)
	}
}

// isDecimal says whether a value is a text of at most 256 bits in decimal digits.
func isDecimal(value any) bool {
	text, is := value.(string)
	return is && text != "" && len(text) < 78 && strings.Trim(text, "0123456789") == ""
}

// takenMutants returns the mutants that accept blocks of one kind that must be refused. None of
// them serves such a block.
func takenMutants() []Mutant {
	return []Mutant{
		{"relay-takes-another-block-hash-in-message", "relay", "takes another block_hash in the message",
			[]string{"REL-SUB-05"}, takes(partsDisagree("block_hash"))},
		{"relay-takes-another-parent-hash-in-message", "relay", "takes another parent_hash in the message",
			[]string{"REL-SUB-06"}, takes(partsDisagree("parent_hash"))},
		{"relay-takes-another-gas-limit-in-message", "relay", "takes another gas_limit in the message",
			[]string{"REL-SUB-07"}, takes(partsDisagree("gas_limit"))},
		{"relay-takes-another-gas-used-in-message", "relay", "takes another gas_used in the message",
			[]string{"REL-SUB-08"}, takes(partsDisagree("gas_used"))},
		{"relay-takes-any-fee-recipient", "relay", "takes any fee recipient", []string{"REL-SUB-09"},
			takes(differsFromFirst("message", "proposer_fee_recipient"))},
		{"relay-takes-any-proposer", "relay", "takes any proposer", []string{"REL-SUB-10"}, takes(differsFromFirst("message",
			"proposer_pubkey"))},
		{"relay-takes-slots-that-are-over", "relay", "takes slots that are over", []string{"REL-SUB-11"},
			takes(func(s, _ map[string]any, newest uint64) bool {
				slot, _ := at(s, "message")["slot"].(string)
				number, err := strconv.ParseUint(slot, 10, 64)
				return err == nil && number < newest
			})},
		{"relay-takes-blocks-for-proposer-that-never-registered", "relay",
			"takes blocks for a proposer that never registered", []string{"REL-SUB-12"},
			takes(func(s, _ map[string]any, _ uint64) bool {
				return same(at(s, "message")["proposer_pubkey"], world.StrangerKey().String())
			})},
		{"relay-takes-any-timestamp", "relay", "takes any timestamp", []string{"REL-SUB-13"},
			takes(differsFromFirst("execution_payload", "timestamp"))},
		{"relay-takes-any-prev-randao", "relay", "takes any prev_randao", []string{"REL-SUB-14"},
			takes(differsFromFirst("execution_payload", "prev_randao"))},
		{"relay-takes-any-withdrawals", "relay", "takes any withdrawals", []string{"REL-SUB-15"},
			takes(differsFromFirst("execution_payload", "withdrawals"))},
		{"relay-takes-any-parent", "relay", "takes any parent", []string{"REL-SUB-30"},
			takes(differsFromFirst("execution_payload", "parent_hash"))},
		{"relay-takes-commitments-and-proofs-without-blobs", "relay", "takes commitments and proofs without blobs",
			[]string{"REL-SUB-28"},
			takes(func(s, _ map[string]any, _ uint64) bool {
				bundle := at(s, "blobs_bundle")
				blobs, _ := bundle["blobs"].([]any)
				commitments, _ := bundle["commitments"].([]any)
				proofs, _ := bundle["proofs"].([]any)
				return len(commitments) != len(blobs) || len(blobs) == 0 && len(proofs) > 0
			})},
		{"relay-takes-values-that-are-no-decimal-numbers", "relay", "takes values that are no decimal numbers",
			[]string{"REL-SUB-34"},
			takes(func(s, _ map[string]any, _ uint64) bool { return !isDecimal(at(s, "message")["value"]) })},
		{"relay-takes-any-content-type", "relay", "takes any content type", []string{"REL-SUB-24"}, pardons(submitPath,
			func(e *Exchange) bool {
				return !e.hasMedia(octets) && !e.hasMedia(jsonType)
			})},
		{"relay-takes-json-that-is-no-submission", "relay", "takes JSON that is no submission", []string{"REL-SUB-25"},
			pardons(submitPath, func(e *Exchange) bool {
				return e.hasMedia(jsonType) && e.askedJSON() != nil && at(e.asked(), "message")["slot"] == nil
			})},
		{"relay-takes-empty-bodies", "relay", "takes empty bodies", []string{"REL-SUB-26"}, pardons(submitPath,
			func(e *Exchange) bool {
				return len(e.Asked) == 0
			})},
		{"relay-takes-bodies-that-unpack-to-hundreds-of-megabytes", "relay",
			"takes bodies that unpack to hundreds of megabytes", []string{"REL-SUB-27"},
			pardons(submitPath, func(e *Exchange) bool {
				return e.Request.Header.Get("Content-Encoding") != "" && len(e.Asked) > 100_000
			})},
		{"relay-takes-ssz-that-is-shorter-than-any-submission", "relay", "takes SSZ that is shorter than any submission",
			[]string{"REL-SUB-36"},
			pardons(submitPath, func(e *Exchange) bool { return e.hasMedia(octets) && len(e.Asked) < 344 })},
		{"relay-takes-ssz-with-byte-more", "relay", "takes SSZ with a byte more", []string{"REL-SUB-42"},
			pardons(submitPath, func(e *Exchange) bool { return e.hasMedia(octets) && len(e.Asked) > 344 })},
		{"relay-answers-200-to-blocks-in-json-and-forgets-them", "relay", "answers 200 to blocks in JSON, and forgets them",
			[]string{"REL-SUB-01"},
			asks(submitPath, func(e *Exchange) bool {
				return e.hasMedia(jsonType) && e.Request.Header.Get("Content-Encoding") == "" && e.say(http.StatusOK, "", "")
			})},
	}
}

const octets = "application/octet-stream"
