// Package list puts several facts into one message of the journal, because a message costs far more
// than its bytes.
//
//	{"id":1}   {"id":2}   {"id":3}  ──Add──▶  [{"id":1},{"id":2},{"id":3}]  ──Each──▶  {"id":1}   {"id":2}   {"id":3}
//	{"id":4}                        ──Add──▶  {"id":4}                      ──Each──▶  {"id":4}
//
// A fact is a JSON object. One alone is a message as it is, so that readers see no difference until
// several came together.
package list

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Full is from which length in bytes on a message takes no more facts: with that many the journal's
// own work for a message no longer counts.
const Full = 64 << 10

// Message is a message in the making. The zero value has no facts.
type Message struct {
	facts int
	text  []byte // the list without its end, in memory that is used again
}

// Facts is how many there are.
func (m *Message) Facts() int { return m.facts }

// Fits says whether a fact may come to others; the first always does.
func (m *Message) Fits(fact []byte) bool { return m.facts == 0 || len(m.text)+len(fact) < Full }

// Add copies a fact into the message.
func (m *Message) Add(fact []byte) {
	mark := byte(',')
	if m.facts == 0 {
		mark = '['
	}
	m.text = append(append(m.text, mark), fact...)
	m.facts++
}

// Bytes are the whole message, in memory of its own.
func (m *Message) Bytes() []byte {
	if m.facts == 1 {
		return bytes.Clone(m.text[1:])
	}
	return append(append(make([]byte, 0, len(m.text)+1), m.text...), ']')
}

// Reset takes the facts out.
func (m *Message) Reset() {
	m.facts, m.text = 0, m.text[:0]
	if cap(m.text) > 4*Full { // after a fact that was very long
		m.text = nil
	}
}

// Each hands over the facts of a message in their order. The error is handle's, or says that a list
// is none.
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
