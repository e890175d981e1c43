package scenarios

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/gavel-relay/gavel/devnet"
)

// Expectation is one line that says how a run must end: an event that happens or does not, or a
// comparison of quantities.
type Expectation struct {
	Text string
	Line int
	// Event is nil for a comparison, Comparison for an event.
	Event      *EventExpectation
	Comparison *Comparison
}

// EventExpectation asks how often an event happens.
type EventExpectation struct {
	Event string // a phrase of the catalogue
	// Clauses restrict the event. Their keys are by, at, for, with, to, of, under, and "" for the
	// direct object.
	Clauses map[string]string
	Slots   Range
	// Every asks for the event in each slot of Slots. Otherwise it must happen Least to Most times;
	// a negative Most means no upper bound.
	Every       bool
	Least, Most int
}

// happening is an entry of the catalogue of events.
type happening struct {
	phrase  string
	means   string
	clauses map[string]string // allowed keys of Clauses, with the operand that each takes
	matches func(Record) bool
}

func subject(names ...string) func(Record) bool {
	return func(r Record) bool { return slices.Contains(names, r.Subject) }
}

func outcome(id string) func(Record) bool {
	return func(r Record) bool { return r.Subject == SlotFinished && r.ID == id }
}

var (
	byBuilderAtRelay = map[string]string{"by": "BUILDER", "at": "RELAY"}
	ofASlot          = map[string]string{"by": "BUILDER", "under": "FORK"}
)

// happenings are all events that a plan can expect.
var happenings = []happening{
	{"delivered", "a relay has had a block published", byBuilderAtRelay, subject(PayloadDelivered)},
	{"payload revealed", "a relay has published a block, or a proposer has been sent its payload",
		map[string]string{"at": "RELAY"},
		subject(PayloadDelivered, PayloadReceived)},
	{"payload refused", "a proposer signed a header and was given no payload",
		map[string]string{"at": "RELAY", "with": "REFUSAL"},
		subject(PayloadRefused)},
	{"landed", "a relay's block is on the chain, or one that a builder with stake has sold by the network", ofASlot,
		outcome(Landed)},
	{"local block", "the chain has the block of the proposer's own node", ofASlot, outcome(Local)},
	{"missed slot", "the chain has no block", ofASlot, outcome(Missed)},
	{"orphaned", "a block was delivered, but the chain has gone another way", ofASlot, outcome(Orphaned)},
	{"empty slot",
		"the chain has a block without its payload (from gloas on): it was withheld, or the committee does not say that it " +
			"was there in time (unseen), or that its blobs were (no-blobs)",
		map[string]string{"by": "BUILDER", "under": "FORK", "because": "CAUSE"}, outcome(Empty)},
	{"payload withheld", "a relay has taken a block and does not reveal its payload", byBuilderAtRelay,
		subject(PayloadWithheld)},
	{"paid by stake",
		"a payload on the chain pays a proposer from a builder's stake what the bid of its slot has promised",
		map[string]string{"by": "BUILDER"}, subject(StakePaid)},
	{"ledger right",
		"at the end, what was promised from stakes is what payloads have paid and what is still owed, to the Gwei", nil,
		func(r Record) bool { return r.Subject == LedgerClosed && r.ID == LedgerRight }},
	{"header served", "a relay has given a header to a proposer", byBuilderAtRelay, subject(HeaderServed)},
	{"header received", "a proposer has been given a header", map[string]string{"at": "RELAY"}, subject(HeaderReceived)},
	{"bid", "a bid counts", byBuilderAtRelay, func(r Record) bool { return r.Subject == SubmissionJudged && r.Counts }},
	{"cancelled", "a builder has lowered its bid", map[string]string{"by": "BUILDER", "at": "RELAY"},
		subject(BidCancelled)},
	{"refused", "a service has refused a request, with the id of its catalogue",
		map[string]string{"with": "REFUSAL", "for": "ACTOR", "at": "RELAY"},
		func(r Record) bool {
			return r.ID != "" && (r.Subject == SubmissionJudged || r.Subject == PayloadRefused || r.Subject == RequestRefused)
		}},
	{"no answer", "an agent was given no answer", map[string]string{"for": "ACTOR", "at": "RELAY"},
		subject(RequestFailed)},
	{"listener left", "an agent's stream of leading bids or hints ended against its will",
		map[string]string{"for": "ACTOR"}, subject(ListenerLeft)},
	{"registered", "a relay has stored a new registration", map[string]string{"at": "RELAY"}, subject(RegistrationStored)},
	{"registration sent", "a relay has taken a batch of registrations", map[string]string{"at": "RELAY"},
		subject(RegistrationSent)},
	{"demoted", "a builder's bids no longer count before they are validated",
		map[string]string{"": "BUILDER", "at": "RELAY"},
		subject(BuilderDemoted)},
	{"circuit breaker opened", "proposers ask no relay any more", nil, subject(BreakerOpened)},
	{"known block refused", "the beacon node has refused a block that it has already", nil, subject(KnownRefused)},
	{"monitor finds", "the relay monitor reports a fault", map[string]string{"": "CLASS", "at": "PARTY"},
		subject(MonitorFinding)},
	{"stopped", "a service was killed", map[string]string{"": "ACTOR"}, subject(ServiceStopped)},
	{"started", "a service was started again", map[string]string{"": "ACTOR"}, subject(ServiceStarted)},
	{"paused", "a service's process was made to stand still", map[string]string{"": "ACTOR"}, subject(ServicePaused)},
	{"resumed", "it went on", map[string]string{"": "ACTOR"}, subject(ServiceResumed)},
	{"refund promised", "somebody is owed a part of what a bundle paid: ID says whether in its block or delayed",
		map[string]string{"to": "PAYEE", "with": "REFUSAL"},
		subject(RefundCredited)},
	{"refund", "somebody was paid a part of what the backrun paid, less the payout's cost",
		map[string]string{"of": "PERCENT", "to": "PAYEE"},
		subject(RefundPaid)},
	{"refund listed", "the bundle RPC has told the payer of another delayed refund", nil, subject(RefundListed)},
	{"refund received", "the bundle RPC has told the payer that a delayed refund was received", nil,
		subject(RefundReceived)},
	{"books right",
		"the bundle RPC's totals of delayed refunds are its list's sums, and the recipient has to the wei what it is said " +
			"to have received",
		nil, subject(BooksRight)},
	{"hint", "searchers are told of an order", map[string]string{"for": "USER"}, subject(HintSeen)},
	{"hint heard", "a searcher that only listens was told of an order", map[string]string{"by": "SEARCHER"},
		subject(HintHeard)},
	{"hint heard twice", "a searcher that only listens was told of an order once more",
		map[string]string{"by": "SEARCHER"}, subject(HintRepeated)},
	{"history kept", "the history had all that a searcher had ever heard, when it came back after its stream ended",
		map[string]string{"by": "SEARCHER"},
		subject(HistoryKept)},
	{"backrun landed", "a searcher's backrun is on the chain", map[string]string{"by": "SEARCHER", "at": "BUILDER"},
		subject(BackrunLanded)},
	{"bundle landed", "a searcher's own bundle is on the chain", map[string]string{"by": "SEARCHER", "at": "BUILDER"},
		subject(BundleLanded)},
	{"private transaction landed", "a user's private transaction is in a builder's block",
		map[string]string{"for": "USER", "at": "BUILDER"},
		subject(PrivateLanded)},
	{"order cancelled", "a user has taken a private transaction back", map[string]string{"by": "USER"},
		subject(OrderCancelled)},
}

func happeningOf(phrase string) happening {
	for _, h := range happenings {
		if h.phrase == phrase {
			return h
		}
	}
	return happening{}
}

func phrases() string {
	all := make([]string, len(happenings))
	for i, h := range happenings {
		all[i] = h.phrase
	}
	return strings.Join(all, ", ")
}

// fieldOf returns the field of a record that a clause looks at.
func fieldOf(r Record, clause string) string {
	switch clause {
	case "at":
		if r.At != "" {
			return r.At
		}
		return r.Actor
	case "with":
		return r.ID
	case "under":
		return r.Fork
	case "because":
		return r.Because
	case "":
		if r.Subject == MonitorFinding {
			return r.ID
		}
		return r.About
	default:
		if r.About != "" {
			return r.About
		}
		return r.Actor
	}
}

func (r *reader) expectations(p *Plan, n *node) {
	for _, item := range r.list(n) {
		text, ok := r.text(item, "expect")
		if !ok {
			continue
		}
		text = strings.Join(strings.Fields(text), " ")
		one := Expectation{Text: text, Line: item.line}
		var err error
		if i := strings.IndexAny(text, "<>="); i >= 0 && !strings.Contains(text[:i], "(") ||
			strings.ContainsAny(text, "<>") || strings.Contains(text, " = ") {
			one.Comparison, err = r.comparison(p, text)
		} else {
			one.Event, err = r.event(p, text)
		}
		if err != nil {
			r.fail(item.line, "expect", "%q: %w", text, err)
			continue
		}
		p.Expect = append(p.Expect, one)
	}
}

// event reads [no] PHRASE [clauses] [in slot N | in slots A..B | in every slot] [N times | at least
// N times | at most N times].
func (r *reader) event(p *Plan, text string) (*EventExpectation, error) {
	e := &EventExpectation{Clauses: map[string]string{}, Least: 1, Most: -1}
	h, rest, found := findHappening(text)
	if !found {
		if after, no := strings.CutPrefix(text, "no "); no {
			e.Least, e.Most = 0, 0
			h, rest, found = findHappening(after)
		}
	}
	if !found {
		return nil, fmt.Errorf("is no event and no comparison: events are %s", phrases())
	}
	e.Event = h.phrase
	words := strings.Fields(rest)
	for len(words) > 0 {
		used, err := r.clause(p, e, h, words)
		if err != nil {
			return nil, err
		}
		words = words[used:]
	}
	return e, nil
}

func findHappening(text string) (happening, string, bool) {
	best := happening{}
	for _, h := range happenings {
		if (text == h.phrase || strings.HasPrefix(text, h.phrase+" ")) && len(h.phrase) > len(best.phrase) {
			best = h
		}
	}
	return best, strings.TrimPrefix(text, best.phrase), best.phrase != ""
}

// clause reads the clause with which the words begin, and returns how many words it has used.
func (r *reader) clause(p *Plan, e *EventExpectation, h happening, words []string) (int, error) {
	switch {
	case words[0] == "in":
		return r.inSlots(p, e, words)
	case len(words) > 1 && (words[1] == "times" || words[1] == "time"):
		n, err := parseCount(words[0], 0, maxCount)
		e.Least, e.Most = n, n
		return 2, err
	case words[0] == "at" && len(words) > 3 && (words[1] == "least" || words[1] == "most"):
		n, err := parseCount(words[2], 0, maxCount)
		if words[3] != "times" && words[3] != "time" {
			return 0, fmt.Errorf("write it as at %s %s times", words[1], words[2])
		}
		if words[1] == "least" {
			e.Least, e.Most = n, -1
		} else {
			e.Least, e.Most = 0, n
		}
		return 4, err
	}
	operand, known := h.clauses[words[0]]
	if known && words[0] != "" {
		if len(words) < 2 {
			return 0, fmt.Errorf("%s wants a %s behind it", words[0], strings.ToLower(operand))
		}
		return 2, r.takeClause(e, words[0], operand, words[1])
	}
	if operand, direct := h.clauses[""]; direct && e.Clauses[""] == "" {
		return 1, r.takeClause(e, "", operand, words[0])
	}
	return 0, fmt.Errorf("%q does not belong to %s: give %s", words[0], h.phrase, h.syntax())
}

// syntax lists the ways in which an event may be narrowed.
func (h happening) syntax() string {
	parts := []string{}
	for _, word := range sortedKeys(h.clauses) {
		parts = append(parts, strings.TrimSpace(word+" "+h.clauses[word]))
	}
	return strings.Join(append(parts, "in slot N", "in slots A..B", "in every slot", "N times", "at least N times",
		"at most N times"), ", ")
}

func sortedKeys(m map[string]string) []string {
	var keys []string
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

func (r *reader) inSlots(p *Plan, e *EventExpectation, words []string) (int, error) {
	if len(words) < 3 || words[1] != "slot" && words[1] != "slots" && words[1] != "every" {
		return 0, fmt.Errorf("write it as in slot 3, in slots 2..5 or in every slot")
	}
	if words[1] == "every" {
		e.Every = true
		return 3, nil
	}
	var err error
	if e.Slots, err = parseRange(words[2], p.Slots); err != nil {
		return 0, err
	}
	e.Every = e.Every || words[1] == "slots" && len(words) > 3 && words[3] == "each"
	if e.Every {
		return 4, nil
	}
	return 3, nil
}

func (r *reader) takeClause(e *EventExpectation, clause, operand, word string) error {
	if _, twice := e.Clauses[clause]; twice {
		return fmt.Errorf("%s stands twice", clause)
	}
	allowed := r.actors.of(operand)
	switch operand {
	case "PERCENT":
		percent, err := parsePercent(word)
		if err != nil {
			return err
		}
		word, allowed = strconv.FormatFloat(percent, 'f', -1, 64), nil
	case "REFUSAL":
		if !isRefusal(word) {
			return fmt.Errorf("%q is no refusal: give the id of one, such as submission-signature", word)
		}
	case "PAYEE":
		allowed = append(slices.Clone(r.actors.of("USER")), "friend")
	case "FORK":
		allowed = strings.Split(devnet.ForkNames(), ", ")
	case "ACTOR":
		allowed = r.parties()
	}
	if (operand != "PERCENT" && operand != "REFUSAL") && !slices.Contains(allowed, word) {
		return fmt.Errorf("%s %q is unknown: give one of %s", strings.ToLower(operand), word, strings.Join(allowed, ", "))
	}
	e.Clauses[clause] = word
	return nil
}

func isRefusal(word string) bool {
	return word != "" && strings.Trim(word, "abcdefghijklmnopqrstuvwxyz0123456789-") == ""
}
