package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"

	"github.com/gavel-relay/gavel/internal/journal"
	"github.com/gavel-relay/gavel/rpc"
)

// stateStore keeps what is so now, by subject; *journal.Journal does. All is kept when the call
// returns without an error; with one nothing is known.
type stateStore interface {
	PutState(ctx context.Context, subject string, data []byte) error
	// State answers with journal.ErrNotFound when nothing is under the subject.
	State(ctx context.Context, subject string) ([]byte, error)
	// DropState takes a subject that may end with ".>", for all below it.
	DropState(ctx context.Context, subject string) error
}

// paged keeps a list of any length under one subject, in pages, since a message has a bound. New
// pages are written beside those that hold, and hold from the moment at which the head is put: a
// kill in between leaves the list as it was.
//
//	subject       head: which pages hold, and what else belongs to them
//	subject.a.0 … subject.a.9      and while they hold      subject.b.0 … are written
//
// It is not safe for concurrent use. Read comes before Put.
type paged struct {
	store   stateStore
	subject string
	full    int // pageBytes
	head    pagedHead
	unsure  bool // whether the last head that was put holds
}

type pagedHead struct {
	Side  string          `json:"side"`
	Pages int             `json:"pages"`
	Note  json.RawMessage `json:"note,omitempty"`
}

// pageBytes is from which length on a page takes no more items. An item alone may be longer.
const pageBytes = 1 << 20

func newPaged(store stateStore, subject string) paged {
	return paged{store: store, subject: subject, full: pageBytes}
}

// put keeps a list of JSON objects in place of what was, with a note in its head.
func (p *paged) put(ctx context.Context, note any, items iter.Seq2[[]byte, error]) error {
	if p.unsure {
		if _, err := p.readHead(ctx); err != nil && !errors.Is(err, journal.ErrNotFound) {
			return err
		}
		p.unsure = false
	}
	text, err := json.Marshal(note)
	if err != nil {
		return fmt.Errorf("encode the head of %s: %w", p.subject, err)
	}
	next := pagedHead{Side: "a", Note: text}
	if p.head.Side == "a" {
		next.Side = "b"
	}
	if err := p.drop(ctx, next.Side); err != nil { // what a write left that came to no end
		return err
	}
	if next.Pages, err = p.putPages(ctx, next.Side, items); err != nil {
		return err
	}
	data, err := json.Marshal(next)
	if err != nil {
		return fmt.Errorf("encode the head of %s: %w", p.subject, err)
	}
	p.unsure = true
	if err := p.store.PutState(ctx, p.subject, data); err != nil {
		return err
	}
	before := p.head.Side
	p.head, p.unsure = next, false
	if before != "" {
		_ = p.drop(ctx, before) // else the next list that is written there does it
	}
	return nil
}

func (p *paged) drop(ctx context.Context, side string) error {
	return p.store.DropState(ctx, p.subject+"."+side+".>")
}

func (p *paged) putPages(ctx context.Context, side string, items iter.Seq2[[]byte, error]) (pages int, err error) {
	var page []byte
	flush := func() error {
		if len(page) == 0 {
			return nil
		}
		err := p.store.PutState(ctx, p.page(side, pages), append(page, ']'))
		page = page[:0]
		pages++
		return err
	}
	for item, err := range items {
		if err != nil {
			return 0, err
		}
		if len(page) > 0 && len(page)+len(item) >= p.full {
			if err := flush(); err != nil {
				return 0, err
			}
		}
		mark := byte(',')
		if len(page) == 0 {
			mark = '['
		}
		page = append(append(page, mark), item...)
	}
	return pages, flush()
}

func (p *paged) page(side string, number int) string {
	return fmt.Sprintf("%s.%s.%d", p.subject, side, number)
}

// read hands over the items of the list that holds, in order, and reads the note, if it is not nil.
// The error is journal.ErrNotFound when there never was one.
func (p *paged) read(ctx context.Context, note any, handle func(item []byte) error) error {
	before, err := p.readHead(ctx)
	if err != nil {
		return err
	}
	if before != nil {
		return rpc.EachFact(before, handle)
	}
	if note != nil {
		if err := json.Unmarshal(p.head.Note, note); err != nil {
			return fmt.Errorf("decode the head of %s: %w", p.subject, err)
		}
	}
	for number := range p.head.Pages {
		data, err := p.store.State(ctx, p.page(p.head.Side, number))
		if err != nil {
			return err
		}
		if err := rpc.EachFact(data, handle); err != nil {
			return fmt.Errorf("decode page %d of %s: %w", number, p.subject, err)
		}
	}
	return nil
}

// readHead reads which pages hold. A list that an earlier version kept in one message is its own
// head.
func (p *paged) readHead(ctx context.Context) (before []byte, err error) {
	data, err := p.store.State(ctx, p.subject)
	if err != nil {
		return nil, err
	}
	p.head = pagedHead{}
	if len(data) > 0 && data[0] == '[' {
		return data, nil
	}
	if err := json.Unmarshal(data, &p.head); err != nil {
		return nil, fmt.Errorf("decode the head of %s: %w", p.subject, err)
	}
	return nil, nil
}
