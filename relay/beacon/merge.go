package beacon

import (
	"encoding/json"
	"sync"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/relay"
)

// Topics of events: of a new head, in the forms before gloas and from then on; of a block that a
// node has imported, whether it is the head or not; of what blocks for a slot must carry; and of
// what a proposer asks of builders, from gloas on.
const (
	headTopic        = "head"
	headV2Topic      = "head_v2"
	blockTopic       = "block"
	attributesTopic  = "payload_attributes"
	preferencesTopic = "proposer_preferences"
)

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
	case headTopic, headV2Topic: // a node may send both of one head: the second is not passed on
		parse := parseHead
		if topic == headV2Topic {
			parse = parseHeadV2
		}
		head, err := parse(data)
		if err != nil {
			return err
		}
		m.heard(node, head.Slot)
		return m.merge(node, headTopic, head, func() { m.events.Head(head) })
	case blockTopic:
		block, err := parseBlock(data)
		if err != nil {
			return err
		}
		return m.merge(node, topic, block, func() { m.events.Block(block.Slot, block.Root) })
	case preferencesTopic:
		preferences, err := parsePreferences(data)
		if err != nil {
			return err
		}
		return m.merge(node, topic, preferences, func() { m.events.Preferences(preferences) })
	case attributesTopic:
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
