package beacon

import (
	"encoding/json"
	"sync"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/relay"
)

// headTopic is the event of a new head.
const headTopic = "head"

// remembered is how many different announcements are kept. If a node is behind the others by more
// than these, its announcements are passed on a second time.
const remembered = 256

// merger passes each announcement on once, from the node that sends it first. Nodes encode the same
// announcement differently, so decoded announcements are compared, and not bytes. An announcement
// from a node that lags behind is not passed on again. If one node announces the same again,
// because its chain went back, it is.
type merger struct {
	events Events
	heard  func(node string, slot phase0.Slot) // called for each head of a node, even if it is not passed on

	mu    sync.Mutex // held while an event function runs, so that they are called one at a time
	known map[string]*announcement
	order []string // of known, the oldest first
	last  map[string]string
}

// announcement counts how often an announcement was heard from each node, and how often it was
// passed on.
type announcement struct {
	heard    map[string]int
	passedOn int
}

// take handles an event from a node.
func (m *merger) take(node, topic string, data []byte) error {
	switch topic {
	case headTopic:
		head, err := parseHead(data)
		if err != nil {
			return err
		}
		m.heard(node, head.Slot)
		return m.merge(node, topic, head, func() { m.events.Head(head) })
	case "payload_attributes":
		attributes, err := eth.ParsePayloadAttributes(data)
		if err != nil {
			return err
		}
		return m.merge(node, topic, attributes, func() { m.events.Attributes(relay.Attributes(attributes)) })
	default:
		return nil // not asked for
	}
}

func (m *merger) merge(node, topic string, event any, tell func()) error {
	said, err := json.Marshal(event)
	if err != nil {
		return err
	}
	key := topic + " " + string(said)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fresh(node, topic, key) {
		tell()
	}
	return nil
}

// fresh says whether to pass an announcement on. The caller holds mu.
func (m *merger) fresh(node, topic, key string) bool {
	if m.known == nil {
		m.known, m.last = map[string]*announcement{}, map[string]string{}
	}
	a := m.known[key]
	if a == nil {
		a = &announcement{heard: map[string]int{}}
		m.known[key] = a
		if m.order = append(m.order, key); len(m.order) > remembered {
			delete(m.known, m.order[0])
			m.order = m.order[1:]
		}
	}
	a.heard[node]++
	if a.heard[node] <= a.passedOn {
		return false
	}
	a.passedOn = a.heard[node]
	if m.last[topic] == key {
		return false // the newest one again, from a node whose stream was opened again
	}
	m.last[topic] = key
	return true
}
