package data

import (
	"sync"

	"github.com/gavel-relay/gavel/relay"
)

// answers keeps encoded lists of a slot's submissions: everybody asks for the newest slots, and 500
// rows take milliseconds to read and to write. An answer counts as long as the archive says that
// the slot has the same rows, so nobody is told what is not there any more, also when somebody else
// writes the database; when rows have come it is the beginning of the next one. The zero value has
// none.
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
	page page
	used uint64
}

// Bounds of what is kept, and of what is kept of one.
const (
	answersBytes  = 32 << 20
	questionBytes = 256
)

// find is the last answer to a question and what it was an answer about; false if none is kept.
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

// keep keeps an answer in place of the one before, and forgets those that were not used for
// longest.
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

// bytes is what it takes to keep a page and its question.
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
