package pool

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/google/uuid"
	"github.com/holiman/uint256"
	"pgregory.net/rapid"

	"github.com/gavel-relay/gavel/internal/orderflow"
	"github.com/gavel-relay/gavel/rpc"
)

// world plays random calls against a pool and checks after each what must always hold.
type world struct {
	pool   *Pool
	config Config
	at     time.Time
	facts  []rpc.Fact
	// chain are the blocks since the start, highest the greatest number there was; acknowledged are
	// orders whose cancel was.
	chain        []rpc.Head
	highest      uint64
	acknowledged map[uint64]bool
}

func newWorld(t *rapid.T) *world {
	config := Config{
		MaxOrders: 12, MaxPerSigner: rapid.IntRange(3, 12).Draw(t, "per signer"), KeepFinal: 3,
		CancelMemory: 20 * time.Second, PrivateCancelBlocks: 2,
		ReviveAfterCancel: rapid.Bool().Draw(t, "revive"),
	}
	w := &world{pool: New(config), config: config, at: time.Unix(1000, 0).UTC(), acknowledged: make(map[uint64]bool)}
	w.block(nil)
	return w
}

func (w *world) head() rpc.Head { return w.chain[len(w.chain)-1] }

func (w *world) note(facts []rpc.Fact) { w.facts = append(w.facts, facts...) }

func (w *world) block(txs []common.Hash) {
	number := uint64(100)
	if len(w.chain) > 0 {
		number = w.head().Number + 1
	}
	head := rpc.Head{Number: number, Timestamp: number * 12,
		Hash: common.BytesToHash(fmt.Appendf(nil, "%d at %d", number, w.at.Unix()))}
	w.chain, w.highest = append(w.chain, head), max(w.highest, number)
	w.note(w.pool.Block(w.at, head, txs))
}

var (
	signers  = rapid.SampledFrom([]common.Address{{1}, {2}, {3}})
	uuids    = rapid.SampledFrom([]uuid.UUID{{}, {1}, {2}})
	anyBlock = rapid.Uint64Range(0, 6)
	txNames  = rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "c", "d", "e"}), 1, 3, rapid.ID)
)

func (w *world) randomOrder(t *rapid.T) *rpc.Order {
	order := &rpc.Order{Kind: rpc.KindBundle, Signer: signers.Draw(t, "signer"), Replacement: uuids.Draw(t, "uuid"),
		ReceivedAt: w.at}
	order.Bundle.Window.FirstBlock = w.head().Number + anyBlock.Draw(t, "first")
	order.Bundle.Window.LastBlock = order.Bundle.Window.FirstBlock + anyBlock.Draw(t, "length")
	for _, name := range txNames.Draw(t, "txs") {
		tx := &rpc.Transaction{Hash: hashOf(name), CanDrop: rapid.IntRange(0, 4).Draw(t, "may be dropped") == 0}
		order.Bundle.Elements = append(order.Bundle.Elements, rpc.Element{Tx: tx})
		order.Bundle.Hash[len(order.Bundle.Elements)] = name[0]
	}
	if len(order.Bundle.Elements) == 1 && rapid.Bool().Draw(t, "private") {
		order.Kind, order.Replacement = rpc.KindPrivate, uuid.Nil
		order.Bundle.Hash = order.Bundle.Elements[0].Tx.Hash
	}
	order.Follows = w.anyLeader(t)
	order.Bundle.Hints = rapid.SampledFrom([]orderflow.Hints{0, orderflow.Hash}).Draw(t, "hints")
	return order
}

// anyLeader is now and then an order that may be followed.
func (w *world) anyLeader(t *rapid.T) uint64 {
	if rapid.IntRange(0, 4).Draw(t, "follows") > 0 {
		return 0
	}
	return w.anyID(t)
}

func (w *world) anyID(t *rapid.T) uint64 {
	return rapid.Uint64Range(0, w.pool.lastID+1).Draw(t, "order")
}

// alive are the orders alive of everybody but one signer, without those that follow an order.
func (w *world) othersAlive(signer common.Address) []uint64 {
	var ids []uint64
	for id, e := range w.pool.entries {
		if e.alive() && e.order.Signer != signer && e.order.Follows == 0 {
			ids = append(ids, id)
		}
	}
	return ids
}

// bySigner does what a signer asks, and checks that it ends nobody else's order.
func (w *world) bySigner(t *rapid.T, signer common.Address, do func()) {
	before := w.othersAlive(signer)
	do()
	after := w.othersAlive(signer)
	for _, id := range before {
		if !slices.Contains(after, id) {
			t.Fatalf("%s ended order %d, which is another signer's", signer, id)
		}
	}
}

func (w *world) actions() map[string]func(*rapid.T) {
	return map[string]func(*rapid.T){
		"add": func(t *rapid.T) {
			order := w.randomOrder(t)
			w.bySigner(t, order.Signer, func() {
				outcome, err := w.pool.Add(w.at, w.head(), order)
				if err == nil && outcome.Order == nil {
					t.Fatal("accepted nothing")
				}
				w.note(outcome.Facts)
			})
		},
		"cancel": func(t *rapid.T) {
			signer, id := signers.Draw(t, "signer"), uuids.Draw(t, "uuid")
			w.bySigner(t, signer, func() {
				_, facts := w.pool.Cancel(w.at, signer, id)
				w.acknowledge(facts)
			})
		},
		"cancel private": func(t *rapid.T) {
			signer, hash := signers.Draw(t, "signer"), hashOf(txNames.Draw(t, "tx")[0])
			w.bySigner(t, signer, func() {
				order, facts := w.pool.CancelPrivate(w.at, signer, hash)
				if (order != nil) != (len(facts) > 0) {
					t.Fatalf("it said %t and did %v", order != nil, facts)
				}
				w.acknowledge(facts)
			})
		},
		"simulated": func(t *rapid.T) {
			s := rapid.SampledFrom([]rpc.Simulation{
				{Success: true, ProfitWei: uint256.NewInt(5)}, {Success: true, ProfitWei: uint256.NewInt(7)}, {Error: "no"},
				{Error: "never", Lasting: true},
			}).Draw(t, "simulation")
			w.note(w.pool.Simulated(w.at, w.anyID(t), s))
		},
		"share": func(t *rapid.T) {
			id := w.anyID(t)
			w.note(w.pool.Share(id, orderflow.Shared{}))
		},
		"sent": func(t *rapid.T) {
			d := rapid.SampledFrom([]rpc.Delivery{{Builder: "titan"}, {Builder: "titan", Error: "no"}, {Builder: "loki"}}).Draw(
				t, "delivery")
			w.note(w.pool.Sent(w.at, w.anyID(t), d))
		},
		"block": func(t *rapid.T) {
			var txs []common.Hash
			for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "c", "d", "e"}), 0, 3,
				rapid.ID).Draw(t, "block") {
				txs = append(txs, hashOf(name))
			}
			w.block(txs)
		},
		"reverted": func(*rapid.T) {
			if len(w.chain) > 2 && w.highest-w.head().Number < reorgDepth {
				last := w.head()
				w.chain = w.chain[:len(w.chain)-1]
				w.note(w.pool.Reverted(w.at, last))
			}
		},
		"time": func(t *rapid.T) {
			w.at = w.at.Add(time.Duration(rapid.IntRange(1, 15).Draw(t, "seconds")) * time.Second)
		},
		"": w.check,
	}
}

// acknowledge keeps which orders a cancel ended.
func (w *world) acknowledge(facts []rpc.Fact) {
	w.note(facts)
	for _, fact := range facts {
		if ended, ok := fact.(rpc.OrderEnded); ok {
			w.acknowledged[ended.ID] = true
		}
	}
}

func (w *world) check(t *rapid.T) {
	versions, kept, live := make(map[key]uint64), 0, 0
	for id, e := range w.pool.entries {
		kept++
		if !e.alive() {
			continue
		}
		live++
		if w.acknowledged[id] {
			t.Fatalf("order %d is alive after its cancel", id)
		}
		if leader := w.pool.entries[e.order.Follows]; e.order.Follows != 0 && (leader == nil || !leader.alive()) {
			t.Fatalf("order %d is alive without %d, which it follows", id, e.order.Follows)
		}
		if found := w.pool.Shared(orderflow.MatchingHash(e.order.Bundle.Hash)); e.shared &&
			(found == nil || found.Hash() != e.order.Hash()) {
			t.Fatalf("order %d is not found although it is shared", id)
		}
		if e.order.Replacement == uuid.Nil {
			continue
		}
		if other := versions[keyOf(e.order)]; other != 0 {
			t.Fatalf("orders %d and %d of one key are alive", other, id)
		}
		versions[keyOf(e.order)] = id
	}
	if p := w.pool; live == 0 && len(p.byTx)+len(p.followers)+len(p.shared)+len(p.slab.all)-len(p.slab.free) > 0 {
		t.Fatalf("nobody is alive, but indexes hold %v, %v, %v", p.byTx, p.followers, p.shared)
	}
	w.checkShared(t)
	if live != w.pool.Live() || kept > 2*w.config.MaxOrders+live {
		t.Fatalf("%d alive, counted as %d; %d kept", live, w.pool.Live(), kept)
	}
	w.checkReady(t)
}

// checkShared says that strangers were told at most once of each order, of none after its cancel,
// and of none whose signer shares nothing.
func (w *world) checkShared(t *rapid.T) {
	told, cancelled, silent := map[uint64]bool{}, map[uint64]bool{}, map[uint64]bool{}
	for _, fact := range w.facts {
		switch f := fact.(type) {
		case rpc.OrderAccepted:
			silent[f.Order.ID] = f.Order.Bundle.Hints == 0
		case rpc.OrderEnded:
			cancelled[f.ID] = cancelled[f.ID] || f.State == rpc.Cancelled
		case rpc.OrderShared:
			if told[f.ID] || cancelled[f.ID] || silent[f.ID] {
				t.Fatalf("strangers are told of order %d: again %t, cancelled %t, silent %t", f.ID, told[f.ID], cancelled[f.ID],
					silent[f.ID])
			}
			told[f.ID] = true
		}
	}
}

// checkReady compares what the index chooses with what a look at every order does.
func (w *world) checkReady(t *rapid.T) {
	for block := w.head().Number + 1; block < w.head().Number+15; block++ {
		var want []uint64
		for id, e := range w.pool.entries {
			if e.alive() && e.from <= block && e.order.Bundle.Window.Holds(block, block*12) {
				want = append(want, id)
			}
		}
		var got []uint64
		for _, order := range w.pool.Ready(block, block*12) {
			got = append(got, order.ID)
		}
		slices.Sort(want)
		slices.Sort(got)
		if !slices.Equal(want, got) {
			t.Fatalf("for block %d %v are ready, not %v", block, want, got)
		}
	}
}

// TestProperties: at most one order of a key is alive; no order is ready after its cancel was
// acknowledged; nobody ends another signer's order (but who follows one goes with it, and is never
// alive without it); strangers are told of an order once, and not after its cancel; the index
// chooses what looking at all would; and the facts, through JSON, make the same pool again.
func TestProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		t.Repeat(w.actions())

		restored := New(w.config)
		for _, fact := range w.facts {
			restored.Apply(throughJSON(t, fact))
		}
		// What is forgotten is forgotten when a block comes: both get the next ones.
		for top := w.highest; w.head().Number <= top; {
			w.block(nil)
			restored.Block(w.at, w.head(), nil)
		}
		if got, want := stateOf(t, restored, w.at), stateOf(t, w.pool, w.at); !reflect.DeepEqual(got, want) {
			t.Fatalf("the facts make another pool:\n%s", difference(got, want))
		}
	})
}

// remembered is all that the later answers of a pool follow from.
type remembered struct {
	head      rpc.Head
	lastID    uint64
	live      int
	orders    map[uint64]string
	keys      map[key][]uint64
	barred    map[key]uint64
	cancelled map[uint64]bool
	closed    map[key]time.Time
	withdrawn map[signed]uint64
	shared    map[uint64]bool
	ready     map[uint64][]uint64
	accounts  map[common.Address][2]int
}

func stateOf(t *rapid.T, p *Pool, at time.Time) remembered {
	state := remembered{
		head: p.head, lastID: p.lastID, live: p.live, orders: make(map[uint64]string), keys: make(map[key][]uint64),
		barred:    make(map[key]uint64),
		cancelled: make(map[uint64]bool), closed: make(map[key]time.Time), withdrawn: make(map[signed]uint64),
		ready:  make(map[uint64][]uint64),
		shared: make(map[uint64]bool), accounts: make(map[common.Address][2]int),
	}
	for id, e := range p.entries {
		text, err := json.Marshal(e.status())
		if err != nil {
			t.Fatal(err)
		}
		state.orders[id], state.shared[id] = string(text), e.shared
	}
	for k, g := range p.keys {
		for _, e := range g.versions {
			state.keys[k] = append(state.keys[k], e.order.ID)
			state.cancelled[e.order.ID] = e.order.ID <= g.cancelled
		}
		if g.barred > p.head.Number {
			state.barred[k] = g.barred
		}
		if g.closed.After(at) {
			state.closed[k] = g.closed.UTC()
		}
	}
	for tx, until := range p.withdrawn {
		if until > p.head.Number {
			state.withdrawn[tx] = until
		}
	}
	for block := p.head.Number + 1; block < p.head.Number+15; block++ {
		for _, order := range p.Ready(block, block*12) {
			state.ready[block] = append(state.ready[block], order.ID)
		}
	}
	for signer, account := range p.accounts {
		state.accounts[signer] = [2]int{account.kept, account.live}
	}
	return state
}

// throughJSON is a fact as the journal gives it back.
func throughJSON(t *rapid.T, fact rpc.Fact) rpc.Fact {
	text, err := json.Marshal(fact)
	if err != nil {
		t.Fatal(err)
	}
	switch fact.(type) {
	case rpc.OrderAccepted:
		return decoded[rpc.OrderAccepted](t, text)
	case rpc.OrderExtended:
		return decoded[rpc.OrderExtended](t, text)
	case rpc.OrderSimulated:
		return decoded[rpc.OrderSimulated](t, text)
	case rpc.OrderShared:
		return decoded[rpc.OrderShared](t, text)
	case rpc.OrderSent:
		return decoded[rpc.OrderSent](t, text)
	case rpc.OrderEnded:
		return decoded[rpc.OrderEnded](t, text)
	case rpc.OrderReturned:
		return decoded[rpc.OrderReturned](t, text)
	case rpc.CancelNoted:
		return decoded[rpc.CancelNoted](t, text)
	}
	t.Fatalf("the pool made a %T", fact)
	return nil
}

func decoded[T rpc.Fact](t *rapid.T, text []byte) T {
	var fact T
	if err := json.Unmarshal(text, &fact); err != nil {
		t.Fatal(err)
	}
	return fact
}

// difference names the parts that are not the same.
func difference(got, want remembered) string {
	var text strings.Builder
	g, w := reflect.ValueOf(got), reflect.ValueOf(want)
	for i := range g.NumField() {
		if a, b := fmt.Sprint(g.Field(i)), fmt.Sprint(w.Field(i)); a != b {
			fmt.Fprintf(&text, "%s\n  restored %s\n  pool     %s\n", g.Type().Field(i).Name, a, b)
		}
	}
	return text.String()
}
