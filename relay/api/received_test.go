package api_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/gavel-relay/gavel/relay"
)

// Of slot 7, blocks 5 (refused) and 6 (below the floor) are never listed.
func TestReceived(t *testing.T) {
	block2, block5, block6 := hash(2), hash(5), hash(6)
	const number, digits64, digits96 = "want a decimal number below 2^63, without leading zeros",
		"want 0x and 64 hexadecimal digits", "want 0x and 96 hexadecimal digits"
	const missing = "400 missing argument: need to query for specific slot or block_hash or block_number or builder_pubkey"
	check(t, received, []row{
		{"", "slot=7", "4 3"},
		{"", "block_hash=" + block5.String(), ""},
		{"", "block_hash=" + block6.String(), ""},
		{"", "block_hash=" + block2.String(), "2"},
		{"", "block_hash=" + upper(block2[:]), "2"},
		{"", "block_number=105", "1"},
		{"", "builder_pubkey=" + builderA.String(), "4 2 1"},
		{"", "builder_pubkey=" + upper(builderB[:]), "3"},
		{"", "slot=7&builder_pubkey=" + builderB.String(), "3"},
		{"", "slot=7&limit=0", ""},
		{"", "slot=7&limit=1", "4"}, // deployed relays ignore the limit here
		{"", "block_number=107&limit=1", "4"},
		{"", "block_hash=" + block2.String() + "&limit=0", ""},
		{"", "builder_pubkey=" + builderA.String() + "&limit=2", "4 2"},
		{"", "slot=7&cursor=", "4 3"},
		{"", "slot=4", ""},
		{"", "slot=0", ""}, // a slot like others

		{"", "cursor=7", "400 invalid argument: cursor argument not supported"},
		{"", "cursor=7&slot=x&limit=x", "400 invalid argument: cursor argument not supported"},
		{"REL-DAT-10", "slot=x", `400 invalid argument: slot is "x": ` + number},
		{"REL-DAT-10", "block_hash=0x", "400 invalid argument: block_hash: " + digits64},
		{"REL-DAT-10", "block_number=x", `400 invalid argument: block_number is "x": ` + number},
		{"REL-DAT-10", "builder_pubkey=x", "400 invalid argument: builder_pubkey: " + digits96},
		{"REL-DAT-16", "", missing},
		{"REL-DAT-16", "limit=x", missing},
		{"REL-DAT-16", "slot=&builder_pubkey=", missing},
		{"REL-DAT-16", "proposer_pubkey=" + proposerA.String(), missing},
		{"REL-DAT-10", "slot=7&limit=x", `400 invalid argument: limit is "x": ` + number},
		{"REL-DAT-12", "slot=7&limit=501", "400 limit is too high: maximum limit is 500"},
		{"REL-DAT-10", "slot=-1", `400 invalid argument: slot is "-1": ` + number}, // deployed relays list everything
		{"REL-DAT-10", "block_number=-1", `400 invalid argument: block_number is "-1": ` + number},
		// deployed relays: 500
		{"REL-DAT-10", "limit=-1&builder_pubkey=" + builderA.String(), `400 invalid argument: limit is "-1": ` + number},
		{"", "builder_pubkey=" + noPoint.String(),
			"400 invalid argument: builder_pubkey: no point of the group that public keys are in"},
		{"", "slot=7", "500 internal error"}, // whatever breaks behind the API is nothing for the public
	}, "REL-DAT-10", "REL-DAT-16", "REL-DAT-12")
}

func TestReceivedHasAGreatestLength(t *testing.T) {
	var facts []relay.Fact
	for range 600 {
		facts = append(facts, relay.SubmissionJudged{Trace: trace(7, 1, "1"), ReceivedAt: day, Verified: true})
	}
	handler := serving(t, facts...)
	for query, want := range map[string]int{"slot=7": 500, "slot=7&limit=500": 500, "block_number=107&limit=499": 499} {
		answer := get(t, handler, received+"?"+query)
		if got := strings.Count(answer.Body.String(), `"slot"`); answer.Code != http.StatusOK || got != want {
			t.Errorf("%q: %d, %d rows, want %d", query, answer.Code, got, want)
		}
	}
}
