package pool

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/google/uuid"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/internal/golden"
	"github.com/gavel-relay/gavel/rpc"
)

// TestScripts plays testdata/*.txt: a line is a command, the lines below it that begin with "→" are
// what the pool answers. The clock goes on by a second with every command, and the head stands at
// block 100 first. Orders are called by what stands after "as"; a transaction is a letter or two,
// with "?" when it may be dropped.
//
//	bundle alice 101-103 a,b? [uuid=7] [hash=h] [after=60] [max=1300] [follows=o] as o
//	private alice 101-125 a as o
//	cancel alice 7            withdraw alice a            (eth_cancelPrivateTransaction)
//	simulated o 101 profit=5  simulated o 101 error=reason_in_words [lasting]
//	sent o builder 101 [error=reason]
//	block 101 a,b [t=1200]    reverted 101
//	ready 101 [t=1200]        status o                    counts
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
			golden.File(t, file, play(t, script))
		})
	}
}

// scriptTest is a pool on which a script is played.
type scriptTest struct {
	t     *testing.T
	pool  *Pool
	at    time.Time
	names map[string]uint64
	out   bytes.Buffer
}

func play(t *testing.T, script []byte) string {
	t.Helper()
	s := &scriptTest{t: t, at: time.Unix(1000, 0).UTC()}
	s.start(nil)
	for lines := bufio.NewScanner(bytes.NewReader(script)); lines.Scan(); {
		line := lines.Text()
		if strings.HasPrefix(line, "→") {
			continue
		}
		fmt.Fprintln(&s.out, line)
		if words := strings.Fields(line); len(words) > 0 && words[0] != "#" {
			s.at = s.at.Add(time.Second)
			s.command(words)
		}
	}
	return s.out.String()
}

// start makes the pool: "config max=3 signer=2 revive alice=1".
func (s *scriptTest) start(words []string) {
	options := optionsOf(words)
	_, revive := options["revive"]
	config := Config{MaxOrders: s.number(options["max"]), MaxPerSigner: s.number(options["signer"]),
		ReviveAfterCancel: revive}
	config.Class = func(signer common.Address) int { return s.number(options[nameOf(signer)]) }
	s.pool, s.names = New(config), make(map[string]uint64)
	s.pool.Block(s.at, headOf(100, 1000), nil)
}

func (s *scriptTest) command(words []string) {
	options := optionsOf(words)
	switch words[0] {
	case "config":
		s.start(words)
	case "bundle", "private":
		s.add(words, options)
	case "cancel":
		_, facts := s.pool.Cancel(s.at, signerOf(words[1]), uuidOf(words[2]))
		s.facts(facts)
	case "withdraw":
		order, facts := s.pool.CancelPrivate(s.at, signerOf(words[1]), hashOf(words[2]))
		s.say("%t", order != nil)
		s.facts(facts)
	case "simulated":
		s.facts(s.pool.Simulated(s.at, s.names[words[1]], s.simulation(words, options)))
	case "sent":
		delivery := rpc.Delivery{Builder: words[2], Block: uint64(s.number(words[3])), Error: spaced(options["error"])}
		s.facts(s.pool.Sent(s.at, s.names[words[1]], delivery))
	case "block":
		s.facts(s.pool.Block(s.at, headOf(s.number(words[1]), s.number(options["t"])), txsOf(words)))
	case "reverted":
		s.facts(s.pool.Reverted(s.at, headOf(s.number(words[1]), 0)))
	case "ready":
		s.ready(words, options)
	case "status":
		s.status(words[1])
	case "counts":
		s.say("%d alive, %d kept", s.pool.Live(), s.pool.Kept())
	default:
		s.t.Fatalf("unknown command %q", words)
	}
}

func (s *scriptTest) add(words []string, options map[string]string) {
	first, last, _ := strings.Cut(words[2], "-")
	if last == "" {
		last = first
	}
	order := &rpc.Order{Kind: rpc.KindBundle, Signer: signerOf(words[1]), ReceivedAt: s.at,
		Replacement: uuidOf(options["uuid"])}
	order.Bundle = bundleOf(words[3])
	order.Bundle.Window = rpc.Window{
		FirstBlock: uint64(s.number(first)), LastBlock: uint64(s.number(last)),
		MinTimestamp: uint64(s.number(options["after"])), MaxTimestamp: uint64(s.number(options["max"])),
	}
	if words[0] == "private" {
		order.Kind = rpc.KindPrivate
	}
	order.Follows = s.names[options["follows"]]
	outcome, err := s.pool.Add(s.at, s.pool.head, order)
	if err != nil {
		s.say("refused: %v", err)
		return
	}
	s.names[words[len(words)-1]] = outcome.Order.ID
	s.say("%s", map[Result]string{Accepted: "accepted", Known: "known", Extended: "extended",
		Successor: "successor"}[outcome.Result])
	s.facts(outcome.Facts)
}

func (s *scriptTest) simulation(words []string, options map[string]string) rpc.Simulation {
	result := rpc.Simulation{Block: uint64(s.number(words[2])), Error: spaced(options["error"])}
	_, result.Lasting = options["lasting"]
	result.Success = result.Error == ""
	if result.Success {
		result.ProfitWei = uint256.MustFromDecimal(options["profit"])
	}
	return result
}

func (s *scriptTest) ready(words []string, options map[string]string) {
	var names []string
	for _, order := range s.pool.Ready(uint64(s.number(words[1])), uint64(s.number(options["t"]))) {
		names = append(names, s.name(order.ID))
	}
	s.say("[%s]", strings.Join(names, " "))
}

func (s *scriptTest) status(name string) {
	order := s.pool.Order(s.names[name])
	if order == nil {
		s.say("forgotten")
		return
	}
	for _, status := range s.pool.Status(order.Signer, order.Hash()) {
		if status.Order.ID != order.ID {
			continue
		}
		s.say("%s, blocks %d-%d", status.State, status.FirstBlock, order.Bundle.Window.LastBlock)
		for _, simulation := range status.Simulations {
			s.say("  simulated for %d: success %t %s", simulation.Block, simulation.Success, simulation.Error)
		}
		for _, delivery := range status.Deliveries {
			s.say("  sent to %s for %d %s", delivery.Builder, delivery.Block, delivery.Error)
		}
		if end := status.End; end != nil {
			s.say("  ended at block %d %q, replaced by %s", end.Block, end.Reason, s.name(end.ReplacedBy))
		}
	}
}

func (s *scriptTest) facts(facts []rpc.Fact) {
	for _, fact := range facts {
		switch fact := fact.(type) {
		case rpc.OrderAccepted:
			s.say("%s %d", fact.Subject(), fact.Order.ID)
		case rpc.OrderEnded:
			s.say("%s %s: %s %s at %d", fact.Subject(), s.name(fact.ID), fact.State, fact.Reason, fact.Block)
		case rpc.OrderExtended:
			s.say("%s %s: %d-%d", fact.Subject(), s.name(fact.ID), fact.Window.FirstBlock, fact.Window.LastBlock)
		case rpc.OrderReturned:
			s.say("%s %s", fact.Subject(), s.name(fact.ID))
		case rpc.CancelNoted:
			s.say("%s %d", fact.Subject(), fact.Block)
		default:
			s.say("%s", fact.Subject())
		}
	}
}

func (s *scriptTest) say(format string, args ...any) {
	fmt.Fprintln(&s.out, strings.TrimRight("→ "+fmt.Sprintf(format, args...), " "))
}

func (s *scriptTest) name(id uint64) string {
	first := "nobody"
	for name, named := range s.names {
		if named == id && (first == "nobody" || name < first) {
			first = name
		}
	}
	return first
}

func (s *scriptTest) number(text string) int {
	if text == "" {
		return 0
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		s.t.Fatal(err)
	}
	return n
}

func optionsOf(words []string) map[string]string {
	options := make(map[string]string)
	for _, word := range words {
		name, value, _ := strings.Cut(word, "=")
		options[name] = value
	}
	return options
}

func spaced(text string) string { return strings.ReplaceAll(text, "_", " ") }

func headOf(number, timestamp int) rpc.Head {
	return rpc.Head{Number: uint64(number), Hash: common.BigToHash(uint256.NewInt(uint64(number)).ToBig()),
		Timestamp: uint64(timestamp)}
}

func signerOf(name string) (signer common.Address) { copy(signer[:], name); return signer }
func nameOf(signer common.Address) string          { return string(bytes.TrimRight(signer[:], "\x00")) }
func hashOf(name string) (hash common.Hash)        { copy(hash[:], name); return hash }

func uuidOf(text string) (id uuid.UUID) {
	if n, err := strconv.Atoi(text); err == nil {
		id[15] = byte(n)
	}
	return id
}

// txsOf are the transactions of a block, none without a list.
func txsOf(words []string) []common.Hash {
	var txs []common.Hash
	if len(words) > 2 && !strings.Contains(words[2], "=") {
		for name := range strings.SplitSeq(words[2], ",") {
			txs = append(txs, hashOf(name))
		}
	}
	return txs
}

// bundleOf reads "a,b?,(c,d)": a bundle in parentheses is an element.
func bundleOf(text string) rpc.Bundle {
	bundle := rpc.Bundle{Hash: hashOf(strings.NewReplacer("?", "", "(", "", ")", "").Replace(text))}
	for text != "" {
		if inner, rest, nested := strings.Cut(strings.TrimPrefix(text, "("), ")"); nested && text[0] == '(' {
			element := bundleOf(inner)
			bundle.Elements = append(bundle.Elements, rpc.Element{Bundle: &element})
			text = strings.TrimPrefix(rest, ",")
			continue
		}
		var name string
		name, text, _ = strings.Cut(text, ",")
		tx := &rpc.Transaction{Hash: hashOf(strings.TrimSuffix(name, "?")), CanDrop: strings.HasSuffix(name, "?")}
		bundle.Elements = append(bundle.Elements, rpc.Element{Tx: tx})
	}
	return bundle
}
