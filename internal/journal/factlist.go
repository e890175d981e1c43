package journal

import "bytes"

// fullList is from which length in bytes on a message takes no more facts: with that many the
// journal's own work for a message no longer counts.
const fullList = 64 << 10

// factList puts several facts into one message, because a message costs far more than its bytes.
//
//	{"id":1}   {"id":2}   {"id":3}  ──add──▶  [{"id":1},{"id":2},{"id":3}]
//	{"id":4}                        ──add──▶  {"id":4}
//
// A fact is a JSON object. One alone is a message as it is, so that readers see no difference until
// several came together. The zero value has no facts.
type factList struct {
	count int
	text  []byte // the list without its end, in memory that is used again
}

// facts is how many there are.
func (l *factList) facts() int { return l.count }

// fits says whether a fact may come to others; the first always does.
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

// message is the whole message, in memory of its own.
func (l *factList) message() []byte {
	if l.count == 1 {
		return bytes.Clone(l.text[1:])
	}
	return append(append(make([]byte, 0, len(l.text)+1), l.text...), ']')
}

// reset takes the facts out.
func (l *factList) reset() {
	l.count, l.text = 0, l.text[:0]
	if cap(l.text) > 4*fullList { // after a fact that was very long
		l.text = nil
	}
}
