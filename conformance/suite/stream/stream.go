// Package stream has the specs of the event stream and its history, with one file for each
// operation.
//
//	spec ─order with hints─▶ bundle RPC ─▶ stream ─event─▶ spec
//
// Specs that need events are inconclusive without the RPC that the stream gets its orders from.
package stream

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"

	"github.com/gavel-relay/gavel/conformance/probe"
	"github.com/gavel-relay/gavel/conformance/suite"
	"github.com/gavel-relay/gavel/conformance/suite/rpc"
)

// Specs adds all specs of the stream to a set.
func Specs(s *suite.Set) {
	s.Sane("stream", checkWorld)
	floor := new(sync.Mutex)
	for _, add := range []func(*suite.Set){describeLiveEvents, events(floor), describeHints, describeHistoryInfo,
		describeHistory, describeLiteral, forks(floor)} {
		add(s)
	}
}

func client(t *suite.T) *probe.Client { return t.Client(t.Target.Stream.URL) }

// acceptEvents are the headers that a listener sends.
var acceptEvents = map[string]string{"Accept": "text/event-stream"}

// open opens the stream as a client does. The caller must close it.
func open(t *suite.T) *probe.Stream { return openWith(t, client(t)) }

func openWith(t *suite.T, c *probe.Client) *probe.Stream {
	s, err := c.Open(t, "/", acceptEvents)
	t.Check(err == nil, "a stream", err)
	t.Check(s.Status == 200, "status 200", s.Status)
	return s
}

// openEvents is open for a spec of the answer's head. It ends as inconclusive if the answer is no
// stream of events, which STR-LIV-01 tells.
func openEvents(t *suite.T) *probe.Stream {
	s := open(t)
	if !strings.HasPrefix(s.Header.Get("Content-Type"), "text/event-stream") {
		s.Close()
		t.Inconclusive("the answer is no text/event-stream")
	}
	return s
}

// listening opens the stream for a spec that sends orders. The spec is inconclusive if the target
// has no RPC.
func listening(t *suite.T) *probe.Stream {
	if t.Target.RPC == nil {
		t.Inconclusive("needs the bundle RPC that the stream tells of (rpc.url)")
	}
	return open(t)
}

// event is a decoded event.
type event struct {
	raw string
	all map[string]json.RawMessage
	txs []map[string]any
}

// hashTwice returns the hash by which events name an order: the Keccak-256 of the order's hash.
func hashTwice(hash common.Hash) string { return crypto.Keccak256Hash(hash.Bytes()).Hex() }

// waitForEvent waits for the event of an order. It returns false if none comes in time.
func waitForEvent(t *suite.T, s *probe.Stream, order common.Hash) (event, bool) {
	text, found := s.Wait(t.Target.Budgets.Hint(), func(e string) bool {
		return strings.Contains(strings.ToLower(e), hashTwice(order))
	})
	if !found {
		return event{}, false
	}
	return read(t, text), true
}

func read(t *suite.T, text string) event {
	e := event{raw: text}
	err := json.Unmarshal([]byte(text), &e.all)
	t.Check(err == nil, "one JSON object", text)
	if e.all["txs"] != nil {
		err = json.Unmarshal(e.all["txs"], &e.txs)
		t.Check(err == nil, "txs as a list of objects, or null", string(e.all["txs"]))
	}
	return e
}

// shareBundle sends a bundle with hints and returns its event. It fails the spec if none comes.
func shareBundle(t *suite.T, hints []string, txs ...*types.Transaction) event {
	s := listening(t)
	defer s.Close()
	return eventOf(t, s, rpc.Share(t, hints, txs...))
}

// sharePrivate sends a private transaction with hints and returns its event. It fails the spec if
// none comes.
func sharePrivate(t *suite.T, hints []string, tx *types.Transaction) event {
	s := listening(t)
	defer s.Close()
	return eventOf(t, s, rpc.Private(t, tx, map[string]any{"fast": false, "privacy": map[string]any{"hints": hints}}))
}

// eventOf waits for the event of an order, and fails the spec if none comes.
func eventOf(t *suite.T, s *probe.Stream, order common.Hash) event {
	e, found := waitForEvent(t, s, order)
	t.Check(found, fmt.Sprintf("an event within %s", t.Target.Budgets.Hint()), "none of this order")
	return e
}

// checkUntold fails the spec if an event of the order comes. It sends a later order and waits for
// its event: an event of the first order would have come about then too.
func checkUntold(t *suite.T, s *probe.Stream, order common.Hash) {
	w := rpc.NewWallet(t)
	if _, found := waitForEvent(t, s, rpc.Share(t, []string{"hash"}, w.Transfer(1))); !found {
		t.Inconclusive("no event of a later order came")
	}
	t.Until(t.Now().Add(100 * time.Millisecond)) // simulations may end in another order
	for _, text := range s.Events() {
		t.Check(!strings.Contains(strings.ToLower(text), hashTwice(order)), "no event of the order", text)
	}
}

// logs returns the event's logs; nil if there are none.
func (e event) logs(t *suite.T) (list []map[string]json.RawMessage) {
	err := json.Unmarshal(e.all["logs"], &list)
	t.Check(err == nil, "logs as a list of objects, or null", string(e.all["logs"]))
	return list
}

// tx returns the event's transaction. It fails the spec unless there is exactly one.
func (e event) tx(t *suite.T) map[string]any {
	t.Check(len(e.txs) == 1, "one element in txs", string(e.all["txs"]))
	return e.txs[0]
}

// has fails the spec unless the transaction has the member with the value.
func has(t *suite.T, tx map[string]any, member, want string) {
	got, _ := tx[member].(string)
	t.Check(strings.EqualFold(got, want), member+" "+want, fmt.Sprintf("%v", tx))
}

// hasOnly fails the spec unless the transaction has exactly these members.
func hasOnly(t *suite.T, tx map[string]any, members ...string) {
	allowed := map[string]bool{}
	for _, member := range members {
		_, there := tx[member]
		t.Check(there, "the member "+member, fmt.Sprintf("%v", tx))
		allowed[member] = true
	}
	for member := range tx {
		t.Check(allowed[member], "only the members "+strings.Join(members, ", "), fmt.Sprintf("%v", tx))
	}
}
