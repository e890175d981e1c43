package app

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"encoding/json"
	"errors"
	"math/big"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/params"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/internal/journal"
	"github.com/gavel-relay/gavel/rpc"
)

// What was answered outlives the facts, all of them: live orders, cancels of both kinds, and what
// is known of signers.
func TestOrdersOutliveTheFacts(t *testing.T) {
	h, dir, signer := openChain(t), t.TempDir(), accountKey(7)
	stop := h.serve(h.config(func(cfg *Config) { cfg.DataDir = dir }))
	var landed, order taken
	h.want(&landed, signer, "eth_sendBundle",
		map[string]any{"txs": []string{rawOf(h.tx(accountKey(1), 0, common.Address{1}, 5))}})
	<-h.builder.got
	h.mine()
	h.waitForIndexed()
	bundle := func(nonce uint64, replacement any) map[string]any {
		return map[string]any{
			"txs": []string{rawOf(h.tx(accountKey(0), nonce, common.Address{1}, 5))}, "blockNumber": hexNumber(h.next() + 3),
			"replacementUuid": replacement,
		}
	}
	h.want(&order, signer, "eth_sendBundle", bundle(10, nil))
	name, private := "e9ced844-16d5-4884-8507-000000000001",
		map[string]any{"tx": rawOf(h.tx(accountKey(0), 30, common.Address{1}, 5))}
	h.want(new(any), signer, "eth_sendBundle", bundle(20, name))
	h.want(new(any), signer, "eth_cancelBundle", map[string]any{"replacementUuid": name})
	var hash common.Hash
	h.want(&hash, signer, "eth_sendPrivateTransaction", private)
	h.want(new(any), signer, "eth_cancelPrivateTransaction", map[string]any{"txHash": hash})
	before := h.app.reputation.Standing(time.Now(), addressOf(signer))
	stop()
	forgetFacts(t, dir)

	h.serve(h.config(func(cfg *Config) { cfg.DataDir = dir }))
	var status orderStatus
	if h.want(&status, signer, "gavel_getOrderStatus", order.BundleHash); status.State != "submitted" {
		t.Errorf("the order is %+v", status)
	}
	h.refused(rpc.OrderCancelled, signer, "eth_sendPrivateTransaction", private)
	again := bundle(21, name)
	again["blockNumber"] = hexNumber(h.next()) // which the cancelled version could have been in
	h.refused(rpc.OrderCancelled, signer, "eth_sendBundle", again)
	if got := h.app.reputation.Standing(time.Now(), addressOf(signer)); got != before || got.AllTime.Orders != 4 ||
		got.AllTime.ValueWei.IsZero() {
		t.Errorf("the signer stands at %+v, before the restart at %+v", got, before)
	}
}

// A flood of orders pushes the fact of a live one out of the journal; a kill -9 then loses neither
// that one nor the last that was answered.
func TestFloodDoesNotPushOutWhatWasAnswered(t *testing.T) {
	const room = 4 << 20
	h, dir, signer, stranger := openChain(t), t.TempDir(), accountKey(7), accountKey(6)
	kill := h.startVictim(dir, room)
	var honest, last taken
	h.want(&honest, signer, "eth_sendBundle", map[string]any{
		"txs": []string{rawOf(h.tx(accountKey(0), 10, common.Address{1}, 5))}, "blockNumber": hexNumber(h.next() + 3),
	})
	for i := range byte(4 * room / floodBytes) { // each takes the place of the one before
		data := bytes.Repeat([]byte{i, 1}, floodBytes/4) // in hexadecimal it is twice as long
		h.want(&last, stranger, "eth_sendBundle", map[string]any{
			"txs": []string{rawOf(h.signed(accountKey(1), &types.DynamicFeeTx{
				ChainID: big.NewInt(chainID), GasFeeCap: big.NewInt(params.GWei), Gas: 10_000_000,
				To: &common.Address{2}, Data: data,
			}))},
			"blockNumber": hexNumber(h.next() + 3), "replacementUuid": "e9ced844-16d5-4884-8507-000000000001",
		})
	}
	kill()
	if hashes := acceptedIn(t, dir, room); slices.Contains(hashes, honest.BundleHash) ||
		!slices.Contains(hashes, last.BundleHash) {
		t.Fatalf("the flood is too small: the journal has %d orders", len(hashes))
	}

	h.serve(h.config(func(cfg *Config) { cfg.DataDir, cfg.Journal.FactsBytes = dir, room }))
	for who, order := range map[*ecdsa.PrivateKey]common.Hash{signer: honest.BundleHash, stranger: last.BundleHash} {
		var status orderStatus
		if h.want(&status, who, "gavel_getOrderStatus", order); status.State != "submitted" {
			t.Errorf("order %s is %+v", order, status)
		}
	}
}

// floodBytes is the length of an order's fact.
const floodBytes = 128 << 10

// acceptedIn are the orders that a journal has facts of.
func acceptedIn(t *testing.T, dir string, room int64) (hashes []common.Hash) {
	t.Helper()
	j, err := journal.Open(t.Context(), journal.Config{Dir: filepath.Join(dir, "journal"), FactsBytes: room})
	if err != nil {
		t.Fatal(err)
	}
	subject := subjectPrefix + rpc.OrderAccepted{}.Subject()
	err = j.Past(t.Context(), 1, []string{subject}, func(_ time.Time, _ string, data []byte) error {
		return decodeFacts(subject, data, func(fact, _ rpc.Fact) {
			hashes = append(hashes, fact.(rpc.OrderAccepted).Order.Hash())
		})
	})
	if err := errors.Join(err, j.Close(t.Context())); err != nil {
		t.Fatal(err)
	}
	return hashes
}

// However many orders came and went, a start reads what lives and the facts behind the snapshot: at
// most twice as many, or the least after which one is taken. A snapshot that is cut off anywhere
// leaves the one before it.
func TestStartReadsWhatLives(t *testing.T) {
	const live, least = 30, 200
	h, dir := openChain(t), t.TempDir()
	app := h.opened(dir)
	app.snapshots.least = least
	at, head := time.Unix(1_700_000_012, 0).UTC(), app.Head()
	var facts uint64
	keep := func(list ...rpc.Fact) {
		t.Helper()
		if err := app.keeper.Keep(list...)(); err != nil {
			t.Fatal(err)
		}
		facts += uint64(len(list))
		app.snapshots.try(t.Context(), app.snapshots.due)
	}
	order := func(id uint64) rpc.Fact {
		return rpc.OrderAccepted{At: at, Order: &rpc.Order{
			ID: id, Kind: rpc.KindBundle, Signer: common.Address{7}, ReceivedAt: at,
			Bundle: rpc.Bundle{Hash: common.BigToHash(new(big.Int).SetUint64(id)),
				Window: rpc.Window{FirstBlock: head.Number + 50, LastBlock: head.Number + 60}},
		}}
	}
	for id := range uint64(live) {
		keep(order(id + 1))
	}
	for number := range uint64(400) {
		var batch []rpc.Fact
		for i := range uint64(10) {
			id := 1000 + 10*number + i
			batch = append(batch, order(id), rpc.OrderEnded{At: at, OrderRef: rpc.OrderRef{ID: id}, State: rpc.Failed,
				Block: number})
		}
		keep(append(batch,
			rpc.BlockIndexed{At: at, Head: rpc.Head{Number: number, Hash: common.Hash{byte(number), byte(number >> 8)}}})...)
		if number == 399 { // and one that comes to no end, at each of its calls
			for calls := 1; calls <= 2; calls++ { // a page, and the head
				app.snapshots.list.store = &cutOff{app.journal, calls}
				if err := app.snapshots.take(t.Context()); !errors.Is(err, errGone) {
					t.Errorf("a snapshot with a store that fails at call %d: %v", calls, err)
				}
			}
		}
	}
	if err := app.Close(); err != nil { // as a kill leaves it: no snapshot is taken
		t.Fatal(err)
	}

	app = h.opened(dir)
	defer func() {
		if err := app.Close(); err != nil {
			t.Error(err)
		}
	}()
	ended := 10 * 12 // of the blocks that can be taken back
	most := live + 2*ended + 64
	if s := app.snapshots; s.last.items == 0 || s.last.items > most || s.count > uint64(max(least, 2*most))+50 ||
		facts < 8000 {
		t.Errorf("a start reads %d items and %d facts of %d", s.last.items, s.count, facts)
	}
	if got := app.lifecycle.Orders(); got != live {
		t.Errorf("%d orders live", got)
	}
	if got := app.reputation.Standing(at, common.Address{7}).AllTime.Orders; got != live+4000 {
		t.Errorf("the signer has sent %d orders", got)
	}
}

// An instance of the next version has written fields that this one does not know, and a fact of an
// unknown kind. This one understands the rest, and a snapshot of its own has these fields again.
func TestSnapshotsKeepFieldsOfALaterVersion(t *testing.T) {
	h, dir := openChain(t), t.TempDir()
	app := h.opened(dir)
	order := rpc.OrderAccepted{At: time.Unix(1_700_000_012, 0).UTC(), Order: &rpc.Order{
		ID: 1, Kind: rpc.KindBundle, Signer: common.Address{7}, Bundle: rpc.Bundle{Hash: common.Hash{1},
			Window: rpc.Window{FirstBlock: app.Head().Number + 50, LastBlock: app.Head().Number + 60}},
	}}
	text, err := json.Marshal(order)
	must(t, err)
	const outside, inside = `{"of_version_2":"outside",`, `"order":{"of_version_2":"inside",`
	later := strings.Replace(strings.Replace(string(text), "{", outside, 1), `"order":{`, inside, 1)
	for subject, data := range map[string]string{order.Subject(): later, "order_reordered": `{"id":1}`} {
		_, err := app.journal.Append(t.Context(), subjectPrefix+subject, []byte(data))
		must(t, err)
	}
	must(t, app.Close())
	for range 2 { // from the facts, and from the snapshot
		app = h.opened(dir)
		if orders := app.lifecycle.Orders(); orders != 1 {
			t.Errorf("%d orders live", orders)
		}
		must(t, app.snapshots.take(t.Context()))
		var kept []string
		must(t, app.snapshots.list.read(t.Context(), nil, func(item []byte) error {
			if text := string(item); strings.Contains(text, outside) && strings.Contains(text, inside) {
				kept = append(kept, text)
			}
			return nil
		}))
		if len(kept) != 1 {
			t.Errorf("%d facts of the snapshot have the fields of the later version", len(kept))
		}
		must(t, app.Close())
	}
}

// cutOff is a store that is gone at one of the next calls that change something.
type cutOff struct {
	stateStore
	calls int
}

func (c *cutOff) PutState(ctx context.Context, subject string, data []byte) error {
	if c.calls--; c.calls <= 0 {
		return errGone
	}
	return c.stateStore.PutState(ctx, subject, data)
}

// opened is a service that does nothing by itself.
func (s *service) opened(dir string) *App {
	s.Helper()
	app, err := New(s.Context(), s.config(func(cfg *Config) { cfg.DataDir = dir }))
	if err != nil {
		s.Fatal(err)
	}
	return app
}

// Nobody is promised what the journal could forget before it is in a snapshot: the answer waits for
// that, and then comes.
func TestAnswersWaitForASnapshot(t *testing.T) {
	const room = 4 << 20
	h := openChain(t)
	app, err := New(t.Context(), h.config(func(cfg *Config) { cfg.Journal.FactsBytes = room }))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := app.Close(); err != nil {
			t.Error(err)
		}
	}()
	long := rpc.OrderEnded{Reason: strings.Repeat("x", 64<<10)}
	kept := 0
	for ; kept < 100; kept++ {
		receipt := app.facts.PutAcked(long)
		if err := receipt.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		if app.snapshots.safe(0) != nil {
			break
		}
	}
	if bytes := app.facts.bytes.Load(); bytes < room/2 || bytes > room*3/4 {
		t.Errorf("answers wait after %d bytes", bytes)
	}
	answered := make(chan error, 1)
	go func() { answered <- app.keeper.Keep(long)() }()
	if app.snapshots.try(t.Context(), app.snapshots.due); app.snapshots.last.note.Number == 0 {
		t.Error("no snapshot is due")
	}
	if err := <-answered; err != nil {
		t.Error(err)
	}
}

// After a power cut the log may be behind the snapshot: its numbers are given again, and the facts
// that get them must not be taken for those that the snapshot has.
func TestLogBehindTheSnapshot(t *testing.T) {
	h, dir := openChain(t), t.TempDir()
	app := h.opened(dir)
	end := rpc.OrderEnded{At: time.Unix(1_700_000_012, 0), OrderRef: rpc.OrderRef{Signer: common.Address{7}},
		State: rpc.Failed}
	keep := func() {
		t.Helper()
		if err := app.keeper.Keep(end)(); err != nil {
			t.Fatal(err)
		}
	}
	keep()
	if err := app.snapshots.take(t.Context()); err != nil {
		t.Fatal(err)
	}
	ahead := app.snapshots.last.note
	ahead.Sequence += 1000
	if err := app.snapshots.list.put(t.Context(), ahead, func(yield func([]byte, error) bool) {
		for saved := range app.reputation.Save() {
			data, err := json.Marshal(saved)
			if !yield(appendItem(nil, signerItem, data), err) {
				return
			}
		}
	}); err != nil {
		t.Fatal(err)
	}
	for round := range uint64(3) {
		if err := app.Close(); err != nil {
			t.Fatal(err)
		}
		app = h.opened(dir)
		if got := app.reputation.Standing(end.At, end.Signer).AllTime.FailedOrders; got != round+1 {
			t.Errorf("round %d: %d failed orders are known", round, got)
		}
		keep()
	}
	if err := app.Close(); err != nil {
		t.Fatal(err)
	}
}

// Facts that go before the orders that wait are refused, with what to do.
func TestRetentionBelowAnOrdersLife(t *testing.T) {
	h := openChain(t)
	for span, want := range map[time.Duration]string{
		12 * time.Minute: "rpc: facts are kept for 12m0s, " +
			"but an order may wait 64 blocks, which is 12m48s: raise --facts-for",
		13 * time.Minute: "", -1: "",
	} {
		cfg := h.config(func(cfg *Config) { cfg.Journal.FactsFor = span })
		if err := cfg.Validate(); want == "" && err != nil || want != "" && (err == nil || err.Error() != want) {
			t.Errorf("%s: %v", span, err)
		}
	}
}

// Thousands of refunds are owed: more than a message holds.
func TestManyRefundsAreOwed(t *testing.T) {
	const many = 5000
	h, dir := openChain(t), t.TempDir()
	app := h.opened(dir)
	for i := range uint64(many) {
		fact := rpc.RefundCredited{Refund: rpc.Refund{
			Hash: common.BigToHash(new(big.Int).SetUint64(i)), BlockHash: common.Hash{1}, Recipient: common.Address{0xbb},
			AmountWei: uint256.NewInt(i + 1),
		}}
		app.indexer.Apply(fact)
		app.refunds.observe(fact)
	}
	if err := app.refunds.keepOwed(t.Context()); err != nil {
		t.Fatal(err)
	}
	if pages := app.refunds.list.head.Pages; pages < 2 {
		t.Errorf("%d pages", pages)
	}
	if err := app.Close(); err != nil {
		t.Fatal(err)
	}

	app = h.opened(dir)
	defer func() {
		if err := app.Close(); err != nil {
			t.Error(err)
		}
	}()
	owed := app.indexer.Owed()
	if len(owed) != many {
		t.Fatalf("%d refunds are owed", len(owed))
	}
	for i, fact := range owed {
		if got := fact.(rpc.RefundCredited); !got.AmountWei.Eq(uint256.NewInt(uint64(i + 1))) {
			t.Fatalf("refund %d is %+v", i, got)
		}
	}
}
