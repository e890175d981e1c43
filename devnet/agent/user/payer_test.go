package user

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/big"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/rpc"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/devnet"
)

// owing is a refund in the ledger's books.
type owing struct {
	block  uint64
	wei    uint64
	status string
}

// ledger answers like an execution node and a bundle RPC in one, and writes down what is paid and
// told. It is called by one payer.
type ledger struct {
	t       *testing.T
	clock   *steps
	head    uint64
	behind  int // so many answers are of the block before
	books   []owing
	page    int    // refunds to a page; 0 is all
	miscast uint64 // wei that the totals say too much
	extra   uint64 // wei that the friend has of somebody else
	refuse  bool
	nonce   uint64
	lines   []string
	each    func(h *ledger, slot int) // what happens before each slot
}

// eth and buildernet are its namespaces.
type (
	ledgerNode struct{ *ledger }
	ledgerRPC  struct{ *ledger }
)

// BlockNumber is eth_blockNumber.
func (h ledgerNode) BlockNumber() hexutil.Uint64 { return hexutil.Uint64(h.head) }

// GetTransactionCount is eth_getTransactionCount.
func (h ledgerNode) GetTransactionCount(common.Address, string) hexutil.Uint64 {
	return hexutil.Uint64(h.nonce)
}

// GetBalance is eth_getBalance: the friend's, which is what it was paid.
func (h ledgerNode) GetBalance(address common.Address, block hexutil.Uint64) (*hexutil.U256, error) {
	if address != testFriend || uint64(block) != h.head {
		return nil, fmt.Errorf("asked for %s at %d", address, block)
	}
	_, received := h.sums()
	return number(received + h.extra), nil
}

// SendRawTransaction is eth_sendRawTransaction.
func (h ledgerNode) SendRawTransaction(raw hexutil.Bytes) (common.Hash, error) {
	tx := new(types.Transaction)
	if err := tx.UnmarshalBinary(raw); err != nil {
		return common.Hash{}, err
	}
	from, err := types.Sender(types.LatestSignerForChainID(big.NewInt(testChainID)), tx)
	if err != nil || from != crypto.PubkeyToAddress(testKey.PublicKey) || *tx.To() != testFriend || len(tx.Data()) > 0 {
		h.t.Errorf("%s pays %s by %x: %v", from, tx.To(), tx.Data(), err)
	}
	h.note("pays %d wei, #%d", tx.Value(), tx.Nonce())
	return tx.Hash(), nil
}

// GetDelayedRefunds is buildernet_getDelayedRefunds.
func (h ledgerRPC) GetDelayedRefunds(query struct {
	Recipient common.Address
	Cursor    string
}) (map[string]any, error) {
	if h.refuse {
		h.refuse = false
		return nil, errors.New("no")
	}
	first := 0
	if query.Cursor != "" {
		if _, err := fmt.Sscan(query.Cursor, &first); err != nil {
			return nil, err
		}
	}
	last := len(h.books)
	if h.page > 0 {
		last = min(last, first+h.page)
	}
	list := []map[string]any{}
	for i, one := range h.books[first:last] {
		list = append(list, map[string]any{
			"hash": common.Hash{byte(first + i + 1)}, "amount": number(one.wei), "blockNumber": hexutil.Uint64(one.block),
			"status":    one.status,
			"recipient": query.Recipient,
		})
	}
	answer := map[string]any{"refunds": list, "indexedUpTo": h.indexed()}
	if last < len(h.books) {
		answer["nextCursor"] = fmt.Sprint(last)
	}
	return answer, nil
}

// GetDelayedRefundTotalsByRecipient is buildernet_getDelayedRefundTotalsByRecipient.
func (h ledgerRPC) GetDelayedRefundTotalsByRecipient(struct{ Recipient common.Address }) map[string]any {
	pending, received := h.sums()
	return map[string]any{"pending": number(pending + h.miscast), "received": number(received), "indexedUpTo": h.indexed()}
}

func (h *ledger) indexed() hexutil.Uint64 {
	if h.behind > 0 {
		h.behind--
		return hexutil.Uint64(h.head - 1)
	}
	return hexutil.Uint64(h.head)
}

func (h *ledger) sums() (pending, received uint64) {
	for _, one := range h.books {
		if one.status == "received" {
			received += one.wei
		} else {
			pending += one.wei
		}
	}
	return pending, received
}

func (h *ledger) note(format string, args ...any) {
	at := h.clock.now.Sub(testSpec.GenesisTime)
	h.lines = append(h.lines, fmt.Sprintf("%v "+format, append([]any{at}, args...)...))
}

func number(wei uint64) *hexutil.U256 { return (*hexutil.U256)(uint256.NewInt(wei)) }

// steps is a clock that is never waited for: each wait makes it the time that was wanted. A slot
// begins with each wait for its first quarter, and after the given number of slots the context
// ends.
type steps struct {
	now   time.Time
	slots int
	slot  func(number int)
	end   context.CancelFunc
}

func (s *steps) Now() time.Time { return s.now }

func (s *steps) Until(ctx context.Context, t time.Time) error {
	if since := t.Sub(testSpec.GenesisTime); since%(12*time.Second) == 3*time.Second {
		if int(since/(12*time.Second)) == s.slots {
			s.end()
			return context.Canceled
		}
		s.slot(int(since / (12 * time.Second)))
	}
	s.now = t
	return ctx.Err()
}

// pay lets a payer run for some slots at a ledger, and returns what the ledger wrote down.
func pay(t *testing.T, h *ledger, slots int) string {
	t.Helper()
	server := rpc.NewServer()
	for name, receiver := range map[string]any{"eth": ledgerNode{h}, "buildernet": ledgerRPC{h}} {
		if err := server.RegisterName(name, receiver); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(server.Stop)
	client := rpc.DialInProc(server)
	t.Cleanup(client.Close)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	h.t, h.clock = t, &steps{now: testSpec.GenesisTime, slots: slots, end: cancel, slot: func(number int) {
		if h.each != nil {
			h.each(h, number)
		}
	}}
	payer := NewPayer(PayerConfig{
		Name: "payer", Wallet: testKey, ChainID: testChainID, Spec: testSpec, Clock: h.clock, Node: client, OrderFlow: client,
		Recipient: testFriend,
		Tell:      func(r devnet.Event) { h.note("%s %s", r.Subject, r.ValueWei) }, Log: slog.New(slog.DiscardHandler),
	})
	if err := payer.Run(ctx); err != nil {
		t.Errorf("run ended with %v", err)
	}
	return strings.Join(h.lines, "\n")
}

// Each row is a ledger, and what the payer does and tells there, at chain time since genesis.
func TestPayer(t *testing.T) {
	for _, c := range []struct {
		name   string
		ledger ledger
		slots  int
		want   string
	}{
		{"what is owed is paid once, to the wei, and told when it was received",
			ledger{head: 1, books: []owing{{1, 2_100_000_000_000_001, "pending"}},
				each: func(h *ledger, slot int) {
					if slot == 2 { // the transfer took two slots to land
						h.head, h.nonce, h.books[0].status = 3, 1, "received"
					}
				}}, 4, `
3s books_right 0
3s refund_listed 2100000000000001
3s pays 2100000000000001 wei, #0
15s books_right 0
27s books_right 2100000000000001
27s refund_received 2100000000000001
39s books_right 2100000000000001`},
		{"several are paid with a nonce each",
			ledger{head: 1, nonce: 7, books: []owing{{1, 5, "pending"}, {1, 6, "pending"}}}, 1, `
3s books_right 0
3s refund_listed 5
3s pays 5 wei, #7
3s refund_listed 6
3s pays 6 wei, #8`},
		{"page by page", ledger{head: 1, page: 1, books: []owing{{1, 5, "received"}, {1, 6, "pending"}}}, 1, `
3s books_right 5
3s refund_listed 5
3s refund_received 5
3s refund_listed 6
3s pays 6 wei, #0`},
		{"the newest block is waited for", ledger{head: 2, behind: 2, books: []owing{{2, 5, "pending"}}}, 1, `
3.4s books_right 0
3.4s refund_listed 5
3.4s pays 5 wei, #0`},
		{"but not into the next slot", ledger{head: 2, behind: 46, books: []owing{{2, 5, "pending"}}}, 2, `
15s books_right 0
15s refund_listed 5
15s pays 5 wei, #0`},
		{"totals that are not the sums are not right, and nothing is paid",
			ledger{head: 1, miscast: 1, books: []owing{{1, 5, "pending"}}}, 1, ``},
		{"nor is a balance of something else", ledger{head: 1, extra: 1, books: []owing{{1, 5, "pending"}}}, 1, ``},
		{"a service that refuses is asked again in the next slot", ledger{head: 1, refuse: true}, 2, `
15s books_right 0`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got, want := pay(t, &c.ledger, c.slots), strings.TrimPrefix(c.want, "\n"); got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// Each row is a refund's stage and its status now, and what a payer does.
func TestPayerDecides(t *testing.T) {
	for _, c := range []struct {
		name   string
		stage  stage
		status string
		want   step
	}{
		{"a new one that is owed", 0, "pending", step{[]string{devnet.RefundListed}, true, paid}},
		{"a new one that somebody has paid", 0, "received",
			step{[]string{devnet.RefundListed, devnet.RefundReceived}, false, received}},
		{"a new one of which nothing is known", 0, "error", step{[]string{devnet.RefundListed}, false, owed}},
		{"one that is owed by now", owed, "pending", step{nil, true, paid}},
		{"one that was paid, and is under way", paid, "pending", step{nil, false, paid}},
		{"one that was paid, and has arrived", paid, "received", step{[]string{devnet.RefundReceived}, false, received}},
		{"one that has arrived before", received, "received", step{nil, false, received}},
		{"one whose block is gone again", received, "pending", step{nil, false, received}},
	} {
		if got := c.stage.decide(c.status); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}
