package scenarios

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gavel-relay/gavel/devnet"
	"github.com/gavel-relay/gavel/internal/eth"
)

// source is the text that a plan was read from, parsed; other variants are read from it again.
type source struct {
	file  string
	tree  *node
	apply []pair // values that replace those of the same keys
}

// Parse reads a plan. The file's name gives the plan its name and stands in errors, which are
// joined: file:line: key: what is wrong, and what is allowed there. If the plan varies, Parse
// checks all variants and returns the first.
func Parse(file string, text []byte) (*Plan, error) {
	tree, err := readYAML(filepath.Base(file), text)
	if err != nil {
		return nil, err
	}
	first, err := read(source{file: filepath.Base(file), tree: tree}, nil)
	if err != nil {
		return nil, err
	}
	for _, choice := range first.Variants() {
		if _, err := first.With(choice); err != nil {
			return nil, fmt.Errorf("variant %s: %w", choice, err)
		}
	}
	return first, nil
}

// With returns the variant of the plan that a choice names.
func (p *Plan) With(choice Choice) (*Plan, error) { return read(p.source, choice) }

// reader reads a plan and collects its errors.
type reader struct {
	file   string
	errs   []error
	choice Choice
	used   map[string]bool // parameters that are used somewhere
	actors actors
}

// actors maps an operand to the names that may stand for it.
type actors map[string][]string

func (a actors) of(operand string) []string { return a[operand] }

func (r *reader) fail(line int, key, format string, args ...any) {
	r.errs = append(r.errs, fmt.Errorf("%s:%d: %s: %w", r.file, line, key, fmt.Errorf(format, args...)))
}

// keysOfPlan are the keys of a plan, in the order in which Text writes them.
var keysOfPlan = []string{
	"why", "slots", "slot", "speed", "seed", "slots-per-epoch", "forks", "validators", "txs", "blob-every", "relays",
	"builders", "proposers",
	"users", "searchers", "circuit-breaker", "latency", "faults", "monitor", "payer", "vary", "expect", "without",
}

func read(from source, choice Choice) (*Plan, error) {
	r := &reader{file: from.file, choice: choice, used: map[string]bool{}, actors: actors{}}
	p := defaults()
	p.Name = strings.TrimSuffix(strings.TrimSuffix(from.file, ".yml"), ".yaml")
	p.source = from
	values := r.pairs(from.tree, "the plan", keysOfPlan)
	p.without = r.without(values["without"])
	for _, override := range from.apply {
		values[override.key] = override.value
	}
	r.parameters(p, values["vary"])
	r.scale(p, values)
	r.topology(p, values)
	if p.Payer && len(p.Users)+len(p.Searchers) == 0 {
		r.fail(values["payer"].line, "payer", "there are no refunds to pay: give users or searchers")
	}
	r.events(p, values)
	r.refuseUnused(p, values["vary"])
	if len(r.errs) > 0 {
		return nil, errors.Join(r.errs...)
	}
	return p, nil
}

func defaults() *Plan {
	return &Plan{
		Slots: 4, Slot: 12 * time.Second, Speed: 8, Seed: 1, SlotsPerEpoch: 8, Validators: 16, TxsPerSlot: 20,
		Forks: []eth.ForkPoint{{Fork: eth.Fulu}},
	}
}

// pairs returns the values of a mapping by key. It leaves empty values out, so that an empty key
// gets its default.
func (r *reader) pairs(n *node, where string, allowed []string) map[string]*node {
	values := map[string]*node{}
	if n.kind == empty {
		return values
	}
	if n.kind != mapping {
		r.fail(n.line, where, "is %s: give keys with values, of %s", n.kind, strings.Join(allowed, ", "))
		return values
	}
	for _, p := range n.pairs {
		switch {
		case !slices.Contains(allowed, p.key):
			r.fail(p.line, p.key, "unknown key of %s: give any of %s", where, strings.Join(allowed, ", "))
		case p.value.kind != empty:
			values[p.key] = p.value
		}
	}
	return values
}

func (r *reader) without(n *node) []pair {
	if n == nil {
		return nil
	}
	r.pairs(n, "without", slices.DeleteFunc(slices.Clone(keysOfPlan), func(k string) bool {
		return k == "without" || k == "expect" || k == "vary"
	}))
	return n.pairs
}

// text returns a scalar with its parameters filled in.
func (r *reader) text(n *node, key string) (string, bool) {
	if n == nil {
		return "", false
	}
	if n.kind != scalar {
		r.fail(n.line, key, "is %s: give one value", n.kind)
		return "", false
	}
	text := n.text
	for _, s := range r.choice {
		if strings.Contains(text, "$"+s.Name) {
			r.used[s.Name] = true
			text = strings.ReplaceAll(text, "$"+s.Name, s.Value)
		}
	}
	return text, true
}

func (r *reader) count(values map[string]*node, key string, least, most int, into *int) {
	text, ok := r.text(values[key], key)
	if !ok {
		return
	}
	n, err := parseCount(text, least, most)
	if err != nil {
		r.fail(values[key].line, key, "%w", err)
		return
	}
	*into = n
}

func (r *reader) flag(values map[string]*node, key string) bool {
	text, ok := r.text(values[key], key)
	if ok && text != "true" && text != "false" {
		r.fail(values[key].line, key, "is %q: give true or false", text)
	}
	return text == "true"
}

func (r *reader) span(values map[string]*node, key string, into *time.Duration) {
	text, ok := r.text(values[key], key)
	if !ok {
		return
	}
	d, err := parseSpan(text)
	if err != nil {
		r.fail(values[key].line, key, "%w", err)
		return
	}
	*into = d
}

// list returns the items of a list; a single value is a list of one.
func (r *reader) list(n *node) []*node {
	switch {
	case n == nil || n.kind == empty:
		return nil
	case n.kind == list:
		return n.items
	default:
		return []*node{n}
	}
}

// scale reads how long and how fast the run is, and the keys that apply to the whole chain.
func (r *reader) scale(p *Plan, values map[string]*node) {
	p.Why, _ = r.text(values["why"], "why")
	p.Why = strings.TrimSpace(p.Why)
	r.count(values, "slots", 1, 10_000, &p.Slots)
	r.count(values, "slots-per-epoch", 2, 256, &p.SlotsPerEpoch)
	r.count(values, "validators", 1, 65_536, &p.Validators)
	r.count(values, "txs", 0, 2_000, &p.TxsPerSlot)
	r.count(values, "blob-every", 0, maxCount, &p.BlobEvery)
	r.span(values, "slot", &p.Slot)
	if p.Slot < time.Second || p.Slot > time.Hour || p.Slot%time.Second != 0 {
		r.fail(values["slot"].line, "slot", "is %s: give whole seconds from 1s to 1h, since block timestamps count seconds",
			p.Slot)
	}
	if text, ok := r.text(values["seed"], "seed"); ok {
		seed, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			r.fail(values["seed"].line, "seed", "is %q: give a whole number, 0 or more", text)
		}
		p.Seed = seed
	}
	if text, ok := r.text(values["speed"], "speed"); ok {
		speed, err := strconv.ParseFloat(text, 64)
		if err != nil || !(speed >= 0.01 && speed <= 1000) {
			r.fail(values["speed"].line, "speed", "is %q: give a number from 0.01 to 1000; 1 runs like the wall clock", text)
		}
		p.Speed = speed
	}
	p.Monitor, p.Payer = r.flag(values, "monitor"), r.flag(values, "payer")
	r.forks(p, values["forks"])
}

// forks reads fork@epoch entries; the first may leave its epoch out, since it is active at genesis.
func (r *reader) forks(p *Plan, n *node) {
	var points []eth.ForkPoint
	for _, item := range r.list(n) {
		text, ok := r.text(item, "forks")
		if !ok {
			return
		}
		name, epochText, found := strings.Cut(text, "@")
		fork, err := eth.ParseFork(name)
		if err != nil {
			r.fail(item.line, "forks", "%q is unknown: give one of %s, with the epoch at which it begins, as in fulu@1", name,
				devnet.ForkNames())
			return
		}
		epoch := 0
		if found {
			if epoch, err = parseCount(epochText, 0, maxCount); err != nil {
				r.fail(item.line, "forks", "epoch %w", err)
				return
			}
		}
		point := eth.ForkPoint{Fork: fork, Epoch: epochOf(epoch)}
		switch last := len(points) - 1; {
		case last < 0 && epoch != 0:
			r.fail(item.line, "forks", "the first one is %s: it must begin at epoch 0", text)
		case last >= 0 && (points[last].Fork.Includes(fork) || point.Epoch <= points[last].Epoch):
			r.fail(item.line, "forks", "%s comes after %s@%d: give later forks at later epochs", text, points[last].Fork,
				points[last].Epoch)
		}
		points = append(points, point)
	}
	if len(points) > 0 {
		p.Forks = points
	}
}
