package auction

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/holiman/uint256"
	"pgregory.net/rapid"

	"github.com/gavel-relay/gavel/relay"
)

// naiveBoard is a Board that is slow and plain, so that it can be believed: it has lists of bids,
// and works out the top from scratch.
type naiveBoard struct {
	auctions  [2]model
	verified  map[string]bool
	asked     *Entry
	withdrawn map[phase0.BLSPubKey]bool
	dropped   map[string]uint64
	delivered bool
	seen      map[string]bool
	place     uint64
}

func newNaive() *naiveBoard {
	return &naiveBoard{verified: map[string]bool{}, withdrawn: map[phase0.BLSPubKey]bool{}, seen: map[string]bool{},
		dropped: map[string]uint64{}}
}

func nameOf(e Entry) string { return fmt.Sprint(e.Instance, e.Number) }

func bidName(parent, builder, block byte, value *uint256.Int) string {
	return fmt.Sprint(parent, builder, block, value)
}

// apply returns whether a bid has entered, and whether the entry is a repeated one.
func (n *naiveBoard) apply(e Entry) (entered, repeated bool) {
	n.place++
	if n.seen[nameOf(e)] {
		return false, true
	}
	n.seen[nameOf(e)] = true
	parent := e.ParentHash[0]
	switch e.Kind {
	case BidEntered:
		name := bidName(parent, e.Builder[0], e.BlockHash[0], e.ValueWei)
		refused := n.withdrawn[e.Builder] && !e.Verified && !n.verified[name] || !n.wanted(blockOf(e.BlockHash[0])) ||
			!e.Awaited && n.dropped[blockName(e)] > e.Seen
		if n.delivered || !e.Uncounted && refused {
			return false, false
		}
		bid := relay.Bid{
			Builder: e.Builder, BlockHash: e.BlockHash, ValueWei: e.ValueWei, ReceivedAt: e.ReceivedAt,
			Cancellable: e.Cancellable, Sequence: e.Sequence,
		}
		if e.Uncounted {
			bid = uncounted(bid)
		}
		entered = n.auctions[parent].submit(bid)
		if entered && e.Verified {
			n.verified[name] = true
		}
	case BidVerified:
		n.verified[bidName(parent, e.Builder[0], e.BlockHash[0], e.ValueWei)] = true
	case BuilderWithdrawn:
		n.withdrawn[e.Builder] = true
		for parent := range n.auctions {
			n.auctions[parent].exclude(func(bid relay.Bid) bool {
				return bid.Builder == e.Builder &&
					!n.verified[bidName(byte(parent), bid.Builder[0], bid.BlockHash[0], bid.ValueWei)]
			})
		}
	case ProposerReregistered:
		if n.asked != nil && n.asked.RegisteredAt.After(e.RegisteredAt) {
			break
		}
		n.asked = &e
		for parent := range n.auctions {
			n.auctions[parent].exclude(func(bid relay.Bid) bool { return !n.wanted(blockOf(bid.BlockHash[0])) })
		}
	case BlockDropped:
		n.drop(e)
	case SlotDelivered:
		n.delivered = true
	}
	return entered, false
}

func blockName(e Entry) string { return fmt.Sprint(e.Builder[0], e.BlockHash[0]) }

// drop takes a block's bids away, unless one leads or is its builder's current one.
func (n *naiveBoard) drop(e Entry) {
	auction := &n.auctions[e.ParentHash[0]]
	of := func(bid relay.Bid) bool { return bid.Builder == e.Builder && bid.BlockHash == e.BlockHash }
	if top := auction.top(); top != nil && of(*top) {
		return
	}
	for _, i := range auction.inForce() {
		if bid := auction.bids[i]; !isFinal(bid) && of(bid) {
			return
		}
	}
	auction.exclude(of)
	n.dropped[blockName(e)] = n.place
}

// block is what a hash stands for.
type block struct {
	recipient          relay.FeeRecipient
	gasLimit, askedGas uint64
}

func blockOf(hash byte) block {
	b := block{relay.FeeRecipient{1 + hash%2}, 30, 30}
	if hash%3 == 0 {
		b.gasLimit = 36
	}
	if hash%5 == 0 {
		b.askedGas = 36
	}
	return b
}

// wanted says whether a block is what the proposer asks for now.
func (n *naiveBoard) wanted(b block) bool {
	if n.asked == nil {
		return true
	}
	if b.recipient != n.asked.FeeRecipient {
		return false
	}
	return b.gasLimit <= n.asked.GasLimit || b.askedGas == n.asked.GasLimit
}

// view is what one can see of a board: top and floor of both auctions.
type view [2]struct {
	top   string
	floor uint64
}

func (n *naiveBoard) view() (v view) {
	for parent := range n.auctions {
		v[parent].top = describeTop(n.auctions[parent].top())
		for _, bid := range n.auctions[parent].bids {
			if isFinal(bid) && !isUncounted(bid) {
				v[parent].floor = max(v[parent].floor, bid.ValueWei.Uint64())
			}
		}
	}
	return v
}

func viewOf(b *Board) (v view) {
	for parent := range v {
		book := b.Book(relay.Key{Slot: 1, ParentHash: phase0.Hash32{byte(parent)}})
		v[parent].top, v[parent].floor = describeTop(book.Top()), book.Floor().Uint64()
	}
	return v
}

// tape decides what happens in a history; behind its end it has zeros. A shorter tape, or one with
// smaller bytes, is a simpler history.
type tape struct{ bytes []byte }

func (t *tape) intn(n int) int {
	if len(t.bytes) == 0 {
		return 0
	}
	b := t.bytes[0]
	t.bytes = t.bytes[1:]
	return int(b) % n
}

// member is an instance in a history.
type member struct {
	name    string
	board   *Board
	number  uint64
	cut     bool    // it reaches the log neither to write nor to read
	pending []Entry // not acked, so they are appended again
	// told has what builders were answered, by the entry's name.
	told map[string]bool
}

// logHistory is a slot's log and its instances.
type logHistory struct {
	tape    tape
	encode  bool // entries go through their codec
	members []*member
	log     []Entry
	// views, entered and repeated are what the naive board makes of the log, by place.
	naive             *naiveBoard
	views             []view
	entered, repeated []bool
}

// playHistory plays one history, and returns what is wrong with it.
func playHistory(script []byte, encode bool) error {
	h := &logHistory{tape: tape{script}, encode: encode, naive: newNaive()}
	h.views = []view{h.naive.view()}
	for _, name := range []string{"a", "b", "c"} {
		h.members = append(h.members, &member{name: name, board: NewBoard(1), told: map[string]bool{}})
	}
	for len(h.tape.bytes) > 0 {
		if err := h.step(); err != nil {
			return err
		}
	}
	return h.heal()
}

func (h *logHistory) step() error {
	m := h.members[h.tape.intn(len(h.members))]
	switch h.tape.intn(12) {
	case 0, 1, 2, 3:
		return h.append(m, h.draw(m))
	case 4:
		return h.retry(m)
	case 5, 6, 7:
		return h.deliver(m, m.board.Applied()+1)
	case 8: // entries before it are lost on the way
		return h.deliver(m, m.board.Applied()+2+uint64(h.tape.intn(3)))
	case 9: // it comes twice
		return h.deliver(m, max(m.board.Applied(), 1)-uint64(h.tape.intn(int(max(m.board.Applied(), 1)))))
	case 10: // killed; whoever waits for an answer gets none
		m.board, m.pending, m.number = NewBoard(1), nil, m.number+100
	case 11:
		m.cut = !m.cut
	}
	return nil
}

// draw makes the next entry of an instance.
func (h *logHistory) draw(m *member) Entry {
	m.number++
	e := Entry{Version: 1, Needs: 1, Instance: m.name, Number: m.number, Kind: BidEntered}
	e.ParentHash[0] = byte(h.tape.intn(2))
	e.Builder[0] = 'x' + byte(h.tape.intn(3))
	e.BlockHash[0] = byte(h.tape.intn(8))
	e.ValueWei = uint256.NewInt(uint64(h.tape.intn(6)))
	b := blockOf(e.BlockHash[0])
	e.FeeRecipient, e.GasLimit, e.AskedGas = b.recipient, b.gasLimit, b.askedGas
	switch kind := h.tape.intn(18); kind {
	case 17:
		e.Kind = BlockDropped
	case 16:
		e.Uncounted = true
		e.ReceivedAt, e.Cancellable = time.Unix(int64(h.tape.intn(4)), 0).UTC(), true
	case 15:
		e.Kind = SlotDelivered
	case 14:
		e.Kind = ProposerReregistered
		e.RegisteredAt = time.Unix(int64(h.tape.intn(3)), 0).UTC()
		e.FeeRecipient, e.GasLimit = relay.FeeRecipient{1 + byte(h.tape.intn(2))}, uint64(30+6*h.tape.intn(2))
	case 13:
		e.Kind = BuilderWithdrawn
	case 11, 12:
		e.Kind = BidVerified
	default:
		e.Verified = kind%2 == 1
		e.Seen = m.board.Applied() - min(m.board.Applied(), uint64(h.tape.intn(3)))
		e.ReceivedAt = time.Unix(int64(h.tape.intn(4)), 0).UTC()
		if how := h.tape.intn(4); how == 1 {
			e.Cancellable = true
		} else if how > 1 {
			e.Sequence = uint64(h.tape.intn(4))
		}
	}
	return e
}

// append puts an entry into the log, unless the instance is cut off. Its ack may be lost.
func (h *logHistory) append(m *member, e Entry) error {
	if m.cut {
		m.pending = append(m.pending, e)
		return nil
	}
	if h.tape.intn(4) == 3 {
		m.pending = append(m.pending, e)
	}
	if h.encode {
		raw, err := json.Marshal(e)
		if err != nil {
			return err
		}
		if e, err = DecodeEntry(raw); err != nil {
			return err
		}
	}
	h.log = append(h.log, e)
	entered, repeated := h.naive.apply(e)
	h.entered, h.repeated = append(h.entered, entered), append(h.repeated, repeated)
	h.views = append(h.views, h.naive.view())
	return nil
}

// retry appends again what was not acked, in any order.
func (h *logHistory) retry(m *member) error {
	if m.cut || len(m.pending) == 0 {
		return nil
	}
	i := h.tape.intn(len(m.pending))
	e := m.pending[i]
	m.pending = append(m.pending[:i:i], m.pending[i+1:]...)
	return h.append(m, e)
}

// deliver gives an instance the entry at a place of the log. The board must be what the log up to
// there makes, and a builder is answered from it.
func (h *logHistory) deliver(m *member, place uint64) error {
	if m.cut || place > uint64(len(h.log)) {
		return nil
	}
	before, e := m.board.Applied(), h.log[place-1]
	applied, err := m.board.Apply(place, e)
	switch {
	case errors.Is(err, ErrGap) != (place > before+1):
		return fmt.Errorf("%s: place %d after %d: %w", m.name, place, before, err)
	case m.board.Applied() != before && m.board.Applied() != place:
		return fmt.Errorf("%s: applied %d, after %d and place %d", m.name, m.board.Applied(), before, place)
	case viewOf(m.board) != h.views[m.board.Applied()]:
		return fmt.Errorf("%s: at place %d: %v, want %v", m.name, m.board.Applied(), viewOf(m.board),
			h.views[m.board.Applied()])
	case err != nil || place <= before:
		return nil
	case applied.Entered != h.entered[place-1] || applied.Repeated != h.repeated[place-1]:
		return fmt.Errorf("%s: place %d: %+v, want entered %t, repeated %t", m.name, place, applied, h.entered[place-1],
			h.repeated[place-1])
	case e.Instance == m.name && !applied.Repeated:
		m.told[nameOf(e)] = applied.Entered
	}
	return nil
}

// heal lets all instances reach the log, and deliver all of it: they must agree, and everybody who
// was answered is in the log, once, with that answer.
func (h *logHistory) heal() error {
	for _, m := range h.members {
		m.cut = false
		for len(m.pending) > 0 {
			if err := h.retry(m); err != nil {
				return err
			}
		}
	}
	effect := map[string]bool{}
	for i, e := range h.log {
		if !h.repeated[i] {
			effect[nameOf(e)] = h.entered[i]
		}
	}
	for _, m := range h.members {
		for m.board.Applied() < uint64(len(h.log)) {
			if err := h.deliver(m, m.board.Applied()+1); err != nil {
				return err
			}
		}
		if got, want := viewOf(m.board), h.views[len(h.log)]; got != want {
			return fmt.Errorf("healed %s: %v, want %v", m.name, got, want)
		}
		for name, entered := range m.told {
			if now, there := effect[name]; !there || now != entered {
				return fmt.Errorf("%s answered %s with %t; in the log %t, with %t", m.name, name, entered, there, now)
			}
		}
	}
	return nil
}

// Three instances apply one log, which delays, loses and repeats what they write and read, while
// they are killed and cut off. At any time each board is what a beginning of the log makes, and
// after all is healed all are the same.
func TestBoardsOfOneLog(t *testing.T) {
	draw := rand.New(rand.NewPCG(16, 0))
	script := make([]byte, 200)
	entries := 0
	for history := range histories {
		length := draw.IntN(len(script))
		for i := range length {
			script[i] = byte(draw.Uint32())
		}
		if err := playHistory(script[:length], history%50 == 0); err != nil {
			t.Fatalf("history %d: %v\n%v", history, err, script[:length])
		}
		entries += length
	}
	t.Logf("%d histories, %d decisions", histories, entries)
}

// TestBoardsOfOneLogSmallest is the same with few histories; it finds the smallest one that goes
// wrong.
func TestBoardsOfOneLogSmallest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		if err := playHistory(rapid.SliceOfN(rapid.Byte(), 0, 400).Draw(t, "tape"), true); err != nil {
			t.Fatal(err)
		}
	})
}
