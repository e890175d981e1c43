package auction

import (
	"iter"
	"maps"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/relay"
)

// Books are the open auctions. The zero value has none. It is not safe for concurrent use; its
// owner guards it.
type Books struct{ open map[relay.Key]*Book }

// Of returns the book of an auction. The first call opens it.
func (b *Books) Of(key relay.Key) *Book {
	if b.open == nil {
		b.open = make(map[relay.Key]*Book)
	}
	book := b.open[key]
	if book == nil {
		book = new(Book)
		b.open[key] = book
	}
	return book
}

// Close forgets the auctions of all slots before the given one.
func (b *Books) Close(before phase0.Slot) {
	for key := range b.open {
		if key.Slot < before {
			delete(b.open, key)
		}
	}
}

// All iterates over the open auctions, in no order.
func (b *Books) All() iter.Seq2[relay.Key, *Book] { return maps.All(b.open) }

// Open returns the number of open auctions.
func (b *Books) Open() int { return len(b.open) }
