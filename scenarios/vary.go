package scenarios

import (
	"slices"
	"strconv"
	"strings"

	"github.com/attestantio/go-eth2-client/spec/phase0"
)

func epochOf(n int) phase0.Epoch { return phase0.Epoch(n) }

// maxVariants bounds how many variants one plan has.
const maxVariants = 32

// parameters reads the key "vary". If no choice was given, it chooses the first value of each
// parameter.
func (r *reader) parameters(p *Plan, n *node) {
	if n == nil {
		return
	}
	if n.kind != mapping {
		r.fail(n.line, "vary", "is %s: give names with lists of values, as in delay: [0ms, 900ms]", n.kind)
		return
	}
	variants := 1
	for _, one := range n.pairs {
		param := Parameter{Name: one.key}
		if one.key == "" || strings.Trim(one.key, "abcdefghijklmnopqrstuvwxyz") != "" {
			r.fail(one.line, one.key, "name of what varies: give small letters only")
			continue
		}
		for _, item := range r.list(one.value) {
			if item.kind != scalar || strings.ContainsAny(item.text, "$,()") {
				r.fail(item.line, one.key, "give plain values")
				return
			}
			if slices.Contains(param.Values, item.text) {
				r.fail(item.line, one.key, "%q stands twice", item.text)
			}
			param.Values = append(param.Values, item.text)
		}
		for _, other := range p.Vary {
			if strings.HasPrefix(param.Name, other.Name) || strings.HasPrefix(other.Name, param.Name) {
				r.fail(one.line, one.key, "begins like %s: give names that cannot be mistaken", other.Name)
			}
		}
		if len(param.Values) < 2 {
			r.fail(one.line, one.key, "what varies needs two values or more")
			continue
		}
		p.Vary = append(p.Vary, param)
		if variants *= len(param.Values); variants > maxVariants {
			r.fail(one.line, one.key, "more than %d variants", maxVariants)
			return
		}
	}
	if r.choice == nil {
		for _, param := range p.Vary {
			r.choice = append(r.choice, Setting{param.Name, param.Values[0]})
		}
	}
	p.Chosen = r.choice
}

// refuseUnused refuses parameters that the plan uses nowhere.
func (r *reader) refuseUnused(p *Plan, n *node) {
	for _, param := range p.Vary {
		if !r.used[param.Name] {
			r.fail(n.line, param.Name, "varies, but stands nowhere: write $%s where its value belongs", param.Name)
		}
	}
}

// Variants returns all choices, beginning with the first values; nil if nothing varies.
func (p *Plan) Variants() []Choice {
	if len(p.Vary) == 0 {
		return nil
	}
	all := []Choice{nil}
	for _, param := range p.Vary {
		var longer []Choice
		for _, choice := range all {
			for _, value := range param.Values {
				longer = append(longer, append(slices.Clone(choice), Setting{param.Name, value}))
			}
		}
		all = longer
	}
	return all
}

// String returns the choice as expectations write it: delay=900ms, with commas between settings.
func (c Choice) String() string {
	words := make([]string, len(c))
	for i, s := range c {
		words[i] = s.Name + "=" + s.Value
	}
	return strings.Join(words, ",")
}

// Without returns the plan without what it is about. Faults that are marked key are removed. Actors
// that are marked key get their kind's default strategy; those that have it already are offline.
// Relays that are marked key become honest, without other settings. The values under the plan's key
// "without" replace others. The expectations must not all be met then.
func (p *Plan) Without() (*Plan, error) {
	from := p.source
	from.apply = append(slices.Clone(from.apply), p.without...)
	q, err := read(from, p.Chosen)
	if err != nil {
		return nil, err
	}
	q.Faults = slices.DeleteFunc(q.Faults, func(f Fault) bool { return f.Key })
	for i, b := range q.Builders {
		q.Builders[i].Strategy = opposite(b.Key, b.Strategy, "naive")
	}
	for i, b := range q.Proposers {
		q.Proposers[i].Strategy = opposite(b.Key, b.Strategy, "honest")
	}
	for i, b := range q.Users {
		q.Users[i].Strategy = opposite(b.Key, b.Strategy, "private")
	}
	for i, b := range q.Searchers {
		q.Searchers[i].Strategy = opposite(b.Key, b.Strategy, "backrun")
	}
	for i, b := range q.Relays {
		if b.Key {
			q.Relays[i] = RelayPlan{Name: b.Name, Behaviour: honest}
		}
	}
	return q, nil
}

// Seeded returns the plan with another seed, in all variants.
func (p *Plan) Seeded(seed uint64) (*Plan, error) {
	return p.replaced("seed", strconv.FormatUint(seed, 10))
}

// Slower returns the plan at a fraction of its speed, in all variants: the only change is that
// everything has more wall time.
func (p *Plan) Slower(factor float64) (*Plan, error) {
	return p.replaced("speed", strconv.FormatFloat(p.Speed/factor, 'g', -1, 64))
}

func (p *Plan) replaced(key, value string) (*Plan, error) {
	from := p.source
	from.apply = append(slices.Clone(from.apply), pair{key: key, value: &node{line: 1, text: value}})
	return read(from, p.Chosen)
}

// opposite returns the strategy that an actor has in Without.
func opposite(key bool, strategy []Move, usual string) []Move {
	switch {
	case !key:
		return strategy
	case len(strategy) == 1 && strategy[0].Form == usual:
		return []Move{{Form: "offline"}}
	default:
		return []Move{{Form: usual}}
	}
}

// HasKey says whether Without changes anything.
func (p *Plan) HasKey() bool {
	has := len(p.without) > 0
	for _, f := range p.Faults {
		has = has || f.Key
	}
	for _, a := range p.Builders {
		has = has || a.Key
	}
	for _, a := range p.Proposers {
		has = has || a.Key
	}
	for _, a := range p.Users {
		has = has || a.Key
	}
	for _, a := range p.Searchers {
		has = has || a.Key
	}
	for _, a := range p.Relays {
		has = has || a.Key
	}
	return has
}
