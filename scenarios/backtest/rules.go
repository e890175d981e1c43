package backtest

import (
	"fmt"
	"strings"
	"time"
)

// Rule is a rule by which something is inferred that an archive does not say.
type Rule struct {
	Name, Doc string
	// Choices begin with the default.
	Choices []Choice
}

// Choice is one way to infer it. A Word in capitals stands for a value.
type Choice struct{ Word, Doc string }

// The names of the rules.
const (
	ruleBids          = "bids"
	ruleDuplicates    = "duplicates"
	ruleArrival       = "arrival"
	ruleClockless     = "clockless"
	ruleCancellations = "cancellations"
	ruleSequence      = "sequence"
	ruleRefused       = "refused"
	ruleParent        = "parent"
	ruleAsked         = "asked"
	ruleOtherwise     = "otherwise"
)

// Rules are all rules of inference, in the order in which they are applied.
var Rules = []Rule{
	{ruleBids, "which rows are bids", []Choice{
		{"all", "what relays list as received, and what their streams of leading bids told of"},
		{"submissions", "only what relays list as received"},
	}},
	{ruleDuplicates, "rows of two archives with the same relay, builder, block and value", []Choice{
		{"join", "are one bid, which knows what either row knows"},
		{"keep", "are two bids"},
	}},
	{ruleRefused, "bids that the archive says were refused, or found invalid", []Choice{
		{"leave-out", "are no bids"},
		{"enter", "count as if they had been accepted"},
	}},
	{ruleClockless, "bids without a time of the relay's clock", []Choice{
		{"observed", "came when a collector saw them first; without that time, too, they are left out"},
		{"leave-out", "are left out"},
	}},
	{ruleArrival, "when a bid enters the auction", []Choice{
		{"eligible", "when the archive says it began to count, otherwise when the relay received it"},
		{"received", "when the relay received it"},
	}},
	{ruleParent, "which auction of a slot is compared if there are bids on several parent blocks", []Choice{
		{"delivered", "that of the delivered block, otherwise the one with the most bids"},
		{"most-bids", "the one with the most bids"},
	}},
	{ruleCancellations, "whether a builder allowed that a lower bid replaces a higher one, if the archive does not say",
		[]Choice{
			{"falling", "for all bids of a builder that in this auction once bids less than before, since a lower final bid " +
				"is pointless"},
			{"never", "for none: each bid is final"},
			{"always", "for all: the newest bid of a builder replaces the one before"},
		}},
	{ruleSequence, "sequence numbers of builders", []Choice{
		{"archive", "are those of the archive, if it has them"},
		{"ignore", "are left away"},
	}},
	{ruleAsked, "when the proposer asked for the header", []Choice{
		{"delivered", "while the delivered block led: at the moment nearest to `otherwise`. If it never led, or none was " +
			"delivered, at `otherwise`. So the reason `same` says only that there is such a moment"},
		{"TIME", "at this time of the slot in all auctions, such as 0ms or 1.2s or -200ms"},
	}},
	{ruleOtherwise, "when the proposer asked if `asked` cannot say it", []Choice{
		{"1s", "one second after the slot began"},
		{"TIME", "at this time of the slot"},
	}},
}

// Inference has a choice for each rule.
type Inference struct {
	chosen map[string]string
	// askedUs and otherwiseUs are moments of the slot; fixed says that askedUs is given.
	askedUs, otherwiseUs int64
	fixed                bool
}

// Infer reads choices, each as rule=choice; rules that are not named have their default.
func Infer(choices []string) (Inference, error) {
	i := Inference{chosen: map[string]string{}}
	for _, r := range Rules {
		i.chosen[r.Name] = r.Choices[0].Word
	}
	for _, text := range choices {
		name, word, found := strings.Cut(text, "=")
		if !found {
			return i, fmt.Errorf("infer %q: write it as rule=choice, such as cancellations=never", text)
		}
		if err := i.choose(name, word); err != nil {
			return i, err
		}
	}
	i.otherwiseUs, _ = parseMoment(i.chosen[ruleOtherwise])
	i.askedUs, i.fixed = parseMoment(i.chosen[ruleAsked])
	return i, nil
}

func (i Inference) choose(name, word string) error {
	var names []string
	for _, r := range Rules {
		names = append(names, r.Name)
		if r.Name != name {
			continue
		}
		var words []string
		for _, c := range r.Choices {
			_, isMoment := parseMoment(word)
			if c.Word == word || c.Word == "TIME" && isMoment {
				i.chosen[name] = word
				return nil
			}
			words = append(words, c.Word)
		}
		return fmt.Errorf("infer %s=%s: give one of %s", name, word, strings.Join(words, ", "))
	}
	return fmt.Errorf("infer %s: there is no such rule: give one of %s", name, strings.Join(names, ", "))
}

// maxMoment is how far from a slot's start a moment may be.
const maxMoment = time.Minute

// parseMoment reads a time relative to the start of the slot.
func parseMoment(word string) (us int64, ok bool) {
	d, err := time.ParseDuration(word)
	if err != nil || d < -maxMoment || d > maxMoment {
		return 0, false
	}
	return d.Microseconds(), true
}

// is says whether a rule has this choice.
func (i Inference) is(rule, word string) bool { return i.chosen[rule] == word }

// Sentences say what is inferred and how: one for each rule, with its choice.
func (i Inference) Sentences() []string {
	var all []string
	for _, r := range Rules {
		word := i.chosen[r.Name]
		doc := ""
		for _, c := range r.Choices {
			if c.Word == word || doc == "" && c.Word == "TIME" {
				doc = c.Doc
			}
		}
		all = append(all, fmt.Sprintf("%s=%s: %s: %s", r.Name, word, r.Doc, doc))
	}
	return all
}

// RulesMarkdown is the table of rules of docs/replay.md.
func RulesMarkdown() string {
	var out strings.Builder
	out.WriteString("| rule | choice | |\n|---|---|---|\n")
	for _, r := range Rules {
		for n, c := range r.Choices {
			name, word := "", "`"+c.Word+"`"
			if n == 0 {
				name, word = "`"+r.Name+"`: "+r.Doc, word+" (default)"
			}
			fmt.Fprintf(&out, "| %s | %s | %s |\n", name, word, c.Doc)
		}
	}
	return out.String()
}
