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

// stateStore stores the current state by subject; *journal.Journal implements it. When a call
// returns without an error, everything is stored; with an error, nothing is known.
type stateStore interface {
	PutState(ctx context.Context, subject string, data []byte) error
	// State returns journal.ErrNotFound if nothing is stored under the subject.
	State(ctx context.Context, subject string) ([]byte, error)
	// DropState takes a subject that may end with ".>", for all below it.
	DropState(ctx context.Context, subject string) error
}

// paged stores a list of any length under one subject. It uses pages, because the size of a message
// is limited. New pages are written beside the valid ones, and become valid when the head is
// written. So a kill in between leaves the list as it was.
//
//	subject       head: which pages are valid, and a note
//	subject.a.0 … subject.a.9      and while these are valid, subject.b.0 … are written
//
// It is not safe for concurrent use. read must be called before put.
type paged struct {
	store   stateStore
	subject string
	full    int // pageBytes
	head    pagedHead
	unsure  bool // while it is unknown whether the last head that was put is stored
}

type pagedHead struct {
	Side  string          `json:"side"`
	Pages int             `json:"pages"`
	Note  json.RawMessage `json:"note,omitempty"`
}

// pageBytes is the length from which on a page takes no more items. A single item may be longer.
const pageBytes = 1 << 20

func newPaged(store stateStore, subject string) paged {
	return paged{store: store, subject: subject, full: pageBytes}
}

// put replaces the list by JSON objects, with a note in its head. It keeps no item.
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
	if err := p.drop(ctx, next.Side); err != nil { // left over from a write that did not finish
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
		_ = p.drop(ctx, before) // else the next write to that side drops them
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

// read calls handle for each item of the valid list, in order, and decodes the note, if that is not
// nil. The error is journal.ErrNotFound if no list was ever written.
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

// readHead reads which pages are valid. For a list that an earlier version stored in one message,
// it returns that message.
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
