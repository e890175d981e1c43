package data_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/gavel-relay/gavel/relay"
)

// Y10: of slot 7, blocks 5 (refused) and 6 (below the floor) are never listed.
func TestReceived(t *testing.T) {
	block2, block5, block6 := hash(2), hash(5), hash(6)
	lists(t, received, []struct{ row, query, want string }{
		{"Y10", "slot=7", "4 3"},
		{"Y10", "block_hash=" + block5.String(), ""},
		{"Y10", "block_hash=" + block6.String(), ""},
		{"Y2", "block_hash=" + block2.String(), "2"},
		{"Y2", "block_hash=" + upper(block2[:]), "2"},
		{"Y2", "block_number=105", "1"},
		{"Y2", "builder_pubkey=" + builderA.String(), "4 2 1"},
		{"Y2", "builder_pubkey=" + upper(builderB[:]), "3"},
		{"Y2", "slot=7&builder_pubkey=" + builderB.String(), "3"},
		{"Y4", "slot=7&limit=0", ""},
		{"Y6", "slot=7&limit=1", "4"}, // deployed relays ignore the limit here
		{"Y6", "block_number=107&limit=1", "4"},
		{"Y6", "block_hash=" + block2.String() + "&limit=0", ""},
		{"Y7", "builder_pubkey=" + builderA.String() + "&limit=2", "4 2"},
		{"Y1", "slot=7&cursor=", "4 3"},
		{"Y10", "slot=4", ""},
		{"Y3", "slot=0", ""}, // a slot like others
	})
}

func TestReceivedRefuses(t *testing.T) {
	const wantNumber = "want a decimal number"
	const missing = "missing argument: need to query for specific slot or block_hash or block_number or builder_pubkey"
	refuses(t, received, []struct{ row, query, want string }{
		{"Y1", "cursor=7", "invalid argument: cursor argument not supported"},
		{"Y1", "cursor=7&slot=x&limit=x", "invalid argument: cursor argument not supported"},
		{"Y2", "slot=x", `invalid argument: slot is "x": ` + wantNumber},
		{"Y2", "block_hash=0x", "invalid argument: block_hash: want 0x and 64 hexadecimal digits"},
		{"Y2", "block_number=x", `invalid argument: block_number is "x": ` + wantNumber},
		{"Y2", "builder_pubkey=x", "invalid argument: builder_pubkey: want 0x and 96 hexadecimal digits"},
		{"Y3", "", missing},
		{"Y3", "limit=x", missing},
		{"Y3", "slot=&builder_pubkey=", missing},
		{"Y3", "proposer_pubkey=" + proposerA.String(), missing},
		{"Y4", "slot=7&limit=x", `invalid argument: limit is "x": ` + wantNumber},
		{"Y5", "slot=7&limit=501", "limit is too high: maximum limit is 500"},
		{"Y8", "slot=-1", `invalid argument: slot is "-1": ` + wantNumber}, // deployed relays list everything
		{"Y8", "block_number=-1", `invalid argument: block_number is "-1": ` + wantNumber},
		{"Y9", "limit=-1&builder_pubkey=" + builderA.String(), `invalid argument: limit is "-1": ` + wantNumber}, // deployed relays: 500
	})
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
