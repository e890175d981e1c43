package api_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/relay"
)

// What deployed relays answer, and where this one decides otherwise.
func TestDelivered(t *testing.T) {
	block2 := hash(2)
	const number, digits64, digits96 = "want a decimal number below 2^63, without leading zeros",
		"want 0x and 64 hexadecimal digits", "want 0x and 96 hexadecimal digits"
	const noKey = "no point of the group that public keys are in"
	check(t, delivered, []row{
		{"", "", "4 3 2 1"},
		{"", "slot=7&cursor=", "4 3"}, // empty is not given
		{"", "limit=0", ""},
		{"", "slot=&block_hash=&limit=&order_by=&unknown=1", "4 3 2 1"},
		{"", "cursor=6", "2 1"},
		{"", "cursor=6&limit=1", "2"},
		{"", "order_by=value", "3 2 1 4"},
		{"", "order_by=-value", "4 1 2 3"},
		{"", "order_by=-value&limit=2", "4 1"},
		{"", "slot=5", "1"},
		{"", "slot=4", ""},
		{"", "slot=0", ""}, // deployed relays list everything
		{"", "block_number=106", "2"},
		{"", "block_number=0", ""},
		{"", "block_hash=" + block2.String(), "2"},
		{"", "proposer_pubkey=" + proposerB.String(), "3"},
		{"", "builder_pubkey=" + builderB.String(), "3"},
		{"", "slot=7&builder_pubkey=" + builderA.String(), "4"},
		{"", "block_hash=" + upper(block2[:]), "2"},
		{"", "builder_pubkey=" + upper(builderB[:]) + "&proposer_pubkey=" + upper(proposerB[:]), "3"},
		{"", "limit=200", "4 3 2 1"},
		{"", "cursor=9223372036854775807", "4 3 2 1"},

		{"REL-DAT-09", "slot=1&cursor=2", "400 arguments exclude each other: cannot specify both slot and cursor"},
		{"REL-DAT-09", "slot=x&cursor=y&limit=z", "400 arguments exclude each other: cannot specify both slot and cursor"},
		{"REL-DAT-10", "slot=x", `400 invalid argument: slot is "x": ` + number},
		{"REL-DAT-10", "slot=-1", `400 invalid argument: slot is "-1": ` + number},
		{"REL-DAT-10", "slot=0x5", `400 invalid argument: slot is "0x5": ` + number},
		{"REL-DAT-10", "slot=9223372036854775808", `400 invalid argument: slot is "9223372036854775808": ` + number},
		{"REL-DAT-10", "cursor=1.5", `400 invalid argument: cursor is "1.5": ` + number},
		{"REL-DAT-10", "block_hash=0x12", "400 invalid argument: block_hash: " + digits64},
		{"REL-DAT-10", "block_hash=" + strings.Repeat("a", 64), "400 invalid argument: block_hash: " + digits64},
		{"REL-DAT-10", "block_hash=0x" + strings.Repeat("g", 64), "400 invalid argument: block_hash: " + digits64},
		{"REL-DAT-10", "block_number=-1", `400 invalid argument: block_number is "-1": ` + number},
		{"REL-DAT-10", "proposer_pubkey=0x12", "400 invalid argument: proposer_pubkey: " + digits96},
		{"REL-DAT-10", "builder_pubkey=0x12", "400 invalid argument: builder_pubkey: " + digits96},
		{"REL-DAT-10", "limit=x", `400 invalid argument: limit is "x": ` + number},
		{"REL-DAT-10", "limit=-1", `400 invalid argument: limit is "-1": ` + number},
		{"REL-DAT-12", "limit=9223372036854775807", "400 limit is too high: maximum limit is 200"},
		{"", "slot=9223372036854775807", ""},
		{"REL-DAT-12", "limit=201", "400 limit is too high: maximum limit is 200"},
		{"REL-DAT-22", "order_by=%2Bvalue", `400 invalid argument: order_by is "+value": want value or -value`},
		// deployed relays ignore it
		{"REL-DAT-22", "order_by=slot", `400 invalid argument: order_by is "slot": want value or -value`},
		{"REL-DAT-10", "limit=x&builder_pubkey=x&proposer_pubkey=x&block_number=x&block_hash=x",
			"400 invalid argument: block_hash: " + digits64},
		{"REL-DAT-10", "limit=x&builder_pubkey=x&proposer_pubkey=x&block_number=x",
			`400 invalid argument: block_number is "x": ` + number},
		{"REL-DAT-10", "limit=x&builder_pubkey=x&proposer_pubkey=x", "400 invalid argument: proposer_pubkey: " +
			digits96},
		{"REL-DAT-10", "limit=x&builder_pubkey=x", "400 invalid argument: builder_pubkey: " + digits96},
		{"REL-DAT-10", "slot=%zz", "400 invalid argument: the query cannot be read"},
		{"", "builder_pubkey=" + noPoint.String(), "400 invalid argument: builder_pubkey: " + noKey},
		{"", "proposer_pubkey=" + infinity.String(), "400 invalid argument: proposer_pubkey: " + noKey},
		{"", "", "500 internal error"}, // deployed relays answer with the text of the driver
	}, "REL-DAT-10", "REL-DAT-09", "REL-DAT-12", "REL-DAT-22")
}

// The greatest number of rows is also what comes without a limit.
func TestDeliveredHasAGreatestLength(t *testing.T) {
	var facts []relay.Fact
	for slot := range phase0.Slot(250) {
		facts = append(facts, relay.PayloadDelivered{At: day, Trace: trace(slot, 1, "1")})
	}
	handler := serving(t, facts...)
	for query, want := range map[string]int{"": 200, "limit=200": 200, "limit=199": 199, "cursor=9": 10} {
		answer := get(t, handler, delivered+"?"+query)
		if got := strings.Count(answer.Body.String(), `"slot"`); answer.Code != http.StatusOK || got != want {
			t.Errorf("%q: %d, %d rows, want %d", query, answer.Code, got, want)
		}
	}
}

// An analyst reads the whole list page by page, each from below the last slot of the one
// before.
func TestDeliveredIsPagedWithTheCursor(t *testing.T) {
	handler := serving(t, story()...)
	var pages []string
	for _, cursor := range []int{7, 6, 5, 4} {
		pages = append(pages, names(t, get(t, handler, fmt.Sprintf("%s?cursor=%d&limit=2", delivered, cursor))))
	}
	if got := strings.Join(pages, " | "); got != "4 3 | 2 1 | 1 | " {
		t.Errorf("pages %q", got)
	}
}
