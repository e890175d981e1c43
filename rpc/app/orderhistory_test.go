package app

import (
	"encoding/json"
	"flag"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/ethereum/go-ethereum/common"

	"github.com/gavel-relay/gavel/rpc"
)

// orderInput is what is asked for an order: send, cancel or status. "sent" is no question: a
// builder has got the order.
type orderInput struct {
	order common.Hash
	what  string
}

// orderModel is one pool that keeps what it has answered. The state is "" before the order is
// there, "live" or "cancelled". The output is the answer; nil is none, or one that says that nobody
// knows.
var orderModel = porcupine.Model{
	Partition: func(all []porcupine.Operation) (parts [][]porcupine.Operation) {
		place := map[common.Hash]int{}
		for _, one := range all {
			order := one.Input.(orderInput).order
			if _, known := place[order]; !known {
				place[order], parts = len(parts), append(parts, nil)
			}
			parts[place[order]] = append(parts[place[order]], one)
		}
		return parts
	},
	Init: func() any { return "" },
	Step: func(state, input, output any) (bool, any) {
		is := state.(string)
		switch input.(orderInput).what {
		case "send":
			if is == "" {
				return true, "live"
			}
			return output == nil, is
		case "cancel":
			if output == nil && is == "live" || output == true {
				return is == "live", "cancelled"
			}
			return output == nil || is != "live", is
		case "sent":
			return is == "live", is
		default: // its status
			return output == is, is
		}
	},
}

// orderHistory is what signers asked for and were answered, and when. It is safe for concurrent
// use.
type orderHistory struct {
	begun time.Time

	mu         sync.Mutex // guards operations
	operations []porcupine.Operation
	answered   atomic.Int64
}

const (
	// noAnswer is the time of an answer that did not come: what was asked for counts at some time
	// after the call, or never.
	noAnswer = time.Duration(1) << 60
	// onTheWire is how long a request may be on its way to a builder on this machine (wall time). One
	// that was begun before the answer to a cancel may arrive after it.
	onTheWire = 500 * time.Millisecond
)

func (h *orderHistory) add(input orderInput, output any, call, end time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.operations = append(h.operations, porcupine.Operation{Input: input, Call: int64(call), Output: output,
		Return: int64(end)})
}

// watch notes what a builder gets, until the channel is closed.
func (h *orderHistory) watch(m *member, got <-chan sent, done <-chan struct{}) {
	for {
		select {
		case bundle := <-got:
			now := time.Since(h.begun)
			for _, raw := range bundle.Txs {
				h.add(orderInput{m.decoded(raw).Hash(), "sent"}, true, now-onTheWire, now)
			}
		case <-done:
			return
		}
	}
}

// ask asks an instance, and notes the answer. What was refused before anybody had it is not noted,
// nor a status that was not told, or says that the order has failed: that is an order which the
// journal did not confirm, and docs/rpc.md promises nothing of it beyond the owner's term.
func (h *orderHistory) ask(m *member, input orderInput, method string, param any) {
	call := time.Since(h.begun)
	got := m.call(accountKey(7), method, param)
	end := time.Since(h.begun)
	var output any
	switch {
	case got.Error == nil:
		h.answered.Add(1)
		if output = readOutput(m, input.what, got.Result); output == "failed" {
			return
		}
	case strings.HasPrefix(got.Error.Message, rpc.NoOwner.Short):
		return
	case input.what == "status" && strings.HasPrefix(got.Error.Message, rpc.OrderUnknown.Short):
		output = ""
	case input.what == "status":
		return
	default:
		end = noAnswer
	}
	h.add(input, output, call, end)
}

func readOutput(m *member, what string, result json.RawMessage) any {
	m.Helper()
	switch what {
	case "send":
		return true
	case "cancel":
		var done bool
		must(m, json.Unmarshal(result, &done))
		return done
	}
	var status orderStatus
	must(m, json.Unmarshal(result, &status))
	switch status.State {
	case "submitted", "simulated", "sent":
		return "live"
	}
	return status.State
}

// play is a signer at one instance: it sends an order, asks for it, and may cancel it or one of
// another signer's client.
func (h *orderHistory) play(m *member, orders func(n int) (common.Hash, any), numbers *atomic.Int64, random *rand.Rand,
	done <-chan struct{}) {
	pace := time.NewTicker(20 * time.Millisecond)
	defer pace.Stop()
	for {
		select {
		case <-done:
			return
		case <-pace.C:
		}
		number := int(numbers.Add(1))
		hash, raw := orders(number)
		h.ask(m, orderInput{hash, "send"}, "eth_sendPrivateTransaction", map[string]any{"tx": raw})
		for range 3 {
			hash, _ := orders(max(1, number-random.IntN(6)))
			if random.IntN(3) == 0 {
				h.ask(m, orderInput{hash, "cancel"}, "eth_cancelPrivateTransaction", map[string]any{"txHash": hash})
			} else {
				h.ask(m, orderInput{hash, "status"}, "gavel_getOrderStatus", hash)
			}
		}
	}
}

func (h *orderHistory) isLinearizable(t *testing.T) bool {
	t.Helper()
	result := porcupine.CheckOperationsTimeout(orderModel, h.operations, time.Minute)
	if result == porcupine.Unknown {
		t.Errorf("no order of %d operations was found or excluded", len(h.operations))
	}
	return result == porcupine.Ok
}

// The model finds what must never be, and takes what may be.
func TestModelOfOrders(t *testing.T) {
	type step struct {
		call, end time.Duration
		what      string
		output    any
	}
	for name, c := range map[string]struct {
		right bool
		steps []step
	}{
		"a life": {true, []step{{1, 2, "send", true}, {3, 4, "status", "live"}, {3, 5, "sent", true},
			{6, 7, "cancel", true}, {8, 9, "status", "cancelled"}, {10, 11, "cancel", false}}},
		"sent while it is cancelled": {true, []step{{1, 2, "send", true}, {3, 6, "cancel", true},
			{4, 5, "sent", true}}},
		"one that was not answered is there": {true, []step{{1, noAnswer, "send", nil}, {2, 3, "status", "live"}}},
		"one that was not answered is not":   {true, []step{{1, noAnswer, "send", nil}, {2, 3, "status", ""}}},
		"a cancel that was not answered": {true, []step{{1, 2, "send", true}, {3, noAnswer, "cancel", nil},
			{4, 5, "status", "live"}}},
		"an acknowledged order is lost": {false, []step{{1, 2, "send", true}, {3, 4, "status", ""}}},
		"sent after the answer to its cancel": {false, []step{{1, 2, "send", true}, {3, 4, "cancel", true},
			{5, 6, "sent", true}}},
		"it lives after its cancel": {false, []step{{1, 2, "send", true}, {3, 4, "cancel", true},
			{5, 6, "status", "live"}}},
		"two cancel it": {false, []step{{1, 2, "send", true}, {3, 6, "cancel", true}, {4, 5, "cancel", true}}},
		"seen and then lost": {false, []step{{1, noAnswer, "send", nil}, {2, 3, "status", "live"},
			{4, 5, "status", ""}}},
		"a cancel is seen and then lost": {false, []step{{1, 2, "send", true}, {3, noAnswer, "cancel", nil},
			{4, 5, "status", "cancelled"}, {6, 7, "status", "live"}}},
		"sent before anybody has sent it": {false, []step{{1, 2, "sent", true}, {3, 4, "send", true}}},
	} {
		t.Run(name, func(t *testing.T) {
			h := &orderHistory{}
			for _, one := range c.steps {
				h.add(orderInput{what: one.what}, one.output, one.call, one.end)
			}
			if got := h.isLinearizable(t); got != c.right {
				t.Errorf("the model says %v, want %v", got, c.right)
			}
		})
	}
}

// historyRounds is how often each fault takes the orders from their owner in
// TestInstanceHistoriesAreLinearizable; a round takes some seconds, and under load a minute.
var historyRounds = flag.Int("history-rounds", 1, "how often each fault befalls the owner in histories of orders")

// Signers send, ask and cancel at two instances, while the owner of the orders is cut off, or what
// it sends comes after another one has taken over. What they are answered, and what the builder
// gets, is as if there were one pool.
//
//gavel:fault journal-away pause
func TestInstanceHistoriesAreLinearizable(t *testing.T) {
	h := openChain(t)
	cluster := startCluster(t)
	owner := h.join(t, cluster, nil)
	owner.owns()
	next := h.join(t, cluster, nil)
	next.knows(owner)

	var mu sync.Mutex
	orders := func(n int) (common.Hash, any) {
		mu.Lock()
		defer mu.Unlock()
		tx := h.tx(accountKey(n%5), 0, common.Address{1}, int64(n))
		return tx.Hash(), rawOf(tx)
	}
	history := &orderHistory{begun: time.Now()}
	var numbers atomic.Int64
	var signers, watching sync.WaitGroup
	done, over := make(chan struct{}), make(chan struct{})
	watching.Go(func() { history.watch(owner, h.builder.got, over) })
	for seed, m := range []*member{owner, next, owner, next} {
		signers.Go(func() { history.play(m, orders, &numbers, rand.New(rand.NewPCG(uint64(seed), 0)), done) })
	}
	goOn := func() {
		until := history.answered.Load() + 30
		next.comes("more answers", func() bool { return history.answered.Load() >= until })
	}
	goOn()
	for range *historyRounds {
		for _, fault := range []func(*cable, bool){(*cable).cut, (*cable).hold} {
			fault(owner.cable, true)
			next.owns()
			goOn()
			fault(owner.cable, false)
			owner.knows(next)
			goOn()
			owner, next = next, owner
		}
	}
	close(done)
	signers.Wait()
	close(over)
	watching.Wait()
	t.Logf("%d operations, %d answered", len(history.operations), history.answered.Load())
	if !history.isLinearizable(t) {
		t.Error("the answers are not those of one pool")
		history.tell(t)
	}
}

// tell writes the operations of the orders whose history is wrong.
func (h *orderHistory) tell(t *testing.T) {
	t.Helper()
	for _, part := range orderModel.Partition(h.operations) {
		if porcupine.CheckOperations(orderModel, part) {
			continue
		}
		for _, one := range part {
			input := one.Input.(orderInput)
			t.Logf("%s %s: %v, from %s to %s", input.order.TerminalString(), input.what, one.Output,
				time.Duration(one.Call), time.Duration(one.Return))
		}
	}
}
