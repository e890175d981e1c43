package plan

import "strings"

// events reads what happens at a time, and what is expected.
func (r *reader) events(p *Plan, values map[string]*node) {
	r.latencies(p, values["latency"])
	for _, item := range r.list(values["faults"]) {
		r.fault(p, item)
	}
	r.expectations(p, values["expect"])
}

func (r *reader) fault(p *Plan, item *node) {
	values := r.pairs(item, "a fault", []string{"fault", "on", "from", "until", "key"})
	f := Fault{Key: r.flag(values, "key")}
	text, _ := r.text(values["fault"], "fault")
	var err error
	if f.What, err = faultMoves.read(text, r.actors); err != nil {
		r.fail(item.line, "fault", "%w", err)
		return
	}
	on, _ := r.text(values["on"], "on")
	if f.On, err = r.link(on); err != nil {
		r.fail(item.line, "on", "%w", err)
		return
	}
	r.moment(p, values["from"], "from", &f.From)
	r.moment(p, values["until"], "until", &f.Until)
	if f.Until != (Moment{}) && f.Until.In(p.Slot) <= f.From.In(p.Slot) {
		r.fail(item.line, "until", "%s is not after %s", f.Until, f.From)
	}
	switch {
	case f.What.Is(linkFaults...):
	case f.On.From != "":
		r.fail(item.line, "on", "%s breaks a service, not a connection: give one name", f.What)
	case f.What.Is("slow", "validation", "database") && !strings.HasPrefix(f.On.To, "relay-"):
		r.fail(item.line, "on", "%s needs a relay: give one of %s", f.What, strings.Join(r.actors["RELAY"], ", "))
	case f.What.Is("kill") && !strings.HasPrefix(f.On.To, "relay-") && f.On.To != BeaconNode && f.On.To != RPCName && f.On.To != StreamName:
		r.fail(item.line, "on", "%s needs a service: give a relay, %s, %s or %s", f.What, BeaconNode, RPCName, StreamName)
	case f.What.Is("kill") && (f.On.To == RPCName || f.On.To == StreamName) && len(p.Users)+len(p.Searchers) == 0:
		r.fail(item.line, "on", "%s does not run: give users or searchers", f.On.To)
	}
	p.Faults = append(p.Faults, f)
}

func (r *reader) moment(p *Plan, n *node, key string, into *Moment) {
	text, ok := r.text(n, key)
	if !ok {
		return
	}
	m, err := parseMoment(text, p.Slots)
	if err != nil {
		r.fail(n.line, key, "%w", err)
		return
	}
	*into = m
}
