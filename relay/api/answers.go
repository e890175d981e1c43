package api

import (
	"sync"

	"github.com/gavel-relay/gavel/relay"
)

// answers keeps encoded lists of a slot's submissions, because many clients ask for the newest
// slots, and 500 rows take milliseconds to read and to encode. An answer is valid as long as the
// archive says that the slot has the same rows. So no client gets rows that are gone, even if
// another process writes the database. When rows have come, the kept answer becomes the rest of the
// next one. The zero value is empty and ready.
type answers struct {
	mu   sync.Mutex // guards all below
	kept map[question]*kept
	size int
	used uint64 // counts uses
}

// question is what an answer depends on. The bytes of a kept answer must not be changed.
type question struct {
	query, media string
}

type kept struct {
	mark relay.Mark
	page page
	used uint64
}

// Bounds of all kept answers together, and of the query of one, in bytes.
const (
	answersBytes  = 32 << 20
	questionBytes = 256
)

// find returns the last answer to a question and the mark of the rows in it; false if none is kept.
func (a *answers) find(q question) (page, relay.Mark, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	known := a.kept[q]
	if known == nil {
		return page{}, relay.Mark{}, false
	}
	a.used++
	known.used = a.used
	return known.page, known.mark, true
}

// keep keeps an answer in place of the one before, and drops the least recently used ones above the
// bound.
func (a *answers) keep(q question, mark relay.Mark, p page) {
	if len(q.query) > questionBytes || p.bytes() > answersBytes/8 {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.kept == nil {
		a.kept = map[question]*kept{}
	}
	a.drop(q)
	for a.size+p.bytes() > answersBytes {
		a.drop(a.oldest())
	}
	a.used++
	a.kept[q] = &kept{mark, p, a.used}
	a.size += p.bytes()
}

// bytes is how much memory a page and its question take.
func (p page) bytes() int { return cap(p.raw) + 4*cap(p.lengths) + questionBytes }

func (a *answers) drop(q question) {
	if known := a.kept[q]; known != nil {
		a.size -= known.page.bytes()
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
