package app

import (
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/gavel-relay/gavel/scenarios"
	"github.com/gavel-relay/gavel/scenarios/fault"
)

// links are the proxies on all connections, one for each pair of client and service. It is safe for
// concurrent use.
type links struct {
	seed  uint64
	speed float64

	mu      sync.Mutex // guards the fields below
	proxies map[scenarios.Link]*fault.Proxy
	// wires are the relays' ways to the servers of their journal, by the relay.
	wires map[string][]*fault.Proxy
	// broken are the faults that hold now, and the plan's latencies, which always hold.
	broken []condition
}

type condition struct {
	on scenarios.Link
	is fault.Condition
	id int // of the fault; -1 for a latency
}

// newLinks begins with the latencies of a plan. They are chain time there, so they are divided by
// the clock's speed.
func newLinks(p *scenarios.Plan) *links {
	l := &links{seed: p.Seed, speed: p.Speed, proxies: map[scenarios.Link]*fault.Proxy{},
		wires: map[string][]*fault.Proxy{}}
	for _, one := range p.Latencies {
		l.broken = append(l.broken, condition{one.On, fault.Condition{Latency: wallTime(one.Time, p.Speed)}, -1})
	}
	return l
}

// to returns the URL by which from reaches to, whose own URL is given. It opens the proxy on first
// use.
func (l *links) to(from, to, url string) (string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	link := scenarios.Link{From: from, To: to}
	if proxy := l.proxies[link]; proxy != nil {
		return proxy.URL(), nil
	}
	proxy, err := fault.Listen(url, l.seed+uint64(len(l.proxies)))
	if err != nil {
		return "", fmt.Errorf("open the connection %s: %w", link, err)
	}
	l.proxies[link] = proxy
	return proxy.URL(), proxy.Set(l.conditionOf(link))
}

// toJournal returns the addresses by which a relay reaches the servers of its journal, whose own
// addresses are given. It opens the wires on first use.
func (l *links) toJournal(from string, servers []string) ([]string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	link := scenarios.Link{From: from, To: scenarios.JournalName}
	for _, server := range servers[len(l.wires[from]):] {
		wire, err := fault.ListenWire(server)
		if err != nil {
			return nil, fmt.Errorf("open the connection %s: %w", link, err)
		}
		l.wires[from] = append(l.wires[from], wire)
		if err := wire.Set(l.conditionOf(link)); err != nil {
			return nil, fmt.Errorf("open the connection %s: %w", link, err)
		}
	}
	var addresses []string
	for _, wire := range l.wires[from] {
		addresses = append(addresses, wire.Address())
	}
	return addresses, nil
}

// conditionOf combines all conditions that apply to a connection. The caller holds mu.
func (l *links) conditionOf(link scenarios.Link) fault.Condition {
	var sum fault.Condition
	for _, b := range l.broken {
		if within(b.on.To, link.To) && (b.on.From == "" || within(b.on.From, link.From)) {
			sum = sum.And(b.is)
		} else if b.on.From == "" && !strings.HasPrefix(b.on.To, "relay") && b.on.To != scenarios.BeaconNode &&
			within(b.on.To, link.From) {
			sum = sum.And(b.is) // a fault on an agent also breaks the connections that the agent opens
		}
	}
	return sum
}

// within says whether a name of a plan covers a participant: its own name, or "relays" or
// "builders".
func within(name, one string) bool {
	return name == one || name == "relays" && strings.HasPrefix(one, "relay-") || name == "builders" &&
		strings.HasPrefix(one, "builder-")
}

// begin adds a condition to all connections that it applies to; end removes it again.
func (l *links) begin(id int, on scenarios.Link, is fault.Condition) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.broken = append(l.broken, condition{on, is, id})
	return l.apply()
}

func (l *links) end(id int) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	kept := l.broken[:0]
	for _, b := range l.broken {
		if b.id != id {
			kept = append(kept, b)
		}
	}
	l.broken = kept
	return l.apply()
}

// apply sets the condition of every connection. The caller holds mu.
func (l *links) apply() error {
	var errs []error
	set := func(link scenarios.Link, proxy *fault.Proxy) {
		if is := l.conditionOf(link); is != proxy.Condition() {
			if err := proxy.Set(is); err != nil {
				errs = append(errs, fmt.Errorf("connection %s: %w", link, err))
			}
		}
	}
	for link, proxy := range l.proxies {
		set(link, proxy)
	}
	for from, wires := range l.wires {
		for _, wire := range wires {
			set(scenarios.Link{From: from, To: scenarios.JournalName}, wire)
		}
	}
	return errors.Join(errs...)
}

func (l *links) close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	var errs []error
	for _, proxy := range l.proxies {
		errs = append(errs, proxy.Close())
	}
	for _, wires := range l.wires {
		for _, wire := range wires {
			errs = append(errs, wire.Close())
		}
	}
	return errors.Join(errs...)
}
