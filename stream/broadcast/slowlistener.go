package broadcast

import "errors"

// ErrBehind is why a listener is cut that has left too much unread.
var ErrBehind = errors.New("listener is behind")

// cutBehind cuts the listeners that have left too much of the list unread. The chunk that is about
// to be added does not count, however large it is. The caller holds the mutex.
func (b *Broadcast) cutBehind() {
	for l := range b.listeners {
		at := l.at.Load()
		if at == nil || b.tail.total-at.total <= uint64(b.config.QueueBytes) {
			continue
		}
		b.cut.Add(1)
		l.at.Store(nil) // otherwise the listener would keep chunks in memory that it never takes
		l.end(ErrBehind)
		b.remove(l)
	}
}
