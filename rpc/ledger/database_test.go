package ledger

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/internal/projection"
	"github.com/gavel-relay/gavel/internal/projection/projectiontest"
	"github.com/gavel-relay/gavel/rpc"
)

func TestMain(m *testing.M) { os.Exit(projectiontest.Main(m)) }

var (
	noon       = time.Date(2026, 1, 1, 12, 0, 0, 123_000, time.UTC)
	quiet      = slog.New(slog.DiscardHandler)
	alice, bob = common.Address{0xaa}, common.Address{0xbb}
)

// openAt opens a ledger, connected, until the test's end.
func openAt(t testing.TB, address string, cfg Config) *Ledger {
	t.Helper()
	cfg.Log = quiet
	l, err := Open(t.Context(), address, cfg)
	if err != nil {
		t.Fatal(err)
	}
	db := l.projection.Database // a test may put another in front of it
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := db.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	return l
}

// onEach runs a test on every kind of database, and on one that fails half of the time.
func onEach(t *testing.T, cfg Config, test func(*testing.T, *Ledger)) {
	t.Helper()
	projectiontest.OnEach(t, func(t *testing.T, address string, front func(projection.Database) projection.Database) {
		l := openAt(t, address, cfg)
		l.projection.Database = front(l.projection.Database)
		test(t, l)
	})
}

// record applies facts as the next ones of the journal. None may be unreadable.
func record(t testing.TB, l *Ledger, facts ...rpc.Fact) {
	t.Helper()
	last, err := l.Last(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	entries := make([]projection.Entry, len(facts))
	for i, fact := range facts {
		data, err := json.Marshal(fact)
		if err != nil {
			t.Fatal(err)
		}
		entries[i] = projection.Entry{Seq: last + 1 + uint64(i), Subject: "rpc." + fact.Subject(), Data: data}
	}
	projectiontest.Apply(t, l, entries...)
	if l.Skipped() != 0 {
		t.Fatal("a fact could not be read")
	}
}

// head is the block of a number; fork tells blocks of one number apart. Block n came n times 12
// seconds after noon.
func head(number uint64, fork byte) rpc.Head {
	return rpc.Head{Number: number, Hash: common.Hash{fork, byte(number >> 8), byte(number)},
		Timestamp: uint64(blockTime(number).Unix())}
}

func blockTime(number uint64) time.Time {
	return noon.Truncate(time.Second).Add(time.Duration(number) * 12 * time.Second)
}

func indexed(number uint64, fork byte) rpc.Fact {
	return rpc.BlockIndexed{At: noon, Head: head(number, fork)}
}

func reverted(number uint64, fork byte) rpc.Fact {
	return rpc.BlockReverted{At: noon, Head: head(number, fork)}
}

// credited is a refund of an order that is told by its first byte.
func credited(order byte, number uint64, fork byte, to common.Address, amount *uint256.Int) rpc.RefundCredited {
	return rpc.RefundCredited{At: noon, Refund: rpc.Refund{
		Hash: common.Hash{order}, Block: number, BlockHash: head(number, fork).Hash, Recipient: to, AmountWei: amount,
	}}
}

// paid is the payout of such a refund.
func paid(order byte, number uint64, fork byte, to common.Address, in uint64) rpc.Fact {
	return rpc.RefundPaid{
		At: noon, Hash: common.Hash{order}, Block: number, BlockHash: head(number, fork).Hash, Recipient: to,
		PayoutTx:    common.Hash{0xf0, order},
		PayoutBlock: in,
	}
}

func late(fact rpc.RefundCredited) rpc.Fact {
	fact.Delayed = true
	return fact
}

func wei(n uint64) *uint256.Int { return uint256.NewInt(n) }

// told is a page as "order:amount", with a "+" after received ones, and an ellipsis if it has a
// cursor.
func told(t testing.TB, page rpc.RefundPage, err error) string {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, r := range page.Refunds {
		one := fmt.Sprintf("%d:%s", r.Hash[0], r.AmountWei.Dec())
		if r.Received {
			one += "+"
		}
		list = append(list, one)
	}
	if page.Cursor != "" {
		list = append(list, "…")
	}
	return strings.Join(list, " ")
}

// refundsOf are all refunds for an address that are told at a time.
func refundsOf(t testing.TB, l *Ledger, at time.Time, to common.Address) string {
	t.Helper()
	page, err := l.ByRecipient(t.Context(), at, to, "", 100)
	return told(t, page, err)
}

// totalsOf are totals as "pending received up to".
func totalsOf(t testing.TB, totals rpc.RefundTotals, err error) string {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%s %s %d", totals.PendingWei.Dec(), totals.ReceivedWei.Dec(), totals.UpTo)
}
