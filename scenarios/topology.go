package scenarios

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gavel-relay/gavel/devnet"
)

// honest is a relay's behaviour if the plan names no other.
const honest = "honest"

// Names in links and faults. Relays, builders, users and searchers have numbers in addition, as in
// relay-1.
const (
	// BeaconNode is the one beacon node.
	BeaconNode = devnet.BeaconName
	// ProposersName are all validators with their sidecar.
	ProposersName = devnet.ProposersName
	// MonitorName is the relay monitor.
	MonitorName = "monitor"
	// PayerName is the agent that pays delayed refunds.
	PayerName = devnet.PayerName
	// RPCName and StreamName are the bundle RPC and the hint stream.
	RPCName    = devnet.RPCName
	StreamName = devnet.StreamName
	// JournalName is a relay's journal, all servers of it: relays alone have connections to it.
	JournalName = "journal"
)

// topology reads who takes part. It names everybody first, because builders may refer to relays and
// relays to builders.
func (r *reader) topology(p *Plan, values map[string]*node) {
	r.actors["CLASS"], r.actors["CAUSE"] = MonitorClasses, Causes
	r.name("RELAY", "relay", values["relays"], 1)
	r.name("BUILDER", "builder", values["builders"], 2)
	r.name("USER", "user", values["users"], 0)
	r.name("SEARCHER", "searcher", values["searchers"], 0)
	r.actors["PARTY"] = slices.Concat(r.actors["RELAY"], r.actors["BUILDER"], []string{ProposersName})
	r.relays(p, values["relays"])
	for _, one := range r.crowd("builders", "BUILDER", values["builders"], builderMoves, "naive") {
		p.Builders = append(p.Builders, BuilderPlan(one))
	}
	for _, one := range r.crowd("users", "USER", values["users"], userMoves, "private") {
		p.Users = append(p.Users, UserPlan(one))
	}
	for _, one := range r.crowd("searchers", "SEARCHER", values["searchers"], searcherMoves, "backrun") {
		p.Searchers = append(p.Searchers, SearcherPlan(one))
	}
	r.proposers(p, values["proposers"])
	r.breaker(p, values["circuit-breaker"])
}

// most bounds how many of a kind take part, because they share one process.
const most = 64

// name gives a name such as builder-2 to each participant of a kind. The plan gives their number,
// or a list whose items may have counts.
func (r *reader) name(operand, stem string, n *node, usual int) {
	count := usual
	switch {
	case n == nil:
	case n.kind == scalar:
		text, _ := r.text(n, stem+"s")
		parsed, err := parseCount(text, 0, most)
		if err != nil {
			r.fail(n.line, stem+"s", "%w, nor a list of what they do", err)
		}
		count = parsed
	default:
		count = 0
		for _, item := range r.list(n) {
			count += r.times(item)
		}
	}
	if count > most {
		r.fail(n.line, stem+"s", "%d are too many: a plan has at most %d", count, most)
		count = most
	}
	for i := range count {
		r.actors[operand] = append(r.actors[operand], stem+"-"+strconv.Itoa(i+1))
	}
}

// times returns the count of an item of a list, 1 if it has none. It ignores errors: they are
// reported when the item itself is read.
func (r *reader) times(item *node) int {
	for _, p := range item.pairs {
		if p.key == "count" && p.value.kind == scalar {
			quiet := &reader{choice: r.choice, used: r.used}
			text, _ := quiet.text(p.value, "count")
			if n, err := parseCount(text, 1, most); err == nil {
				return n
			}
		}
	}
	return 1
}

// member is a participant with a strategy.
type member struct {
	Name     string
	Strategy []Move
	Key      bool
}

// crowd reads builders, users or searchers: a number, or a list of strategies with optional counts.
func (r *reader) crowd(key, operand string, n *node, moves catalogue, usual string) []member {
	var all []member
	names := r.actors[operand]
	if n == nil || n.kind == scalar {
		for _, name := range names {
			all = append(all, member{Name: name, Strategy: []Move{{Form: usual}}})
		}
		return all
	}
	for _, item := range r.list(n) {
		one := member{Strategy: []Move{{Form: usual}}}
		strategy := item
		if item.kind == mapping {
			values := r.pairs(item, "one of "+key, []string{"strategy", "count", "key"})
			one.Key = r.flag(values, "key")
			count := 1
			r.count(values, "count", 1, most, &count)
			strategy = values["strategy"]
		}
		if moves := r.moves(key, strategy, moves); len(moves) > 0 {
			one.Strategy = moves
		}
		for range r.times(item) {
			if len(all) < len(names) {
				one.Name = names[len(all)]
				all = append(all, one)
			}
		}
	}
	return all
}

// moves reads a strategy: one move, or a list of moves of which none stands twice.
func (r *reader) moves(key string, n *node, from catalogue) []Move {
	var all []Move
	for _, item := range r.list(n) {
		text, ok := r.text(item, key)
		if !ok {
			continue
		}
		for part := range strings.SplitSeq(text, ",") {
			move, err := from.read(part, r.actors)
			if err != nil {
				r.fail(item.line, key, "%w", err)
				continue
			}
			if slices.ContainsFunc(all, func(m Move) bool { return m.Form == move.Form && !m.Is("cheat") }) {
				r.fail(item.line, key, "%q stands twice in one strategy", move.Form)
			}
			all = append(all, move)
		}
	}
	return all
}

func (r *reader) relays(p *Plan, n *node) {
	names := r.actors["RELAY"]
	if len(names) == 0 {
		line := 1
		if n != nil {
			line = n.line
		}
		r.fail(line, "relays", "there are none: give at least 1")
		return
	}
	if n == nil || n.kind == scalar {
		for _, name := range names {
			p.Relays = append(p.Relays, RelayPlan{Name: name, Behaviour: honest})
		}
		return
	}
	for i, item := range r.list(n) {
		relay := RelayPlan{Behaviour: honest}
		if i < len(names) {
			relay.Name = names[i]
		}
		values := r.pairs(item, "a relay", []string{"behaviour", "instance-of", "journal-nodes", "header-cut-off",
			"payload-cut-off", "optimistic", "key"})
		if text, ok := r.text(values["behaviour"], "behaviour"); ok {
			if text != honest && !slices.Contains(FaultClasses, text) {
				r.fail(values["behaviour"].line, "behaviour", "%q is unknown: give honest, or one of %s", text,
					strings.Join(FaultClasses, ", "))
			}
			relay.Behaviour = text
		}
		relay.InstanceOf = r.instanceOf(p, values["instance-of"])
		relay.JournalNodes = r.journalNodes(values["journal-nodes"], relay)
		r.span(values, "header-cut-off", &relay.HeaderCutOff)
		r.span(values, "payload-cut-off", &relay.PayloadCutOff)
		for _, one := range r.list(values["optimistic"]) {
			if text, ok := r.text(one, "optimistic"); ok {
				if !slices.Contains(r.actors["BUILDER"], text) {
					r.fail(one.line, "optimistic", "builder %q is unknown: give one of %s", text,
						strings.Join(r.actors["BUILDER"], ", "))
				}
				relay.Optimistic = append(relay.Optimistic, text)
			}
		}
		relay.Key = r.flag(values, "key")
		p.Relays = append(p.Relays, relay)
	}
}

// instanceOf reads of which relay another one is an instance: of one that stands before it, and is
// a relay of its own.
func (r *reader) instanceOf(p *Plan, n *node) string {
	text, ok := r.text(n, "instance-of")
	if !ok {
		return ""
	}
	var own []string
	for _, one := range p.Relays {
		if one.InstanceOf == "" {
			own = append(own, one.Name)
		}
	}
	if !slices.Contains(own, text) {
		r.fail(n.line, "instance-of", "%q is no relay of its own that stands before this one: give one of %s", text,
			strings.Join(own, ", "))
	}
	return text
}

// maxNodes is the most servers that the cluster of a journal can have.
const maxNodes = 5

// journalNodes reads how many servers a relay's journal has. The instances of a relay have the
// journal of the first one.
func (r *reader) journalNodes(n *node, relay RelayPlan) int {
	text, ok := r.text(n, "journal-nodes")
	switch {
	case !ok:
		return 0
	case relay.InstanceOf != "":
		r.fail(n.line, "journal-nodes", "%s has the journal of %s: say it there", relay.Name, relay.InstanceOf)
	case text == "3":
		return 3
	case text == "5":
		return 5
	default:
		r.fail(n.line, "journal-nodes", "%q is no size of a cluster that can lose a server: give 3 or 5", text)
	}
	return 0
}

func (r *reader) proposers(p *Plan, n *node) {
	for _, item := range r.list(n) {
		one := ProposerPlan{Strategy: []Move{{Form: honest}}}
		strategy := item
		if item.kind == mapping {
			values := r.pairs(item, "one of proposers", []string{"slots", "strategy", "key"})
			one.Key, strategy = r.flag(values, "key"), values["strategy"]
			if text, ok := r.text(values["slots"], "slots"); ok {
				var err error
				if one.Slots, err = parseRange(text, p.Slots); err != nil {
					r.fail(values["slots"].line, "slots", "%w", err)
				}
			}
		}
		if moves := r.moves("proposers", strategy, proposerMoves); len(moves) > 0 {
			one.Strategy = moves
		}
		for _, other := range p.Proposers {
			if one.Slots == (Range{}) || other.Slots == (Range{}) || one.Slots.Has(other.Slots.First) ||
				other.Slots.Has(one.Slots.First) {
				r.fail(item.line, "proposers", "%s have two strategies: give each slot one", one.Slots.words())
			}
		}
		p.Proposers = append(p.Proposers, one)
	}
}

// breaker reads the proposers' circuit breaker: "off", its own limits, or the default.
func (r *reader) breaker(p *Plan, n *node) {
	switch {
	case n == nil:
		p.Breaker = devnet.DefaultBreakerLimits()
		return
	case n.kind == scalar && n.text == "off":
		return
	case n.kind == scalar:
		r.fail(n.line, "circuit-breaker", "%q is no breaker: give off, or limits, as in {missed-in-row: %d}", n.text,
			devnet.MaxAllowedMissingSlots)
		return
	}
	values := r.pairs(n, "circuit-breaker", []string{"missed-in-row", "missed", "window"})
	b := &p.Breaker
	r.count(values, "missed-in-row", 1, 1000, &b.MissedInRow)
	r.count(values, "missed", 1, 1000, &b.MissedOf)
	r.count(values, "window", 1, 1000, &b.Window)
	if (b.MissedOf == 0) != (b.Window == 0) || b.MissedOf > b.Window {
		r.fail(n.line, "circuit-breaker",
			"missed and window belong together: missed is how many of the last window slots, as in missed: 5, window: 8")
	}
	if b.Off() {
		*b = devnet.DefaultBreakerLimits()
	}
}

// parties returns all names that a link or a fault may have.
func (r *reader) parties() []string {
	all := []string{BeaconNode, ProposersName, MonitorName, PayerName, RPCName, StreamName, JournalName, "relays",
		"builders"}
	for _, operand := range []string{"RELAY", "BUILDER", "USER", "SEARCHER"} {
		all = append(all, r.actors[operand]...)
	}
	return all
}

func (r *reader) link(text string) (Link, error) {
	from, to, found := strings.Cut(text, "->")
	if !found {
		from, to = "", text
	}
	l := Link{strings.TrimSpace(from), strings.TrimSpace(to)}
	for _, name := range []string{l.From, l.To} {
		if !slices.Contains(r.parties(), name) && (name != "" || found || name == l.To) {
			return l, fmt.Errorf("%q is unknown: give one of %s, or two of them as in builder-1 -> relay-1", name,
				strings.Join(r.parties(), ", "))
		}
	}
	if l.From == JournalName || l.To == JournalName && l.From != "relays" && !slices.Contains(r.actors["RELAY"], l.From) {
		return l, fmt.Errorf("%q: only relays go to a journal: say which one, as in relay-2 -> %s", text, JournalName)
	}
	return l, nil
}

func (r *reader) latencies(p *Plan, n *node) {
	for _, item := range r.list(n) {
		values := r.pairs(item, "latency", []string{"on", "time"})
		var one Latency
		text, _ := r.text(values["on"], "on")
		link, err := r.link(text)
		if err != nil {
			r.fail(item.line, "latency", "on: %w", err)
		}
		one.On = link
		r.span(values, "time", &one.Time)
		if one.Time > 10*time.Minute {
			r.fail(item.line, "latency", "%s is too long: give at most 10m", one.Time)
		}
		p.Latencies = append(p.Latencies, one)
	}
}
