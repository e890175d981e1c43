package auction

import (
	"bufio"
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/relay"
)

var update = flag.Bool("update", false, "rewrite the scripts with what the book answers")

// TestScripts plays testdata/*.txt: a line is a command, the line below it, after "→", is what the
// book answers.
//
//	submit a 5 t=3 [cancellable] [seq=2] [unverified]
//	withdraw a
//	floor
func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			script, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := play(t, script)
			if *update {
				if err := os.WriteFile(file, got, 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if !bytes.Equal(got, script) {
				t.Errorf("the book answers otherwise (review, then -update):\n%s", got)
			}
		})
	}
}

func play(t *testing.T, script []byte) []byte {
	t.Helper()
	var book Book
	var out bytes.Buffer
	for lines := bufio.NewScanner(bytes.NewReader(script)); lines.Scan(); {
		line := lines.Text()
		if strings.HasPrefix(line, "→") {
			continue
		}
		fmt.Fprintln(&out, line)
		words := strings.Fields(line)
		if len(words) == 0 || words[0] == "#" {
			continue
		}
		switch words[0] {
		case "submit":
			bid, verified := parseBid(t, words[1:])
			outcome := book.Submit
			if !verified {
				outcome = book.SubmitUnverified
			}
			fmt.Fprintln(&out, "→", describe(outcome(bid)))
		case "withdraw":
			fmt.Fprintln(&out, "→", describe(book.Withdraw(phase0.BLSPubKey{words[1][0]}, nil)))
		case "floor":
			fmt.Fprintln(&out, "→", book.Floor().Dec())
		default:
			t.Fatalf("unknown command %q", line)
		}
	}
	return out.Bytes()
}

// parseBid reads "builder value t=… flags"; the block hash is made of the builder and the value.
func parseBid(t *testing.T, words []string) (bid relay.Bid, verified bool) {
	t.Helper()
	value, err := uint256.FromDecimal(words[1])
	if err != nil {
		t.Fatal(err)
	}
	bid = relay.Bid{Builder: phase0.BLSPubKey{words[0][0]}, ValueWei: value, BlockHash: phase0.Hash32{words[0][0],
		byte(value.Uint64())}}
	verified = true
	for _, word := range words[2:] {
		name, number, _ := strings.Cut(word, "=")
		n, _ := strconv.ParseUint(number, 10, 64)
		switch name {
		case "t":
			bid.ReceivedAt = time.Unix(int64(n), 0)
		case "seq":
			bid.Sequence = n
		case "cancellable":
			bid.Cancellable = true
		case "unverified":
			verified = false
		default:
			t.Fatalf("unknown word %q", word)
		}
	}
	return bid, verified
}

func describe(o Outcome) string {
	text := map[Result]string{Leads: "leads", Follows: "follows", Outdated: "outdated"}[o.Result]
	if o.Top == nil {
		text += ", no top"
	} else {
		text += fmt.Sprintf(", top %c %s", o.Top.Builder[0], o.Top.ValueWei.Dec())
	}
	if o.Changed {
		text += " (changed)"
	}
	return text
}
