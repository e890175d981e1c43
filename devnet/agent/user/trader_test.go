package user

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/params"
	"github.com/ethereum/go-ethereum/rpc"

	"github.com/gavel-relay/gavel/devnet/chain"
	"github.com/gavel-relay/gavel/internal/eth"
)

var (
	testFriend = common.Address{0xf1}
	testKey, _ = crypto.ToECDSA(crypto.Keccak256([]byte("trader test")))
	testSpec   = &eth.Spec{GenesisTime: time.Unix(1_700_000_000, 0), SlotDuration: 12 * time.Second, SlotsPerEpoch: 4,
		Forks: []eth.ForkPoint{{Fork: eth.Fulu}}}
)

// market answers like an execution node and a bundle RPC in one, and writes down what it is asked.
// It is called by one trader, one call at a time.
type market struct {
	t      *testing.T
	clock  *steppingClock
	lands  bool // whatever is sent lands before the next slot
	late   int  // but not before so many more looks at the nonce
	refuse int  // so many requests are refused
	nonce  uint64
	seen   map[common.Hash]bool
	lines  []string
}

// GetTransactionCount is eth_getTransactionCount: what was sent has landed by then, if that is how
// it is.
func (h *market) GetTransactionCount(address common.Address, block string) (hexutil.Uint64, error) {
	if address != crypto.PubkeyToAddress(testKey.PublicKey) || block != "latest" {
		return 0, fmt.Errorf("asked for %s at %s", address, block)
	}
	if h.nonce > 0 && h.late > 0 {
		h.late--
		return hexutil.Uint64(h.nonce - 1), nil
	}
	return hexutil.Uint64(h.nonce), nil
}

// SendPrivateTransaction is eth_sendPrivateTransaction.
func (h *market) SendPrivateTransaction(request struct {
	Tx          hexutil.Bytes
	Preferences json.RawMessage
}) (common.Hash, error) {
	if h.refuse > 0 {
		h.refuse--
		h.note("refused")
		return common.Hash{}, errors.New("no")
	}
	tx := h.read(request.Tx)
	h.note("private %s %s", h.say(tx), request.Preferences)
	return tx.Hash(), nil
}

// SendRawTransaction is eth_sendRawTransaction.
func (h *market) SendRawTransaction(raw hexutil.Bytes) common.Hash {
	tx := h.read(raw)
	h.note("public %s", h.say(tx))
	return tx.Hash()
}

// SendBundle is eth_sendBundle.
func (h *market) SendBundle(request map[string]any) (map[string]any, error) {
	raw, err := hexutil.Decode(request["txs"].([]any)[0].(string))
	delete(request, "txs")
	rest, _ := json.Marshal(request)
	h.note("bundle %s %s", h.say(h.read(raw)), rest)
	return nil, err
}

// CancelPrivateTransaction is eth_cancelPrivateTransaction.
func (h *market) CancelPrivateTransaction(request struct{ TxHash common.Hash }) bool {
	if !h.seen[request.TxHash] {
		h.t.Errorf("cancelled %s, which was never sent", request.TxHash)
	}
	h.note("cancel")
	return true
}

func (h *market) note(format string, args ...any) {
	at := h.clock.Time.Sub(testSpec.GenesisTime)
	h.lines = append(h.lines, strings.TrimSpace(fmt.Sprintf("%v "+format, append([]any{at}, args...)...)))
}

// read decodes a transaction that was never sent before, signed by the trader.
func (h *market) read(raw []byte) *types.Transaction {
	h.t.Helper()
	tx := new(types.Transaction)
	if err := tx.UnmarshalBinary(raw); err != nil {
		h.t.Fatal(err)
	}
	from, err := types.Sender(types.LatestSignerForChainID(big.NewInt(testChainID)), tx)
	if err != nil || from != crypto.PubkeyToAddress(testKey.PublicKey) {
		h.t.Errorf("signed by %s: %v", from, err)
	}
	if h.seen[tx.Hash()] {
		h.t.Errorf("%s is sent again", tx.Hash())
	}
	h.seen[tx.Hash()] = true
	if h.lands && tx.GasTipCap().Sign() > 0 {
		h.nonce = tx.Nonce() + 1
	}
	return tx
}

// say is a transaction in words: its nonce, what it does, and its tip.
func (h *market) say(tx *types.Transaction) string {
	what := fmt.Sprintf("%d bytes", len(tx.Data()))
	switch {
	case *tx.To() == chain.RouterAt:
		ether, odd := new(big.Int).DivMod(tx.Value(), big.NewInt(params.Ether), new(big.Int))
		what = fmt.Sprintf("swap of %d ETH and %d wei", ether, odd)
	case len(tx.Data()) == 0:
		what = fmt.Sprintf("%d wei", tx.Value())
	}
	return fmt.Sprintf("#%d %s, tip %d gwei", tx.Nonce(), what, new(big.Int).Div(tx.GasTipCap(), big.NewInt(params.GWei)))
}

// trade lets a trader with a strategy run for some waits at a market, and returns what the market
// wrote down.
func trade(t *testing.T, h *market, waits int, strategy Strategy) string {
	t.Helper()
	server := rpc.NewServer()
	if err := server.RegisterName("eth", h); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Stop)
	client := rpc.DialInProc(server)
	t.Cleanup(client.Close)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	h.t, h.seen, h.clock = t, map[common.Hash]bool{}, &steppingClock{Time: testSpec.GenesisTime,
		Left: waits, End: cancel}
	trader := NewTrader(TraderConfig{
		Name: "user-1", Wallet: testKey, ChainID: testChainID, Spec: testSpec, Clock: h.clock, Node: client,
		OrderFlow: client, Friend: testFriend,
		Strategy: strategy, Log: slog.New(slog.DiscardHandler),
	})
	if err := trader.Run(ctx); err != nil {
		t.Errorf("run ended with %v", err)
	}
	return strings.Join(h.lines, "\n")
}

// Each row is a strategy and what it sends in two slots of twelve seconds, at chain time since
// genesis.
func TestStrategies(t *testing.T) {
	self := strings.ToLower(crypto.PubkeyToAddress(testKey.PublicKey).Hex())
	for _, c := range []struct {
		name     string
		strategy Strategy
		lands    bool
		waits    int
		want     string
	}{
		{"a swap a slot, as soon as the one before has landed", Strategy{}, true, 2, `
1.5s private #0 swap of 30 ETH and 0 wei, tip 1 gwei
13.5s private #1 swap of 30 ETH and 1 wei, tip 1 gwei`},
		{"one that has not landed is waited for", Strategy{}, false, 12, `
1.5s private #0 swap of 30 ETH and 0 wei, tip 1 gwei`},
		{"public ones go to the node", Strategy{Sends: SendPublic}, true, 2, `
1.5s public #0 swap of 30 ETH and 0 wei, tip 1 gwei
13.5s public #1 swap of 30 ETH and 1 wei, tip 1 gwei`},
		{"fast", Strategy{Fast: true}, true, 1, `
1.5s private #0 swap of 30 ETH and 0 wei, tip 1 gwei {"fast":true}`},
		{"nobody sees anything", Strategy{Hide: true}, true, 1, `
1.5s private #0 swap of 30 ETH and 0 wei, tip 1 gwei {"privacy":{"hints":[]}}`},
		{"one builder has it besides the operator's own", Strategy{Exclusive: "builder-2"}, true, 1, `
1.5s private #0 swap of 30 ETH and 0 wei, tip 1 gwei {"privacy":{"builders":["builder-2"],"hints":[]}}`},
		{"a friend gets a part", Strategy{SplitPercent: 40}, true, 1, `
1.5s private #0 swap of 30 ETH and 0 wei, tip 1 gwei {"privacy":{"hints":["logs"]},"validity":{"refund":[` +
			`{"address":"` + self + `","percent":54},{"address":"0xf100000000000000000000000000000000000000","percent":36}]}}`},
		{"a friend gets a part of what nobody sees", Strategy{SplitPercent: 40, Hide: true}, true, 1, `
1.5s private #0 swap of 30 ETH and 0 wei, tip 1 gwei {"privacy":{"hints":[]},"validity":{"refund":[` +
			`{"address":"` + self + `","percent":54},{"address":"0xf100000000000000000000000000000000000000","percent":36}]}}`},
		{"or of what one builder has", Strategy{SplitPercent: 40, Exclusive: "builder-2"}, true, 1, `
1.5s private #0 swap of 30 ETH and 0 wei, tip 1 gwei {"privacy":{"builders":["builder-2"],"hints":[]},"validity":{"refund":[` +
			`{"address":"` + self + `","percent":54},{"address":"0xf100000000000000000000000000000000000000","percent":36}]}}`},
		{"what was taken back is not waited for, and the next one is another", Strategy{CancelAfter: time.Second}, false, 4, `
1.5s private #0 swap of 30 ETH and 0 wei, tip 1 gwei
2.5s cancel
13.5s private #0 swap of 30 ETH and 1 wei, tip 1 gwei
14.5s cancel`},
		{"chatter is whole, pays nothing and has the swap's nonce", Strategy{Chatter: 2}, true, 1, `
1.5s private #0 swap of 30 ETH and 0 wei, tip 1 gwei
1.5s private #0 8192 bytes, tip 0 gwei {"privacy":{"hints":["calldata"]}}
1.5s private #0 8192 bytes, tip 0 gwei {"privacy":{"hints":["calldata"]}}`},
		{"chatter goes on while the swap is under way", Strategy{Chatter: 2}, false, 2, `
1.5s private #0 swap of 30 ETH and 0 wei, tip 1 gwei
1.5s private #0 8192 bytes, tip 0 gwei {"privacy":{"hints":["calldata"]}}
1.5s private #0 8192 bytes, tip 0 gwei {"privacy":{"hints":["calldata"]}}
13.5s private #0 8192 bytes, tip 0 gwei {"privacy":{"hints":["calldata"]}}
13.5s private #0 8192 bytes, tip 0 gwei {"privacy":{"hints":["calldata"]}}`},
		{"two bundles with one nonce, the second one pays more", Strategy{Sends: SendConflict}, false, 2, `
1.5s bundle #0 1 wei, tip 200 gwei {}
1.5s bundle #0 1 wei, tip 300 gwei {}
13.5s bundle #0 2 wei, tip 200 gwei {}
13.5s bundle #0 2 wei, tip 300 gwei {}`},
		{"a refund outside of the block", Strategy{Sends: SendDelayed}, true, 1, `
1.5s bundle #0 1 wei, tip 200 gwei ` +
			`{"delayedRefund":true,"refundPercent":50,"refundRecipient":"0xf100000000000000000000000000000000000000"}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got, want := trade(t, &market{lands: c.lands}, c.waits, c.strategy), strings.TrimPrefix(c.want,
				"\n"); got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// A market that refuses, or is away, is tried again in the next slot.
func TestRefusedIsTriedAgain(t *testing.T) {
	want := "1.5s refused\n13.5s private #0 swap of 30 ETH and 1 wei, tip 1 gwei"
	if got := trade(t, &market{refuse: 1}, 3, Strategy{}); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// A block that is late makes a trader late, which would otherwise let a slot go by: it looks four
// times in the first half of a slot.
func TestLateBlock(t *testing.T) {
	want := "1.5s private #0 swap of 30 ETH and 0 wei, tip 1 gwei\n16.5s private #1 swap of 30 ETH and 1 wei, tip 1 gwei"
	if got := trade(t, &market{lands: true, late: 2}, 4, Strategy{}); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
