package app

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/internal/journal"
	"github.com/gavel-relay/gavel/rpc"
)

func openJournal(t *testing.T, cfg journal.Config) *journal.Journal {
	t.Helper()
	j, err := journal.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := j.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return j
}

// A second service on a journal is refused while the first one lives, and says what to do; one that
// was killed, or has ended, does not keep out the next.
func TestJournalHasOneService(t *testing.T) {
	j := openJournal(t, journal.Config{})
	first, err := acquireLease(t.Context(), j, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	living, kill := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- first.renew(living) }()
	if _, err := acquireLease(t.Context(), j, time.Minute); err == nil || err.Error() != inUse(first.term).Error() {
		t.Errorf("a second one begins: %v", err)
	}
	kill()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	second, err := acquireLease(t.Context(), j, time.Millisecond) // the watch ends, and nothing was heard
	if err != nil || second.term.Number != 2 {
		t.Fatalf("%+v, %v", second, err)
	}
	if err := first.renew(t.Context()); !errors.Is(err, errReplaced) { // it was not dead, but stood still
		t.Errorf("the first goes on: %v", err)
	}
	if err := errors.Join(first.release(t.Context()), second.release(t.Context())); err != nil {
		t.Error(err)
	}
	third, err := acquireLease(t.Context(), j, time.Minute)
	if err != nil || third.term.Number != 3 {
		t.Fatalf("after an orderly end: %+v, %v", third, err)
	}
}

// A term that was claimed, and of which nothing was ever said — the service was killed in between,
// its claim's answer was lost, or a power cut took the state — keeps nobody out; one that is said
// while somebody watches does.
func TestLifeThatWasClaimedAlone(t *testing.T) {
	j := openJournal(t, journal.Config{})
	for _, number := range []string{"1", "2"} {
		if _, won, err := j.Claim(t.Context(), "rpc-life-"+number, []byte("killed")); !won || err != nil {
			t.Fatal(won, err)
		}
	}
	third, err := acquireLease(t.Context(), j, time.Millisecond)
	if err != nil || third.term.Number != 3 {
		t.Fatalf("%+v, %v", third, err)
	}
	if err := third.release(t.Context()); err != nil {
		t.Fatal(err)
	}
	slow := &soleLease{journal: j, term: term{Number: 4, Owner: "about to say so"}}
	if err := slow.put(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := awaitClaimant(t.Context(), j, third.term, time.Minute); err == nil ||
		err.Error() != inUse(slow.term).Error() {
		t.Errorf("who watches hears nothing: %v", err)
	}
}

// Orders of a later term have greater numbers, also if nothing is left of those before.
func TestOrderNumbersNeverRepeat(t *testing.T) {
	h, dir := openChain(t), t.TempDir()
	var last uint64
	for nonce := range uint64(3) {
		h.facts.reset()
		stop := h.serve(h.config(func(cfg *Config) { cfg.DataDir = dir }))
		var hash common.Hash
		h.want(&hash, accountKey(7), "eth_sendPrivateTransaction",
			map[string]any{"tx": rawOf(h.tx(accountKey(0), nonce, common.Address{1}, 5))})
		id := waitFor(h, "order", func(f rpc.OrderAccepted) bool { return f.Order.Hash() == hash }).Order.ID
		if id <= last || id>>termShift != nonce+1 {
			t.Errorf("order %#x in term %d, after %#x", id, nonce+1, last)
		}
		last = id
		stop()
		forgetFacts(t, dir)
	}
}

// Where refunds go, and what is owed, outlives the facts; also of a version that kept facts alone,
// whose state is taken over before its facts are bounded.
func TestStateOutlivesTheFacts(t *testing.T) {
	t.Run("this version", func(t *testing.T) { stateOutlivesTheFacts(t, false) })
	t.Run("an earlier version", func(t *testing.T) { stateOutlivesTheFacts(t, true) })
}

func stateOutlivesTheFacts(t *testing.T, earlier bool) {
	h, dir, owner, recipient := openChain(t), t.TempDir(), accountKey(6), common.Address{0xaa}
	stop := h.serve(h.config(func(cfg *Config) { cfg.DataDir = dir }))
	h.want(new(any), owner, "flashbots_setFeeRefundRecipient", addressOf(owner), common.Address{1})
	h.want(new(any), owner, "flashbots_setFeeRefundRecipient", addressOf(owner), recipient)
	h.want(new(any), accountKey(7), "eth_sendBundle", map[string]any{
		"txs": []string{rawOf(h.tx(accountKey(0), 0, common.Address{1}, 5))}, "refundPercent": 40,
		"refundRecipient": common.Address{0xbb},
	})
	<-h.builder.got
	h.mine()
	credit := waitFor(h, "refund", func(rpc.RefundCredited) bool { return true })
	h.waitForIndexed()
	stop()
	if earlier {
		if err := os.RemoveAll(filepath.Join(dir, "journal", "jetstream", "$G", "streams", "STATE")); err != nil {
			t.Fatal(err)
		}
		h.serve(h.config(func(cfg *Config) { cfg.DataDir, cfg.Journal.FactsFor = dir, time.Hour }))()
	}
	forgetFacts(t, dir)

	h.serve(h.config(func(cfg *Config) { cfg.DataDir = dir }))
	if got := h.app.indexer.Recipient(addressOf(owner)); got != recipient {
		t.Errorf("refunds go to %s", got)
	}
	owed := h.app.indexer.Owed()
	if len(owed) != 1 {
		t.Fatalf("%d refunds are owed", len(owed))
	}
	if got := owed[0].(rpc.RefundCredited).Refund; got.Hash != credit.Hash || !got.AmountWei.Eq(credit.AmountWei) ||
		got.AmountWei.Eq(new(uint256.Int)) {
		t.Errorf("%+v is owed, want %+v", got, credit.Refund)
	}
}

// forgetFacts returns when a journal has forgotten all its facts by age.
func forgetFacts(t *testing.T, dir string) {
	t.Helper()
	j, err := journal.Open(t.Context(), journal.Config{Dir: dir + "/journal", FactsFor: 100 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	for left := 1; left > 0; { // however long it takes
		left = 0
		err := j.Past(t.Context(), 1, []string{subjectPrefix + ">"}, func(time.Time, string, []byte) error {
			left++
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := j.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}
