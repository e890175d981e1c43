package backtest

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gavel-relay/gavel/internal/golden"
	"github.com/gavel-relay/gavel/scenarios"
	"github.com/gavel-relay/gavel/scenarios/dataset"
)

// TestScripts plays testdata/*.txt. Each is a slot: a list of bids and of what was delivered, and
// then any number of lines that begin with "infer" or "what-if", each followed by what the replay
// gives ("→").
//
//	bid a 5 t=-100ms [relay=x] [eligible=…] [cancellable|final] [seq=2] [refused] [parent=2] [txs=0] [source=x]
//	top a 5 t=0s      a row of the relay's stream
//	header a 5 t=1s   a row of a header that was served
//	deliver a 5 [relay=x]
//	what-if close: 1s; floor: off
func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			golden.File(t, file, playScript(t, string(text)))
		})
	}
}

func playScript(t *testing.T, text string) string {
	var out strings.Builder
	slot := Slot{}
	for lines := bufio.NewScanner(strings.NewReader(text)); lines.Scan(); {
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
		case "bid", "top", "header":
			slot.Bids = append(slot.Bids, scriptBid(t, words))
		case "deliver":
			slot.Deliveries = append(slot.Deliveries, scriptDelivery(t, words))
		case "infer":
			how, err := Infer(words[1:])
			if err != nil {
				t.Fatal(err)
			}
			inferred := map[string]int64{}
			results, _ := Replay(slot, how, nil, inferred)
			for _, r := range results {
				fmt.Fprintln(&out, "→", describe(&r))
			}
			fmt.Fprintln(&out, "→ inferred:", strings.Join(Inferred(inferred), ", "))
		case "what-if":
			for _, r := range whatIf(t, slot, strings.TrimPrefix(line, "what-if ")) {
				fmt.Fprintln(&out, "→", describe(&r))
			}
		default:
			t.Fatalf("unknown line %q", line)
		}
	}
	return out.String()
}

// whatIf plays a what-if that is written on one line, with semicolons between its keys.
func whatIf(t *testing.T, slot Slot, line string) (changed []Result) {
	t.Helper()
	plans, err := scenarios.ParseWhatIf("changed.yaml", []byte(strings.ReplaceAll(line, "; ", "\n")))
	if err != nil {
		t.Fatal(err)
	}
	var variants []Variant
	for _, p := range plans {
		variants = append(variants, NewVariant(p))
	}
	how, err := Infer(nil)
	if err != nil {
		t.Fatal(err)
	}
	results, _ := Replay(slot, how, variants, nil)
	for _, r := range results {
		if r.Variant != AsArchived {
			changed = append(changed, r)
		}
	}
	return changed
}

// scriptStart is the start of the scripts' slot.
const scriptStart = 1_700_000_000_000_000

func scriptBid(t *testing.T, words []string) *dataset.Bid {
	kind := map[string]dataset.Text{
		"bid": dataset.Submission, "top": dataset.TopStream, "header": dataset.HeaderPoll,
	}[words[0]]
	b := &dataset.Bid{
		Slot: dataset.Int{V: 7, Known: true}, SlotStart: dataset.Time{Micros: scriptStart, Known: true}, Kind: kind,
		Relay: "r", Source: "script", Builder: scriptKey(words[1]), ValueWei: scriptWei(t, words[2]),
		BlockHash: scriptHash(words[1], words[2]), ParentHash: dataset.Hash{V: [32]byte{1}, Known: true},
	}
	for _, word := range words[3:] {
		name, value, _ := strings.Cut(word, "=")
		switch name {
		case "t":
			b.ReceivedAt = scriptTime(t, value)
		case "seen":
			b.ObservedAt = scriptTime(t, value)
		case "eligible":
			b.EligibleAt = scriptTime(t, value)
		case "cancellable", "final":
			b.Cancellable = dataset.Bool{V: name == "cancellable", Known: true}
		case "optimistic":
			b.Optimistic = dataset.Bool{V: value != "no", Known: true}
		case "seq":
			b.Sequence = scriptInt(t, value)
		case "gas":
			b.GasUsed = scriptInt(t, value)
		case "txs":
			b.NumTx = scriptInt(t, value)
		case "parent":
			b.ParentHash.V = [32]byte{byte(scriptInt(t, value).V)}
		case "hash":
			b.BlockHash.V = [32]byte{value[0]}
		case "refused":
			b.Refusal = "simulation-failed"
		case "relay":
			b.Relay = dataset.Text(value)
		case "source":
			b.Source = dataset.Text(value)
		default:
			t.Fatalf("unknown word %q", word)
		}
	}
	return b
}

func scriptDelivery(t *testing.T, words []string) *dataset.Delivery {
	d := &dataset.Delivery{
		Slot: dataset.Int{V: 7, Known: true}, SlotStart: dataset.Time{Micros: scriptStart, Known: true}, Relay: "r",
		Builder: scriptKey(words[1]), ValueWei: scriptWei(t, words[2]), BlockHash: scriptHash(words[1], words[2]),
	}
	for _, word := range words[3:] {
		name, value, _ := strings.Cut(word, "=")
		switch name {
		case "relay":
			d.Relay = dataset.Text(value)
		case "hash":
			d.BlockHash.V = [32]byte{value[0]}
		default:
			t.Fatalf("unknown word %q", word)
		}
	}
	return d
}

func scriptKey(name string) dataset.Key { return dataset.Key{V: [48]byte{name[0]}, Known: true} }

func scriptHash(builder, value string) dataset.Hash {
	h := dataset.Hash{Known: true}
	copy(h.V[:], builder+value)
	return h
}

func scriptWei(t *testing.T, word string) dataset.Wei {
	w, err := dataset.ParseWei(word)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func scriptInt(t *testing.T, word string) dataset.Int {
	n, err := strconv.ParseInt(word, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return dataset.Int{V: n, Known: true}
}

func scriptTime(t *testing.T, word string) dataset.Time {
	d, err := time.ParseDuration(word)
	if err != nil {
		t.Fatal(err)
	}
	return dataset.Time{Micros: scriptStart + d.Microseconds(), Known: true}
}

// describe writes a result as a sentence.
func describe(r *Result) string {
	text := fmt.Sprintf("%s %s, asked %s (%s): ", r.Relay, r.Variant, moment(r.AskedAt.Micros-scriptStart), r.AskedBy)
	if r.ServedBlock.Known {
		text += fmt.Sprintf("%s of %c since %s", r.ServedWei, r.ServedBuilder.V[0], moment(r.LedSince.Micros-scriptStart))
	} else {
		text += "nothing"
	}
	if r.SecondWei.Known {
		text += ", second " + r.SecondWei.String()
	}
	if r.PaidWei.String() != r.ServedWei.String() && r.ServedWei.Known {
		text += ", paid " + r.PaidWei.String()
	}
	if r.FloorWei.String() != "0" {
		text += ", floor " + r.FloorWei.String()
	}
	text += fmt.Sprintf("; %d bids", r.Bids.V)
	for _, c := range []struct {
		n    dataset.Int
		word string
	}{
		{r.LeftOut, "left out"}, {r.AtFloor, "at floor"}, {r.Stale, "stale"}, {r.Late, "late"}, {r.Empty, "empty"},
	} {
		if c.n.V > 0 {
			text += fmt.Sprintf(", %d %s", c.n.V, c.word)
		}
	}
	text += fmt.Sprintf("; %d leads, %d falls", r.Leads.V, r.Falls.V)
	if r.Tops.V+r.Headers.V > 0 {
		text += fmt.Sprintf("; %d of %d tops, %d of %d headers led", r.TopsLed.V, r.Tops.V, r.HeadersLed.V, r.Headers.V)
	}
	text += fmt.Sprintf("; %s", r.Reason)
	if r.DifferenceWei.Known {
		text += " " + r.DifferenceWei.String()
	}
	if r.Detail != "" {
		text += fmt.Sprintf(" (%s)", r.Detail)
	}
	return text
}
