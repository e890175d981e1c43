// Package list puts several facts into one message of the journal, because a message costs far more than its bytes.
//
//	{"id":1}   {"id":2}   {"id":3}  ──Add──▶  [{"id":1},{"id":2},{"id":3}]  ──Each──▶  {"id":1}   {"id":2}   {"id":3}
//	{"id":4}                        ──Add──▶  {"id":4}                      ──Each──▶  {"id":4}
//
// A fact is a JSON object. One alone is a message as it is, so that readers see no difference until several came together.
package list

import (
	"encoding/json"
	"fmt"
)

// Full is from which length in bytes on a message takes no more facts: with that many the journal's own work for a message no longer counts.
const Full = 64 << 10

// Message is a message in the making. The zero value has no facts.
type Message struct {
	facts [][]byte
	bytes int // of the facts and what goes between them
}

// Facts is how many there are.
func (m *Message) Facts() int { return len(m.facts) }

// Fits says whether a fact may come to others; the first always does.
func (m *Message) Fits(fact []byte) bool { return len(m.facts) == 0 || m.bytes+len(fact) < Full }

// Add takes a fact, which is the message's from now on.
func (m *Message) Add(fact []byte) {
	m.facts = append(m.facts, fact)
	m.bytes += len(fact) + 1
}

// Bytes are the whole message.
func (m *Message) Bytes() []byte {
	if len(m.facts) == 1 {
		return m.facts[0]
	}
	whole := append(make([]byte, 0, m.bytes+1), '[')
	for i, fact := range m.facts {
		if i > 0 {
			whole = append(whole, ',')
		}
		whole = append(whole, fact...)
	}
	return append(whole, ']')
}

// Reset takes the facts out.
func (m *Message) Reset() {
	clear(m.facts)
	m.facts, m.bytes = m.facts[:0], 0
}

// Each hands over the facts of a message in their order. The error is handle's, or says that a list is none.
func Each(message []byte, handle func(fact []byte) error) error {
	if len(message) == 0 || message[0] != '[' {
		return handle(message)
	}
	var facts []json.RawMessage
	if err := json.Unmarshal(message, &facts); err != nil {
		return fmt.Errorf("read a list of facts: %w", err)
	}
	for _, fact := range facts {
		if err := handle(fact); err != nil {
			return err
		}
	}
	return nil
}
