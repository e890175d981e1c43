package scenarios

import (
	"fmt"
	"strings"

	"github.com/gavel-relay/gavel/devnet"
	"github.com/gavel-relay/gavel/internal/eth"
)

// Explain describes a plan in words: who takes part, what they do and what must come of it, with
// every default and the meaning of every move.
func (p *Plan) Explain() string {
	w := &writer{}
	w.line("%s", p.Name)
	if p.Why != "" {
		w.line("\n%s", wrap(p.Why, "  "))
	}
	w.line("\nThe chain")
	w.line("  %d slots of %s in epochs of %d, %g times as fast as the wall; seed %d", p.Slots, formatDuration(p.Slot),
		p.SlotsPerEpoch, p.Speed, p.Seed)
	w.line("  %s", forkWords(p.Forks))
	w.line("  %d validators; users send %d transactions a slot%s", p.Validators, p.TxsPerSlot, blobWords(p.BlobEvery))
	w.explainRelays(p.Relays)
	w.explainCrowd("Builders", builderMoves, len(p.Builders), func(i int) member { return member(p.Builders[i]) })
	w.explainCrowd("Proposers", proposerMoves, len(p.Proposers), func(i int) member {
		one := p.Proposers[i]
		return member{one.Slots.words(), one.Strategy, one.Key}
	})
	w.explainCrowd("Users", userMoves, len(p.Users), func(i int) member { return member(p.Users[i]) })
	w.explainCrowd("Searchers", searcherMoves, len(p.Searchers), func(i int) member { return member(p.Searchers[i]) })
	w.line("\nCircuit breaker\n  %s", breakerWords(p.Breaker))
	w.explainFaults(p)
	if p.Monitor {
		w.line("\nA relay monitor watches all relays from public data.")
	}
	if p.Payer {
		w.line("\nA payer pays delayed refunds to users' friend, and adds up what the bundle RPC tells of them.")
	}
	if variants := p.Variants(); len(variants) > 0 {
		w.line("\nVariants")
		for _, choice := range variants {
			w.line("  %s", choice)
		}
	}
	if len(p.Expect) > 0 {
		w.line("\nIt must end so")
	}
	for _, e := range p.Expect {
		w.line("  %s", e.Text)
	}
	return w.String()
}

func forkWords(forks []eth.ForkPoint) string {
	var words []string
	for _, point := range forks {
		when := "at genesis"
		if point.Epoch > 0 {
			when = fmt.Sprintf("from epoch %d on", point.Epoch)
		}
		words = append(words, fmt.Sprintf("%s %s", point.Fork, when))
	}
	return strings.Join(words, ", ")
}

func blobWords(every int) string {
	switch every {
	case 0:
		return ""
	case 1:
		return " and a blob in each"
	default:
		return fmt.Sprintf(" and a blob in one of %d", every)
	}
}

func breakerWords(b devnet.BreakerLimits) string {
	if b.Off() {
		return "proposers have none: they ask relays whatever their chain is like"
	}
	var words []string
	if b.MissedInRow > 0 {
		words = append(words, fmt.Sprintf("after %d missed slots in a row", b.MissedInRow))
	}
	if b.MissedOf > 0 {
		words = append(words, fmt.Sprintf("after %d missed of the last %d", b.MissedOf, b.Window))
	}
	return "proposers ask no relay any more " + strings.Join(words, ", or ") +
		"; only a restart of the beacon node resets it"
}

func (w *writer) explainRelays(all []RelayPlan) {
	w.line("\nRelays")
	for _, one := range all {
		text := one.Name + ": " + one.Behaviour
		if one.Behaviour != honest {
			text = one.Name + ": misbehaves (" + one.Behaviour + ")"
		}
		if one.InstanceOf != "" {
			text += ", one more instance of " + one.InstanceOf
		}
		if one.JournalNodes > 0 {
			text += fmt.Sprintf(", its journal on %d servers", one.JournalNodes)
		}
		if one.HeaderCutOff > 0 {
			text += ", headers until " + formatDuration(one.HeaderCutOff)
		}
		if one.PayloadCutOff > 0 {
			text += ", payloads until " + formatDuration(one.PayloadCutOff)
		}
		if len(one.Optimistic) > 0 {
			text += ", trusts " + strings.Join(one.Optimistic, ", ")
		}
		w.line("  %s%s", text, keyWord(one.Key))
	}
}

func keyWord(key bool) string {
	if key {
		return "  ◀ what this is about"
	}
	return ""
}

func (w *writer) explainCrowd(title string, moves catalogue, n int, of func(int) member) {
	if n > 0 {
		w.line("\n%s", title)
	}
	for i := range n {
		one := of(i)
		for j, move := range one.Strategy {
			name := one.Name
			if j > 0 {
				name = strings.Repeat(" ", len(name))
			}
			w.line("  %s: %s — %s%s", name, move, move.means(moves), keyWord(one.Key && j == 0))
		}
	}
}

func (w *writer) explainFaults(p *Plan) {
	if len(p.Latencies)+len(p.Faults) > 0 {
		w.line("\nWhat goes wrong")
	}
	for _, one := range p.Latencies {
		w.line("  always: latency %s on %s", formatDuration(one.Time), one.On)
	}
	for _, f := range p.Faults {
		until := "for good"
		if f.Until != (Moment{}) {
			until = "until " + f.Until.String()
		}
		w.line("  from %s %s: %s on %s — %s%s", f.From, until, f.What, f.On, f.What.means(faultMoves), keyWord(f.Key))
	}
}

// means returns what a move does, with the operands filled in.
func (m Move) means(from catalogue) string {
	words, forms := strings.Fields(m.String()), strings.Fields(m.Form)
	text := from.entry(m.Form).means
	for i, operand := range forms {
		if isOperand(operand) {
			text = strings.ReplaceAll(text, strings.TrimPrefix(operand, "+"), strings.TrimPrefix(words[i], "+"))
		}
	}
	return text
}

// width is the length of a line of an explanation, in bytes.
const width = 100

// wrap breaks a paragraph into lines.
func wrap(text, indent string) string {
	var lines []string
	for paragraph := range strings.SplitSeq(text, "\n\n") {
		line := indent
		for word := range strings.FieldsSeq(paragraph) {
			if len(line)+len(word) >= width && line != indent {
				lines = append(lines, strings.TrimRight(line, " "))
				line = indent
			}
			line += word + " "
		}
		lines = append(lines, strings.TrimRight(line, " "), "")
	}
	return strings.TrimRight(strings.Join(lines, "\n"), "\n")
}

// Catalogue lists in Markdown everything that the language has: moves, faults, events, quantities,
// classes.
func Catalogue() string {
	w := &writer{}
	for _, c := range []struct {
		title string
		from  catalogue
	}{
		{"Builders", builderMoves}, {"Proposers", proposerMoves}, {"Users", userMoves}, {"Searchers", searcherMoves},
		{"Faults", faultMoves},
	} {
		w.line("**%s**\n\n| form | what it does |\n|---|---|", c.title)
		for _, e := range c.from.entries {
			means := e.means
			if e.names != nil {
				means += ": " + strings.Join(e.names, ", ")
			}
			w.line("| `%s` | %s |", e.form, means)
		}
		w.line("")
	}
	w.line("**Events**\n\n| event | when | narrowed by |\n|---|---|---|")
	for _, h := range happenings {
		var parts []string
		for _, word := range sortedKeys(h.clauses) {
			parts = append(parts, "`"+strings.TrimSpace(word+" "+h.clauses[word])+"`")
		}
		w.line("| `%s` | %s | %s |", h.phrase, h.means, strings.Join(parts, " "))
	}
	w.line("\n**Quantities**\n\n| name | what it is |\n|---|---|")
	for _, m := range measures {
		w.line("| `%s` | %s |", m.name, m.means)
	}
	w.line("\n**Fault classes** that a relay can show and a monitor finds: %s. "+
		"A monitor finds equivocation, too, which is a proposer's.", strings.Join(FaultClasses, ", "))
	return w.String()
}
