package scenarios

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
)

// Comparison compares two quantities.
type Comparison struct {
	Left, Right Quantity
	Op          string // <, <=, >, >= or =
	// Tolerance is only for "=": how far apart the two may be. It is an absolute number, or, if
	// Relative, a share of the right one.
	Tolerance float64
	Relative  bool
}

// Quantity is a number, a term, or one term divided by another.
type Quantity struct {
	Number      float64
	Term, Below *Term
}

// Term is something that can be counted, added up or averaged in a run.
type Term struct {
	Name string
	// Of restricts the term to a builder, a relay or a searcher, Slots to some slots, and Variant
	// takes it from another variant's run.
	Of      string
	Slots   Range
	Variant Choice
}

// measure is an entry of the catalogue of terms.
type measure struct {
	name, means string
	value       func(facts []Record) float64
}

var measures = []measure{
	{"slots", "slots that ran", count(subject(SlotFinished))},
	{"landed", "slots whose block on the chain is a relay's", count(outcome(Landed))},
	{"local", "slots whose block on the chain is the proposer's own node's", count(outcome(Local))},
	{"missed", "slots without a block", count(outcome(Missed))},
	{"delivered", "payloads that relays have published", count(subject(PayloadDelivered))},
	{"headers", "headers that relays have served", count(subject(HeaderServed))},
	{"submissions", "submissions that relays have judged", count(subject(SubmissionJudged))},
	{"bids", "submissions that count", count(func(r Record) bool { return r.Subject == SubmissionJudged && r.Counts })},
	{"refusals", "requests that were refused", count(func(r Record) bool {
		return r.ID != "" && (r.Subject == SubmissionJudged || r.Subject == PayloadRefused || r.Subject == RequestRefused)
	})},
	{"tops", "changes of leading bids, as relays count them", count(subject(TopChanged))},
	{"tops-heard", "changes of leading bids that builders were told of; who comes hears those that lead already",
		count(subject(TopHeard))},
	{"hints", "orders that searchers are told of", count(subject(HintSeen))},
	{"hints-heard", "hints that searchers who only listen were told, each counted once", count(subject(HintHeard))},
	{"stake-paid", "what payloads have paid from builders' stakes, in ether", ether(subject(StakePaid))},
	{"promised", "refunds that somebody is owed by the blocks, in ether", ether(subject(RefundCredited))},
	{"paid", "refunds that the blocks have paid, in ether", ether(subject(RefundPaid))},
	{"listed", "delayed refunds that the payer was told of, in ether", ether(subject(RefundListed))},
	{"received", "delayed refunds that the payer was told were received, in ether", ether(subject(RefundReceived))},
	{"revenue", "what landed blocks have paid to proposers, in ether", ether(outcome(Landed))},
	{"served-value", "the mean value of the headers that were served, in ether", func(facts []Record) float64 {
		return sumEther(facts, subject(HeaderServed)) / count(subject(HeaderServed))(facts)
	}},
	{"served-ms", "the mean time into the slot at which headers were served, in milliseconds",
		func(facts []Record) float64 {
			return meanMs(facts, subject(HeaderServed))
		}},
	{"delivered-ms", "the mean time into the slot at which payloads were delivered, in milliseconds",
		func(facts []Record) float64 {
			return meanMs(facts, subject(PayloadDelivered))
		}},
}

func measureNames() string {
	names := make([]string, len(measures))
	for i, m := range measures {
		names[i] = m.name
	}
	return strings.Join(names, ", ")
}

func count(matches func(Record) bool) func([]Record) float64 {
	return func(facts []Record) float64 {
		n := 0
		for _, fact := range facts {
			if matches(fact) {
				n++
			}
		}
		return float64(n)
	}
}

func ether(matches func(Record) bool) func([]Record) float64 {
	return func(facts []Record) float64 { return sumEther(facts, matches) }
}

// sumEther adds up in wei, and rounds once at the end.
func sumEther(facts []Record, matches func(Record) bool) float64 {
	sum := new(big.Int)
	for _, fact := range facts {
		if value, ok := new(big.Int).SetString(fact.ValueWei, 10); ok && matches(fact) {
			sum.Add(sum, value)
		}
	}
	ether, _ := new(big.Rat).SetFrac(sum, big.NewInt(1e18)).Float64()
	return ether
}

func meanMs(facts []Record, matches func(Record) bool) float64 {
	sum, n := 0.0, 0.0
	for _, fact := range facts {
		if matches(fact) {
			sum += float64(fact.SlotMs)
			n++
		}
	}
	return sum / n
}

// operators are tried in this order: "<=" and ">=" before "<" and ">", with which they begin.
var operators = []string{"<=", ">=", "<", ">", "="}

// comparison reads QUANTITY OP QUANTITY [± TOLERANCE].
func (r *reader) comparison(p *Plan, text string) (*Comparison, error) {
	c := &Comparison{}
	left, right, found := "", "", false
	for _, c.Op = range operators {
		if left, right, found = strings.Cut(text, " "+c.Op+" "); found {
			break
		}
	}
	if !found {
		return nil, fmt.Errorf("write it as a comparison, such as landed / slots >= 0.9; with spaces around one of %s",
			strings.Join(operators, " "))
	}
	right, tolerance, has := strings.Cut(right, "±")
	if !has {
		right, tolerance, has = strings.Cut(right, "+-")
	}
	var err error
	if has {
		if c.Op != "=" {
			return nil, errors.New("a tolerance belongs to =")
		}
		tolerance = strings.TrimSpace(tolerance)
		number, relative := strings.CutSuffix(tolerance, "%")
		c.Relative = relative
		if c.Tolerance, err = parseNumber(number); err != nil || c.Tolerance < 0 {
			return nil, fmt.Errorf("tolerance %q: give a number or a percentage", tolerance)
		}
		if relative {
			c.Tolerance /= 100
		}
	}
	if c.Left, err = r.quantity(p, left); err != nil {
		return nil, err
	}
	if c.Right, err = r.quantity(p, right); err != nil {
		return nil, err
	}
	if c.Left.Term == nil && c.Right.Term == nil {
		return nil, fmt.Errorf("two numbers: give at least one of %s", measureNames())
	}
	return c, nil
}

func parseNumber(text string) (float64, error) {
	n, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil || math.IsNaN(n) || math.IsInf(n, 0) {
		return 0, fmt.Errorf("%q is no number", text)
	}
	return n, nil
}

func (r *reader) quantity(p *Plan, text string) (Quantity, error) {
	var q Quantity
	text = strings.TrimSpace(text)
	if n, err := parseNumber(strings.TrimSuffix(strings.TrimSuffix(text, "eth"), "ms")); err == nil {
		q.Number = n
		return q, nil
	}
	above, below, divided := strings.Cut(text, " / ")
	var err error
	if q.Term, err = r.term(p, above); err != nil {
		return q, err
	}
	if divided {
		q.Below, err = r.term(p, below)
	}
	return q, err
}

// term reads "name" or "name(builder-1, slots=2..5, delay=900ms)".
func (r *reader) term(p *Plan, text string) (*Term, error) {
	text = strings.TrimSpace(text)
	name, arguments, has := strings.Cut(text, "(")
	t := &Term{Name: name}
	if !slices.ContainsFunc(measures, func(m measure) bool { return m.name == name }) {
		return nil, fmt.Errorf("%q is no quantity: give a number or one of %s", text, measureNames())
	}
	if !has {
		return t, nil
	}
	arguments, closed := strings.CutSuffix(arguments, ")")
	if !closed {
		return nil, fmt.Errorf("%q: the bracket is not closed", text)
	}
	for argument := range strings.SplitSeq(arguments, ",") {
		if err := r.argument(p, t, strings.TrimSpace(argument)); err != nil {
			return nil, fmt.Errorf("%q: %w", text, err)
		}
	}
	return t, r.wholeChoice(p, t)
}

func (r *reader) argument(p *Plan, t *Term, argument string) (err error) {
	key, value, setting := strings.Cut(argument, "=")
	switch {
	case !setting:
		if names := slices.Concat(r.actors["BUILDER"], r.actors["RELAY"], r.actors["SEARCHER"]); !slices.Contains(names,
			argument) {
			return fmt.Errorf("%q is unknown: give one of %s, slots=A..B, or a value of what varies", argument,
				strings.Join(names, ", "))
		}
		t.Of = argument
	case key == "slots":
		t.Slots, err = parseRange(value, p.Slots)
	default:
		i := slices.IndexFunc(p.Vary, func(v Parameter) bool { return v.Name == key })
		if i < 0 {
			return fmt.Errorf("%q varies nowhere in this plan", key)
		}
		if !slices.Contains(p.Vary[i].Values, value) {
			return fmt.Errorf("%s never is %q: give one of %s", key, value, strings.Join(p.Vary[i].Values, ", "))
		}
		t.Variant = append(t.Variant, Setting{key, value})
	}
	return err
}

// wholeChoice completes the settings of a term: a parameter that the term leaves out has its first
// value.
func (r *reader) wholeChoice(p *Plan, t *Term) error {
	if len(t.Variant) == 0 {
		return nil
	}
	var whole Choice
	for _, param := range p.Vary {
		value := param.Values[0]
		for _, s := range t.Variant {
			if s.Name == param.Name {
				value = s.Value
			}
		}
		whole = append(whole, Setting{param.Name, value})
	}
	t.Variant = whole
	return nil
}

// errNotRun means that a comparison needs a variant that did not run.
type errNotRun struct{ choice string }

func (e errNotRun) Error() string { return "variant " + e.choice + " did not run" }

func (c *Comparison) judge(p *Plan, facts []Record, others Runs) (met, skipped bool, reason string) {
	left, err := c.Left.value(p, facts, others)
	if err != nil {
		return false, true, err.Error()
	}
	right, err := c.Right.value(p, facts, others)
	if err != nil {
		return false, true, err.Error()
	}
	if math.IsNaN(left) || math.IsNaN(right) {
		return false, false, fmt.Sprintf("%s %s %s: there is nothing to measure", number(left), c.Op, number(right))
	}
	switch c.Op {
	case "<":
		met = left < right
	case "<=":
		met = left <= right
	case ">":
		met = left > right
	case ">=":
		met = left >= right
	default:
		allowed := c.Tolerance
		if c.Relative {
			allowed *= math.Abs(right)
		}
		met = math.Abs(left-right) <= allowed
	}
	word := "is"
	if !met {
		word = "is not"
	}
	return met, false, fmt.Sprintf("%s %s %s %s", number(left), word, c.Op, number(right))
}

func number(n float64) string { return strconv.FormatFloat(n, 'g', 6, 64) }

func (q Quantity) value(p *Plan, facts []Record, others Runs) (float64, error) {
	if q.Term == nil {
		return q.Number, nil
	}
	above, err := q.Term.value(p, facts, others)
	if err != nil || q.Below == nil {
		return above, err
	}
	below, err := q.Below.value(p, facts, others)
	return above / below, err
}

func (t *Term) value(p *Plan, facts []Record, others Runs) (float64, error) {
	if choice := t.Variant.String(); choice != "" && choice != p.Chosen.String() {
		var ran bool
		if facts, ran = others[choice]; !ran {
			return 0, errNotRun{choice}
		}
	}
	var counted []Record
	for _, fact := range facts {
		if fact.Slot <= p.Slots && t.Slots.Has(fact.Slot) && (t.Of == "" || t.Of == fact.Actor || t.Of == fact.About ||
			t.Of == fact.At) {
			counted = append(counted, fact)
		}
	}
	i := slices.IndexFunc(measures, func(m measure) bool { return m.name == t.Name })
	return measures[i].value(counted), nil
}
