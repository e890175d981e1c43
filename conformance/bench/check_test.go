package bench

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/holiman/uint256"
)

// The auctions are told in lines, with times in milliseconds:
//
//	bid BUILDER VALUE SENT-DONE [refused] [cancels]   a submission; without DONE it has no answer. Its block has its value as name
//	header CLIENT VALUE SENT-DONE                     an answer with the block of this name; - is none; pays=VALUE says another value
//	payload VALUE SENT-DONE [REASON]                  a delivery; with a reason it is lost
func tell(t *testing.T, story string) *Auction {
	t.Helper()
	a := &Auction{Slot: 9, Parent: [32]byte{0xaa}, Ends: time.Second}
	for line := range strings.Lines(story) {
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		sent, done, answered := strings.Cut(words[len(words)-1], "-")
		for _, word := range words {
			if from, to, is := strings.Cut(word, "-"); is && from != "" {
				sent, done, answered = from, to, to != ""
			}
		}
		began, ended := number(t, sent), time.Duration(0)
		if answered {
			ended = number(t, done)
		}
		has := func(word string) bool { return strings.Contains(" "+strings.Join(words, " ")+" ", " "+word+" ") }
		switch words[0] {
		case "bid":
			value := *uint256.MustFromDecimal(words[2])
			a.Bids = append(a.Bids, Bid{Builder: words[1], Block: block(words[2]), Value: value, Sent: began, Done: ended,
				Refused: has("refused"), Cancels: has("cancels")})
		case "header":
			h := Served{Client: int(words[1][0]), Sent: began, Done: ended, Parent: a.Parent, Empty: words[2] == "-"}
			if !h.Empty {
				h.Block, h.Value = block(words[2]), *uint256.MustFromDecimal(words[2])
			}
			if has("garbage") {
				h.Unreadable = "no JSON"
			}
			if has("elsewhere") {
				h.Parent = [32]byte{0xbb}
			}
			if _, says, is := strings.Cut(line, "pays="); is {
				h.Value = *uint256.MustFromDecimal(strings.Fields(says)[0])
			}
			a.Served = append(a.Served, h)
		case "payload":
			a.Deliveries = append(a.Deliveries, Delivery{Sent: began, Done: ended, Block: block(words[1]),
				Wrong: strings.Join(words[3:], " ")})
		default:
			t.Fatalf("what is %q?", words[0])
		}
	}
	return a
}

func number(t *testing.T, text string) time.Duration {
	t.Helper()
	n, err := time.ParseDuration(text + "ms")
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func block(name string) (b [32]byte) {
	copy(b[:], name)
	return b
}

func TestCheck(t *testing.T) {
	for _, row := range []struct{ name, story, want string }{
		{"the best bid is served", `
			bid x 10 0-5
			bid y 12 1-6
			header a 12 7-8`, "0 of 1, 0 of 1, 0 of 0"},
		{"the second best bid is served", `
			bid x 10 0-5
			bid y 12 1-6
			header a 10 7-8`, "1 of 1, 0 of 1, 0 of 0"},
		{"the second best bid is served, which was accepted after the best one", `
			bid y 12 0-5
			bid x 10 1-6
			header a 10 7-8`, "1 of 1, 0 of 1, 0 of 0"},
		{"no bid is served though there is one", `
			bid x 10 0-5
			header a - 6-7`, "1 of 1, 0 of 1, 0 of 0"},
		{"no bid is served before there is one", `
			bid x 10 0-5
			header a - 1-4`, "0 of 1, 0 of 1, 0 of 0"},
		{"an answer that came after the request began does not count", `
			bid x 10 0-5
			bid y 12 1-7
			header a 10 7-8
			header b 10 6-9`, "0 of 2, 0 of 2, 0 of 0"},
		{"a bid may be served before it is answered, and without an answer", `
			bid x 10 0-
			header a 10 2-3`, "0 of 1, 0 of 1, 0 of 0"},
		{"a refused bid does not count", `
			bid x 10 0-5
			bid y 12 0-5 refused
			header a 10 7-8`, "0 of 1, 0 of 1, 0 of 0"},
		{"a refused bid is served", `
			bid y 12 0-5 refused
			header a 12 7-8`, "0 of 1, 1 of 1, 0 of 0"},
		{"a bid without an answer does not count", `
			bid x 10 0-5
			bid y 12 0-
			header a 10 7-8`, "0 of 1, 0 of 1, 0 of 0"},
		{"a value that the block does not pay", `
			bid x 10 0-5
			header a 10 7-8 pays=11`, "1 of 1, 0 of 1, 0 of 0"},
		{"a header that nobody can read", `
			header a 10 7-8 garbage`, "1 of 1, 0 of 1, 0 of 0"},
		{"a header on another parent", `
			bid x 10 0-5
			header a 10 7-8 elsewhere`, "0 of 1, 1 of 1, 0 of 0"},
		{"a block of another slot", `
			bid x 10 0-5
			header a 11 7-8`, "0 of 1, 1 of 1, 0 of 0"},
		{"a block before anybody sent it", `
			bid x 10 9-10
			header a 10 7-8`, "0 of 1, 1 of 1, 0 of 0"},
		{"a client sees a lower bid than before, whose answers are not there", `
			bid x 10 0-
			bid y 12 0-
			header a 12 2-3
			header a 10 4-5`, "0 of 2, 1 of 2, 0 of 0"},
		{"another client sees a lower bid", `
			bid x 10 0-
			bid y 12 0-
			header a 12 2-3
			header b 10 4-5`, "0 of 2, 0 of 2, 0 of 0"},
		{"a lower bid was asked for before the higher one was seen", `
			bid x 10 0-
			bid y 12 0-
			header a 12 2-6
			header a 10 4-5`, "0 of 2, 0 of 2, 0 of 0"},
		{"a bid was cancelled", `
			bid x 10 0-5
			bid y 12 0-5
			bid y 8 6-7 cancels
			header a 10 8-9`, "0 of 1, 0 of 1, 0 of 0"},
		{"a cancelled bid is still served: it may be the best final one", `
			bid y 12 0-5
			bid y 8 6-7 cancels
			header a 12 8-9`, "0 of 1, 0 of 1, 0 of 0"},
		{"what took a cancelled bid's place counts", `
			bid y 12 0-5
			bid y 8 6-7 cancels
			bid x 5 0-5
			header a 5 8-9`, "1 of 1, 0 of 1, 0 of 0"},
		{"a cancellation is under way while the header is asked for", `
			bid x 10 0-5
			bid y 12 0-5
			bid y 8 6- cancels
			header a 10 5.5-7
			header b 10 5.5-5.9`, "1 of 2, 0 of 2, 0 of 0"},
		{"a cancellation was refused", `
			bid x 10 0-5
			bid y 12 0-5
			bid y 8 6-7 cancels refused
			header a 10 8-9`, "1 of 1, 0 of 1, 0 of 0"},
		{"a bid is sent after the cancellation was answered", `
			bid x 10 0-5
			bid y 8 6-7 cancels
			bid y 12 8-9
			header a 10 10-11`, "1 of 1, 0 of 1, 0 of 0"},
		{"a bid and a cancellation overlap", `
			bid x 10 0-5
			bid y 8 6-9 cancels
			bid y 12 8-9.5
			header a 10 10-11`, "0 of 1, 0 of 1, 0 of 0"},
		{"a client sees a bid go that was cancelled", `
			bid x 10 0-5
			bid y 12 0-5
			header a 12 5.5-5.9
			bid y 8 6-7 cancels
			header a 10 8-9`, "0 of 2, 0 of 2, 0 of 0"},
		{"what a client had seen before a bid that was cancelled still holds", `
			bid z 9 0-
			bid x 10 0-
			bid y 12 0-
			header a 10 1-2
			header a 12 5.5-5.9
			bid y 8 6-7 cancels
			header a 9 8-9`, "0 of 3, 1 of 3, 0 of 0"},
		{"no bid once the slot has begun", `
			bid x 10 0-5
			header a - 998-1001`, "0 of 1, 0 of 1, 0 of 0"},
		{"no bid once the payload was asked for", `
			bid x 10 0-5
			payload 10 500-510
			header a - 490-501`, "0 of 1, 0 of 1, 0 of 1"},
		{"a payload is lost", `
			bid x 10 0-5
			payload 10 1000-1500 status 502`, "0 of 0, 0 of 0, 1 of 1"},
	} {
		var got []string
		for _, f := range tell(t, row.story).Check() {
			if got = append(got, fmt.Sprintf("%d of %d", f.Found, f.Checked)); (f.Example != "") != (f.Found > 0) {
				t.Errorf("%s: %d times, example %q", row.name, f.Found, f.Example)
			}
		}
		if got := strings.Join(got, ", "); got != row.want {
			t.Errorf("%s: %s, want %s", row.name, got, row.want)
		}
	}
}

// An example says what was served when, and which bid was better.
func TestExample(t *testing.T) {
	found := tell(t, "bid x 10 0-5\n bid y 12 1-6\n header a 10 7-8").Check()
	want := "slot 9: 10 wei were served at 0.0070 s, though 12 wei of builder y were accepted at 0.0060 s"
	if found[0].Example != want {
		t.Errorf("%s, want %s", found[0].Example, want)
	}
}

func TestAdd(t *testing.T) {
	var sum []Found
	for _, story := range []string{"bid x 10 0-5\n header a - 6-7", "bid x 10 0-5\n header a - 8-9\n header a 10 10-11"} {
		sum = Add(sum, tell(t, story).Check())
	}
	if sum[0].Found != 2 || sum[0].Checked != 3 || !strings.Contains(sum[0].Example, "0.0060 s") {
		t.Errorf("%+v, want 2 of 3, and the first example", sum[0])
	}
}
