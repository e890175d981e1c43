package scenarios

import (
	"fmt"
	"slices"
	"strings"
)

// events reads what goes wrong and when (latencies and faults), and what is expected.
func (r *reader) events(p *Plan, values map[string]*node) {
	r.latencies(p, values["latency"])
	for _, item := range r.list(values["faults"]) {
		r.fault(p, item)
	}
	r.expectations(p, values["expect"])
}

// BreaksProcess says whether the fault breaks a service's process, or what the process needs: its
// disk, journal or clock.
func (f Fault) BreaksProcess() bool { return f.What.Is(processFaults...) }

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
	if err := r.breakable(p, f); err != nil {
		r.fail(item.line, "on", "%w", err)
	}
	p.Faults = append(p.Faults, f)
}

// breakable checks that this kind of fault can break what it is on.
func (r *reader) breakable(p *Plan, f Fault) error {
	on, relay := f.On.To, slices.Contains(r.actors["RELAY"], f.On.To)
	ours := relay || on == RPCName || on == StreamName
	switch {
	case on == JournalName && !f.What.Is("latency", "partition", "reset"):
		return fmt.Errorf("%s needs a connection with requests of HTTP: on the way to a journal there can be latency, "+
			"partition and reset", f.What)
	case f.What.Is(linkFaults...):
		return nil
	case f.On.From != "":
		return fmt.Errorf("%s breaks a service, not a connection: give one name", f.What)
	case f.What.Is("slow validation", "validation", "database") && !relay:
		return fmt.Errorf("%s needs a relay: give one of %s", f.What, strings.Join(r.actors["RELAY"], ", "))
	case f.What.Is("kill") && !ours && on != BeaconNode:
		return fmt.Errorf("%s needs a service: give a relay, %s, %s or %s", f.What, BeaconNode, RPCName, StreamName)
	case f.What.Is("known blocks", "committee", "envelopes") && on != BeaconNode:
		return fmt.Errorf("%s needs the beacon node: give %s", f.What, BeaconNode)
	case f.What.Is("journal away") && !relay && on != RPCName:
		return fmt.Errorf("%s needs a service with a journal of its own: give a relay, or %s", f.What, RPCName)
	case f.What.Is("journal node") && p.journalNodes(on) < f.What.Count:
		return fmt.Errorf("%s needs a relay whose journal-nodes are so many: those of %s are %d", f.What, on,
			p.journalNodes(on))
	case f.What.Is(processFaults...) && !f.What.Is("kill", "skew") && !ours:
		return fmt.Errorf("%s needs a process of its own: give a relay, %s or %s", f.What, RPCName, StreamName)
	case !f.What.Is("skew") && (on == RPCName || on == StreamName) && len(p.Users)+len(p.Searchers) == 0:
		return fmt.Errorf("%s does not run: give users or searchers", on)
	}
	return together(p, f)
}

// together refuses faults that exclude each other: "database down" locks the database in the
// service's own folder, and does not find it there if the service's data is on a disk of the lab.
func together(p *Plan, f Fault) error {
	const locks = "database down"
	for _, other := range p.Faults {
		if other.On == f.On && (f.What.Is(diskFaults...) && other.What.Is(locks) || f.What.Is(locks) &&
			other.What.Is(diskFaults...)) {
			return fmt.Errorf("%s and %s are on %s both: give a story to each", other.What, f.What, f.On)
		}
	}
	return nil
}

// BreaksDisk says whether a service's disk breaks in the plan; an empty name means any service.
func (p *Plan) BreaksDisk(service string) bool { return p.breaks(service, diskFaults) }

// JournalIsFar says whether something is on a relay's way to its journal.
func (p *Plan) JournalIsFar(relay string) bool {
	covers := func(on Link) bool { return on.To == JournalName && (on.From == relay || on.From == "relays") }
	return slices.ContainsFunc(p.Latencies, func(one Latency) bool { return covers(one.On) }) ||
		slices.ContainsFunc(p.Faults, func(one Fault) bool { return covers(one.On) })
}

// JournalApart says whether the server of a service's journal must be a process of its own: the
// plan kills it, several instances share it, or something is on the way to it.
func (p *Plan) JournalApart(service string) bool {
	return p.JournalIsFar(service) || p.breaks(service, []string{"journal away"}) || p.journalNodes(service) > 0 ||
		slices.ContainsFunc(p.Relays, func(one RelayPlan) bool { return one.InstanceOf == service })
}

// journalNodes returns how many servers the cluster of a service's journal has; 0 is no cluster.
func (p *Plan) journalNodes(service string) int {
	for _, one := range p.Relays {
		if one.Name == p.RelayOf(service) {
			return one.JournalNodes
		}
	}
	return 0
}

// RelayOf returns the name of the relay of which a relay of the plan is an instance; a relay of its
// own is the first of its instances.
func (p *Plan) RelayOf(name string) string {
	for _, one := range p.Relays {
		if one.Name == name && one.InstanceOf != "" {
			return one.InstanceOf
		}
	}
	return name
}

func (p *Plan) breaks(service string, by []string) bool {
	return slices.ContainsFunc(p.Faults, func(f Fault) bool {
		return f.What.Is(by...) && (service == "" || f.On.To == service)
	})
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
