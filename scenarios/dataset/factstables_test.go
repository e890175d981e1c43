package dataset

import (
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/ethereum/go-ethereum/common"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/devnet"
	"github.com/gavel-relay/gavel/internal/golden"
	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/rpc"
	"github.com/gavel-relay/gavel/scenarios"
)

// ofRun is the network of the facts below: slot 0 began at genesis, and a slot is 12 s.
var (
	genesis = time.Unix(1_800_000_000, 0).UTC()
	ofRun   = Network{"run-1800000000", 1_800_000_000, 12}
)

// inSlot is a moment of a slot of that run.
func inSlot(slot int, into time.Duration) time.Time {
	return genesis.Add(time.Duration(slot)*12*time.Second + into)
}

// line is a fact as a run folder has it.
func line(t testing.TB, r scenarios.Record, fact any) string {
	t.Helper()
	var err error
	if fact != nil {
		if r.Fact, err = json.Marshal(fact); err != nil {
			t.Fatal(err)
		}
	}
	raw, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw) + "\n"
}

// readLines reads facts of that run. They must not fail as a whole.
func readLines(t testing.TB, lines ...string) (rows collected) {
	t.Helper()
	from := Origin{Network: ofRun, Instances: map[string]string{"relay-2": "relay-1"}}
	if err := RunFacts.Read(strings.NewReader(strings.Join(lines, "")), from, &rows); err != nil {
		t.Fatal(err)
	}
	return rows
}

func key48(n byte) phase0.BLSPubKey { return phase0.BLSPubKey{n} }

func traceOf(slot int, block, builder byte, wei uint64) relay.Trace {
	return relay.Trace{
		Slot: phase0.Slot(slot), BlockHash: phase0.Hash32{block}, Builder: key48(builder), Proposer: key48(0xee),
		ValueWei: uint256.NewInt(wei), NumTx: 2, BlockNumber: 9,
	}
}

// One slot as a relay, its instance, a proposer, a builder and the chain tell it; then a slot that
// was missed after a request without an answer.
func TestTablesOfAll(t *testing.T) {
	ms := time.Millisecond
	judged := relay.SubmissionJudged{
		Trace: traceOf(7, 1, 0xb1, 90), ReceivedAt: inSlot(7, -200*ms), EligibleAt: inSlot(7, -190*ms), Verified: true,
		Stages: relay.StagesUs{Receive: 10, Check: 900, Simulate: 2000, Eligible: 70},
	}
	impostor := judged
	impostor.Builder, impostor.Stages, impostor.Refusal = key48(0xb2), relay.StagesUs{Check: 5}, "signature"
	served := relay.HeaderServed{
		At: inSlot(7, 40*ms), Slot: 7, Proposer: key48(0xee), BlockHash: phase0.Hash32{1}, Builder: key48(0xb1),
		ValueWei: uint256.NewInt(90),
	}
	again := served
	again.At, again.Times, again.Until = inSlot(7, 50*ms), 3, inSlot(7, 80*ms)
	delivered := relay.PayloadDelivered{
		At: inSlot(7, 300*ms), Trace: traceOf(7, 1, 0xb1, 90), PaidWei: uint256.NewInt(91), MsIntoSlot: 210,
		Stages: relay.StagesUs{Signature: 800, Escrow: 20, Guard: 300, Publish: 9000},
	}
	asked := devnet.RelayRequest{Kind: "header", Slot: 7, SentAt: inSlot(7, 38*ms), Proposer: key48(0xee)}
	got := asked
	got.BlockHash, got.ValueWei = phase0.Hash32{1}, uint256.NewInt(90)
	payload := devnet.RelayRequest{Kind: "payload", Slot: 7, SentAt: inSlot(7, 205*ms), BlockHash: phase0.Hash32{1}}
	late := asked
	late.Slot, late.SentAt = 8, inSlot(8, 1100*ms)
	rows := readLines(t,
		line(t, scenarios.Record{Subject: "bid_made", Actor: "builder-1"}, devnet.MadeBid{BlockHash: phase0.Hash32{1},
			Builder: key48(0xb1), ValueWei: uint256.NewInt(90), WorthWei: uint256.NewInt(100)}),
		line(t, scenarios.Record{Subject: "submission_judged", Actor: "relay-1"}, judged),
		line(t, scenarios.Record{Subject: "submission_judged", Actor: "relay-2"}, impostor),
		line(t, scenarios.Record{Subject: "no_header", Actor: "proposers", At: "relay-2"}, asked),
		line(t, scenarios.Record{Subject: "header_served", Actor: "relay-1"}, served),
		line(t, scenarios.Record{Subject: "header_served", Actor: "relay-1"}, again),
		line(t, scenarios.Record{Subject: "header_received", Actor: "proposers", At: "relay-1"}, got),
		line(t, scenarios.Record{Subject: "block_taken", Actor: "proposers", At: "relay-1"}, payload),
		line(t, scenarios.Record{Subject: "payload_delivered", Actor: "relay-1"}, delivered),
		line(t, scenarios.Record{Subject: "payload_refused", Actor: "relay-1"}, relay.PayloadRefused{At: inSlot(7, 250*ms),
			Slot: 7, BlockHash: phase0.Hash32{2}, Refusal: "payload-other"}),
		line(t, scenarios.Record{Subject: "slot_finished", Actor: "chain", Slot: 7, ID: "landed", Fork: "fulu",
			ValueWei: "90"}, scenarios.ChainBlock{BlockHash: phase0.Hash32{1}, ParentHash: phase0.Hash32{9}, Number: 9,
			GasUsed: 42_000, Txs: 2, ProposerKey: key48(0xee), BuilderKey: key48(0xb1), Relay: "relay-2",
			PaidWei: uint256.NewInt(91)}),
		line(t, scenarios.Record{Subject: "request_failed", Actor: "proposers", At: "relay-1"}, late),
		line(t, scenarios.Record{Subject: "request_refused", Actor: "proposers", At: "relay-1", ID: "http-503"}, late),
		line(t, scenarios.Record{Subject: "slot_finished", Actor: "chain", Slot: 8, ID: "missed", Fork: "fulu"},
			scenarios.ChainBlock{ProposerKey: key48(0xef)}),
		line(t, scenarios.Record{Subject: "slot_finished", Actor: "chain", Slot: 9, ID: "empty", Because: "withheld"},
			scenarios.ChainBlock{BlockHash: phase0.Hash32{3}}),
	)
	if len(rows.bad) > 0 {
		t.Fatal(rows.bad)
	}
	golden.File(t, "testdata/runtables.rows", table(t, Bids, rows.bids)+table(t, Deliveries, rows.deliveries)+
		table(t, Requests, rows.requests)+table(t, Slots, rows.slots)+table(t, Stages, rows.stages))
}

// Facts of versions before the new fields, and requests of others than proposers, leave the tables
// without rows, and are not bad.
func TestFactsOfEarlierVersions(t *testing.T) {
	ms := time.Millisecond
	judged := line(t, scenarios.Record{Subject: "submission_judged", Actor: "relay-1"},
		relay.SubmissionJudged{Trace: traceOf(7, 1, 0xb1, 90), ReceivedAt: inSlot(7, -200*ms)})
	delivered := strings.Replace(line(t, scenarios.Record{Subject: "payload_delivered", Actor: "relay-1"},
		relay.PayloadDelivered{At: inSlot(7, 300*ms), Trace: traceOf(7, 1, 0xb1, 90)}), `"ms_into_slot":0`, `"x":0`, 1)
	rows := readLines(t, judged, delivered,
		line(t, scenarios.Record{Subject: "header_received", Actor: "proposers", At: "relay-1", Slot: 7}, nil),
		line(t, scenarios.Record{Subject: "request_refused", Actor: "builder-1", At: "relay-1", ID: "stale"}, nil),
		line(t, scenarios.Record{Subject: "slot_finished", Slot: 7, ID: "landed", ValueWei: "90"},
			map[string]any{"block_hash": phase0.Hash32{1}, "proposer_index": "4", "txs": 2, "blobs": 0}))
	if len(rows.bad) > 0 || len(rows.bids) != 1 || len(rows.deliveries) != 1 || len(rows.stages)+len(rows.requests) > 0 {
		t.Errorf("bad %q, %d stages, %d requests", rows.bad, len(rows.stages), len(rows.requests))
	}
	got := table(t, Slots, rows.slots)
	if want := "slot=7 slot_start=1800000084000000 source=run outcome=landed block_hash=0x01" + zeros64[2:] +
		" num_tx=2 value_wei=90 \n"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if rows.bids[0].WorthWei.Known {
		t.Error("a bid has a worth that nobody told")
	}
}

// life is a run of one bundle RPC, whose orders are named by a byte.
type life struct {
	t     testing.TB
	lines []string
}

func (l *life) tell(slot int, fact rpc.Fact) {
	subject := fact.Subject()
	if subject == "order_shared" {
		subject = scenarios.HintSeen
	}
	l.lines = append(l.lines, line(l.t, scenarios.Record{Subject: subject, Actor: "rpc", Slot: slot}, fact))
}

func at(seconds int) time.Time { return genesis.Add(time.Duration(seconds) * time.Second) }

func (l *life) accept(id uint64, seconds int, kind rpc.Kind, follows uint64) {
	l.tell(seconds/12, rpc.OrderAccepted{At: at(seconds), Order: &rpc.Order{
		ID: id, Kind: kind, Signer: common.Address{byte(id)}, Bundle: rpc.Bundle{Hash: common.Hash{byte(id)}},
		Follows: follows,
	}})
}

func ref(id uint64) rpc.OrderRef { return rpc.OrderRef{ID: id, Hash: common.Hash{byte(id)}} }

func (l *life) simulate(id uint64, seconds int, success bool) {
	l.tell(0, rpc.OrderSimulated{At: at(seconds), OrderRef: ref(id), Simulation: rpc.Simulation{Success: success}})
}

func (l *life) share(id uint64, seconds int) {
	f := rpc.OrderShared{ID: id}
	f.At = at(seconds)
	l.tell(0, f)
}

func (l *life) send(id uint64, seconds int, builder, failure string) {
	l.tell(0, rpc.OrderSent{At: at(seconds), OrderRef: ref(id), Delivery: rpc.Delivery{Builder: builder, Error: failure}})
}

func (l *life) end(id uint64, seconds int, state rpc.State, reason string, block byte, wei uint64) {
	f := rpc.OrderEnded{At: at(seconds), OrderRef: ref(id), State: state, Reason: reason, Block: uint64(block),
		BlockHash: common.Hash{block}}
	if wei > 0 {
		f.ValueWei = uint256.NewInt(wei)
	}
	l.tell(0, f)
}

func (l *life) refund(id, by uint64, block byte, to byte, wei uint64, paidIn uint64) {
	f := rpc.RefundCredited{Refund: rpc.Refund{Hash: common.Hash{byte(id)}, Bundle: common.Hash{byte(by)},
		BlockHash: common.Hash{block}, Recipient: common.Address{to}, AmountWei: uint256.NewInt(wei)}}
	l.tell(0, f)
	if paidIn > 0 {
		l.tell(0, rpc.RefundPaid{Hash: f.Hash, Bundle: f.Bundle, BlockHash: f.BlockHash, Recipient: f.Recipient,
			PayoutBlock: paidIn})
	}
}

// Orders that ended in each way: followed and refunded, replaced, expired, failed before it was
// sent, returned by a re-organisation and landed again elsewhere, returned and left, and one that
// was told twice. Its own facts say each step.
func TestOrdersOfRun(t *testing.T) {
	lines := someOrders(t)
	rows := readLines(t, lines...)
	if len(rows.bad) > 0 {
		t.Fatal(rows.bad)
	}
	golden.File(t, "testdata/runorders.rows", table(t, Orders, rows.orders))
	// Each order has its own place behind the last line.
	var want []int64
	for i := range rows.orders {
		want = append(want, int64(len(lines)+1+i))
	}
	if !slices.Equal(rows.places, want) {
		t.Errorf("places %v, want %v", rows.places, want)
	}
}

// someOrders are the facts of those orders.
func someOrders(t testing.TB) []string {
	l := &life{t: t}
	// 1 is private, followed by 2; both land in block 4, and 1 gets two refunds, one of which is not
	// paid.
	l.accept(1, 13, rpc.KindPrivate, 0)
	l.simulate(1, 14, false)
	l.simulate(1, 15, true)
	l.simulate(1, 16, true)
	l.share(1, 17)
	l.accept(2, 18, rpc.KindShare, 1)
	l.accept(3, 19, rpc.KindShare, 1)
	l.send(1, 20, "a", "connection refused")
	l.send(1, 21, "b", "")
	l.send(1, 22, "b", "")
	l.send(1, 23, "a", "")
	l.end(2, 24, rpc.Landed, "", 4, 1000)
	l.end(1, 24, rpc.Landed, "", 4, 50)
	l.refund(1, 2, 4, 0x11, 900, 4)
	l.refund(1, 2, 4, 0x12, 70, 0)
	l.end(3, 24, rpc.Cancelled, rpc.ReplacedByVersion, 4, 0)
	// 5 expires. 6 fails. 7 is extended, and alive at the end.
	l.accept(5, 25, rpc.KindBundle, 0)
	l.end(5, 26, rpc.Expired, "", 6, 0)
	l.accept(6, 25, rpc.KindBundle, 0)
	l.end(6, 27, rpc.Failed, "nonce too low", 6, 0)
	l.accept(7, 25, rpc.KindBundle, 0)
	l.tell(2, rpc.OrderExtended{At: at(28), OrderRef: ref(7), Window: rpc.Window{LastBlock: 30}})
	// 8 lands in block 8, which is reverted with its refund; then it lands in block 9.
	l.accept(8, 37, rpc.KindBundle, 0)
	l.end(8, 48, rpc.Landed, "", 8, 5)
	l.refund(8, 0, 8, 0x11, 4, 8)
	l.tell(4, rpc.BlockReverted{Head: rpc.Head{Number: 8, Hash: common.Hash{8}}})
	l.tell(4, rpc.OrderReturned{At: at(50), OrderRef: ref(8)})
	l.end(8, 60, rpc.Landed, "", 9, 7)
	l.refund(8, 0, 9, 0x11, 6, 9)
	// 10 lands in a block that is reverted, and stays alive.
	l.accept(10, 37, rpc.KindBundle, 0)
	l.end(10, 48, rpc.Landed, "", 8, 5)
	l.tell(4, rpc.OrderReturned{At: at(50), OrderRef: ref(10)})
	// 5 is told again when the journal is read from its beginning.
	l.accept(5, 25, rpc.KindBundle, 0)
	// Facts about an order that came before the run are of no row.
	l.end(99, 60, rpc.Landed, "", 9, 7)
	return l.lines
}

// What is wrong in a fact makes its line bad, and nothing else; a last line that was cut off does,
// too. A clock that jumps by more than a day is seen.
func TestBadFactsOfTables(t *testing.T) {
	l := &life{t: t}
	l.accept(1, 13, rpc.KindPrivate, 0)
	l.end(1, 24, rpc.Landed, "", 4, 50)
	good := strings.Join(l.lines, "")
	whole := func(r scenarios.Record, fact any) string { return line(t, r, fact) }
	request := devnet.RelayRequest{Kind: "header", Slot: 7, SentAt: inSlot(7, 0)}
	with := func(change func(*devnet.RelayRequest)) string {
		changed := request
		change(&changed)
		return whole(scenarios.Record{Subject: "no_header"}, changed)
	}
	for _, c := range []struct{ line, want string }{
		{l.lines[1][:len(l.lines[1])-9], "not a fact"},
		{strings.Replace(l.lines[1], `"id":1`, `"id":"1"`, 1), "order_ended: json"},
		{strings.Replace(l.lines[1], `"state":"landed"`, `"state":"sent"`, 1), `an order cannot end as "sent"`},
		{strings.Replace(l.lines[1], `"block":4`, `"block":9999999999999999999`, 1), "block: not a number"},
		{strings.Replace(l.lines[0], `"hash":"0x01`, `"hash":"0x02`, 1), "another order has this id"},
		{`{"subject":"order_accepted","fact":{}}`, "no order"},
		{`{"subject":"order_accepted"}`, "order_accepted without what its actor wrote"},
		{strings.ReplaceAll(strings.Replace(l.lines[0], `"id":1`, `"id":3`, 1), "2027-", "2099-"), "received_at is more than"},
		{with(func(r *devnet.RelayRequest) { r.SentAt = inSlot(9000, 0) }), "sent_at is more than a day away"},
		{with(func(r *devnet.RelayRequest) { r.SentAt = time.Time{} }), "no time"},
		{with(func(r *devnet.RelayRequest) { r.Kind = "both" }), `kind "both" is neither`},
		{`{"subject":"no_header","fact":{"kind":"header","slot":7}}`, "no_header: "},
		{whole(scenarios.Record{Subject: "slot_finished", ID: "won"}, scenarios.ChainBlock{}), `outcome "won" is none`},
		{whole(scenarios.Record{Subject: "slot_finished", ID: "missed", Slot: -1}, scenarios.ChainBlock{}), "slot -1"},
		{whole(scenarios.Record{Subject: "slot_finished", ID: "missed", ValueWei: "x"}, scenarios.ChainBlock{}),
			"value_wei: "},
		{whole(scenarios.Record{Subject: "slot_finished", ID: "missed"}, scenarios.ChainBlock{BlockHash: phase0.Hash32{1},
			Txs: -1}), "block_number, gas_used or txs"},
		{whole(scenarios.Record{Subject: "submission_judged"}, relay.SubmissionJudged{Trace: traceOf(7, 1, 1, 1),
			ReceivedAt: inSlot(7, 0), Stages: relay.StagesUs{Check: -1}}), "no stage, or no time"},
		{whole(scenarios.Record{Subject: "payload_delivered"}, relay.PayloadDelivered{At: inSlot(7, 0),
			Trace: traceOf(7, 1, 1, 1), MsIntoSlot: 1 << 62}), "ms_into_slot: more than a day"},
		{whole(scenarios.Record{Subject: "bid_made"}, devnet.MadeBid{}), "no worth"},
		{whole(scenarios.Record{Subject: "bid_made"}, devnet.MadeBid{WorthWei: new(uint256.Int).Not(new(uint256.Int))}),
			"worth: more than 10^38-1"},
		{whole(scenarios.Record{Subject: "refund_credited"}, rpc.RefundCredited{}), "no value"},
	} {
		rows := readLines(t, good, c.line)
		if len(rows.bad) != 1 || !strings.HasPrefix(rows.bad[0], "3: "+c.want) || len(rows.orders) != 1 ||
			len(rows.requests)+len(rows.slots)+len(rows.bids)+len(rows.deliveries)+len(rows.stages) > 0 {
			t.Errorf("%.200s: bad %q, want %s, %d orders", c.line, rows.bad, c.want, len(rows.orders))
		}
	}
	// Times that only the end shows to be wrong make the order's own place bad.
	l.simulate(1, 3*24*60*60, true)
	if rows := readLines(t, l.lines...); len(rows.orders) > 0 || len(rows.bad) != 1 ||
		!strings.HasPrefix(rows.bad[0], "4: simulated_at is more than a day away") {
		t.Errorf("bad %q", rows.bad)
	}
}

// An order takes a bounded place in memory, however many facts there are about it.
func TestManyOrders(t *testing.T) {
	const orders = 2_000
	l := &life{t: t}
	l.accept(1, 13, rpc.KindBundle, 0)
	l.simulate(1, 14, true)
	l.send(1, 15, "a", "")
	r := factReader{from: Origin{Network: ofRun}}
	feed := func(text string) {
		if _, err := r.rows(text); err != nil {
			t.Fatal(err)
		}
	}
	ids := func(text string, id int) string {
		return strings.ReplaceAll(strings.Replace(text, `"id":1,`, fmt.Sprintf(`"id":%d,`, id), 1), `0x01000000`,
			fmt.Sprintf("0x01%06x", id))
	}
	used := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before := used()
	for id := range orders {
		for _, text := range l.lines {
			feed(ids(text, id))
		}
	}
	few := used() - before
	for range 4 {
		for id := range orders {
			feed(ids(l.lines[1], id))
			feed(ids(l.lines[2], id))
		}
	}
	if many := used() - before; many > few+few/10 || few > orders*2048 {
		t.Errorf("%d bytes for an order, %d after more facts about it", few/orders, many/orders)
	}
	if len(r.orders.all) != orders {
		t.Errorf("%d orders", len(r.orders.all))
	}
	for i := range mostOfAnOrder + 1 {
		_, err := r.rows(strings.Replace(ids(l.lines[2], 5), `"builder":"a"`, fmt.Sprintf(`"builder":"b%d"`, i), 1))
		if (err != nil) != (i >= mostOfAnOrder-1) {
			t.Fatalf("builder %d: %v", i, err)
		}
	}
}

// What blocks are worth is remembered for some while, and not for ever.
func TestWorthsAreForgotten(t *testing.T) {
	var w worths
	block := func(i int) madeBlock { return madeBlock{hash: phase0.Hash32{byte(i), byte(i >> 8), byte(i >> 16)}} }
	for i := range 3 * mostWorths {
		w.put(block(i), Wei{Lo: uint64(i), Known: true})
		if now := w.of(block(i)); now.Lo != uint64(i) || !now.Known {
			t.Fatalf("block %d is worth %s", i, now)
		}
		if len(w.now)+len(w.before) > 2*mostWorths {
			t.Fatal("nothing is forgotten")
		}
	}
	if w.of(block(0)).Known || !w.of(block(3*mostWorths-mostWorths)).Known {
		t.Error("the oldest are forgotten, and the newest kept")
	}
}
