package journal

import "bytes"

// fullList is the length in bytes from which on a message takes no more facts. In so long a message
// the journal's cost per message no longer matters.
const fullList = 64 << 10

// factList puts several facts into one message, because a message costs far more than its bytes.
//
//	{"id":1}   {"id":2}   {"id":3}  ──add──▶  [{"id":1},{"id":2},{"id":3}]
//	{"id":4}                        ──add──▶  {"id":4}
//
// A fact is a JSON object. A single fact is a message without a list, as it was before there were
// lists. The zero value has no facts.
type factList struct {
	count int
	text  []byte // the list without its closing bracket, in memory that is reused
}

// facts is the number of facts.
func (l *factList) facts() int { return l.count }

// fits says whether a fact may be added; the first always may.
func (l *factList) fits(fact []byte) bool { return l.count == 0 || len(l.text)+len(fact) < fullList }

// add copies a fact into the message.
func (l *factList) add(fact []byte) {
	mark := byte(',')
	if l.count == 0 {
		mark = '['
	}
	l.text = append(append(l.text, mark), fact...)
	l.count++
}

// message is the complete message, as a copy.
func (l *factList) message() []byte {
	if l.count == 1 {
		return bytes.Clone(l.text[1:])
	}
	return append(append(make([]byte, 0, len(l.text)+1), l.text...), ']')
}

// reset removes the facts.
func (l *factList) reset() {
	l.count, l.text = 0, l.text[:0]
	if cap(l.text) > 4*fullList { // after a fact that was very long
		l.text = nil
	}
}
