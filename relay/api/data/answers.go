package data

import (
	"sync"

	"github.com/gavel-relay/gavel/relay"
)

// answers keeps encoded lists of a slot's submissions: everybody asks for the newest slots, and 500 rows take milliseconds to read and to write.
// An answer counts as long as the archive says that the slot has the same rows, so nobody is told what is not there any more, also when somebody
// else writes the database. The zero value has none.
type answers struct {
	mu   sync.Mutex // guards all below
	kept map[question]*kept
	size int
	used uint64 // counts uses
}

// question is what an answer depends on. Nobody may change the bytes of one.
type question struct {
	query, media string
}

type kept struct {
	mark relay.Mark
	raw  []byte
	used uint64
}

// Bounds of what is kept, and of what is kept of one.
const (
	answersBytes  = 32 << 20
	questionBytes = 256
)

// find is the answer to a question, nil if there is none that counts.
func (a *answers) find(q question, mark relay.Mark) []byte {
	a.mu.Lock()
	defer a.mu.Unlock()
	known := a.kept[q]
	if known == nil || known.mark != mark {
		return nil
	}
	a.used++
	known.used = a.used
	return known.raw
}

// keep keeps an answer in place of the one before, and forgets those that were not used for longest.
func (a *answers) keep(q question, mark relay.Mark, raw []byte) {
	if len(q.query) > questionBytes || len(raw) > answersBytes/8 {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.kept == nil {
		a.kept = map[question]*kept{}
	}
	a.drop(q)
	for a.size+len(raw)+questionBytes > answersBytes {
		a.drop(a.oldest())
	}
	a.used++
	a.kept[q] = &kept{mark, raw, a.used}
	a.size += len(raw) + questionBytes
}

func (a *answers) drop(q question) {
	if known := a.kept[q]; known != nil {
		a.size -= len(known.raw) + questionBytes
		delete(a.kept, q)
	}
}

func (a *answers) oldest() (oldest question) {
	var least uint64
	for q, known := range a.kept {
		if least == 0 || known.used < least {
			oldest, least = q, known.used
		}
	}
	return oldest
}
