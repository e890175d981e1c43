package searcher

import (
	"context"
	"crypto/ecdsa"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math/big"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/params"
	"github.com/ethereum/go-ethereum/rpc"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/devnet/chain"
	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/stream/client"
)

const testChainID = 77

func key(name string) *ecdsa.PrivateKey {
	k, err := crypto.ToECDSA(crypto.Keccak256([]byte(name)))
	if err != nil {
		panic(err)
	}
	return k
}

func addressOf(k *ecdsa.PrivateKey) common.Address { return crypto.PubkeyToAddress(k.PublicKey) }

func ether(n uint64) *uint256.Int {
	return new(uint256.Int).Mul(uint256.NewInt(n), uint256.NewInt(params.Ether))
}

var spec = &eth.Spec{
	GenesisTime: time.Unix(1_700_000_000, 0), SlotDuration: 12 * time.Second, SlotsPerEpoch: 4,
	Forks: []eth.ForkPoint{{Fork: eth.Capella}},
}

// service is a bundle RPC with a script.
type service struct {
	mu      sync.Mutex // guards all below
	bundles []bundle
	status  map[string]string // gavel_getOrderStatus's state
	refunds string            // flashbots_getFeeRefundsByBundle's answer
	taken   chan struct{}     // told of each bundle; nil for nobody
}

type bundle struct {
	Version   string
	Inclusion struct{ Block, MaxBlock hexutil.Uint64 }
	Body      []struct {
		Hash      *common.Hash
		Tx        hexutil.Bytes
		CanRevert *bool
	}
}

type (
	mevMethods       struct{ *service }
	gavelMethods     struct{ *service }
	flashbotsMethods struct{ *service }
)

// SendBundle is mev_sendBundle.
func (s mevMethods) SendBundle(b bundle) (map[string]common.Hash, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bundles = append(s.bundles, b)
	if s.taken != nil {
		s.taken <- struct{}{}
	}
	return map[string]common.Hash{"bundleHash": {byte(len(s.bundles))}}, nil
}

// GetOrderStatus is gavel_getOrderStatus.
func (s gavelMethods) GetOrderStatus(hash common.Hash) (map[string]string, error) {
	state, ok := s.status[fmt.Sprint(hash[0])]
	if !ok {
		return nil, errors.New("order not found")
	}
	return map[string]string{"state": state, "why": "so it is"}, nil
}

// GetFeeRefundsByBundle is flashbots_getFeeRefundsByBundle.
func (s flashbotsMethods) GetFeeRefundsByBundle(map[string]string) json.RawMessage {
	return json.RawMessage(s.refunds)
}

// spoken is a stream that says a few events and then waits, or ends with an error.
type spoken struct {
	events []client.Event
	err    error
}

func (s spoken) Events(ctx context.Context) iter.Seq2[client.Event, error] {
	return func(yield func(client.Event, error) bool) {
		for _, event := range s.events {
			if !yield(event, nil) {
				return
			}
		}
		if s.err != nil {
			yield(client.Event{}, s.err)
			return
		}
		<-ctx.Done()
		yield(client.Event{}, ctx.Err())
	}
}

// stands is a clock that stands still: who waits for later waits for the end.
type stands struct{}

func (stands) Now() time.Time { return spec.GenesisTime }

func (stands) Until(ctx context.Context, _ time.Time) error {
	<-ctx.Done()
	return ctx.Err()
}

// world is a searcher on a real chain with the market at genesis, and a scripted bundle RPC.
type world struct {
	*Searcher
	node    *chain.Node
	service *service
}

func newWorld(t *testing.T, hints Hints) *world {
	t.Helper()
	funded := []common.Address{addressOf(key("user")), addressOf(key("a")), addressOf(key("b"))}
	node, err := chain.Open(chain.Config{Spec: spec, ChainID: testChainID, Funded: funded,
		Accounts: chain.Genesis(funded)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := node.Close(); err != nil {
			t.Error(err)
		}
	})
	s := &service{status: map[string]string{}}
	server := rpc.NewServer()
	t.Cleanup(server.Stop)
	for name, receiver := range map[string]any{"mev": mevMethods{s}, "gavel": gavelMethods{s},
		"flashbots": flashbotsMethods{s}} {
		if err := server.RegisterName(name, receiver); err != nil {
			t.Fatal(err)
		}
	}
	orderFlow := rpc.DialInProc(server)
	t.Cleanup(orderFlow.Close)
	return &world{
		Searcher: New(Config{
			Name: "searcher", Wallets: []*ecdsa.PrivateKey{key("a"), key("b")}, ChainID: testChainID, Node: node.Attach(),
			OrderFlow: orderFlow,
			Hints:     hints, Spec: spec, Clock: stands{},
		}),
		node: node, service: s,
	}
}

// swapped is what a pool logs after a purchase, whole or trimmed.
func swapped(pool common.Address, etherWei *uint256.Int, whole bool) []client.Log {
	_, after := chain.Opening().Buy(etherWei)
	e, k := after.EtherWei.Bytes32(), after.Tokens.Bytes32()
	sync := client.Log{Address: pool, Topics: []common.Hash{chain.SyncTopic}, Data: append(e[:], k[:]...)}
	swap := client.Log{Address: pool, Topics: []common.Hash{chain.SwapTopic, {}, {}}}
	if whole {
		return []client.Log{sync, swap}
	}
	return []client.Log{swap}
}

// A searcher reads the market and sends what it decides, or nothing.
func TestFollow(t *testing.T) {
	w := newWorld(t, spoken{})
	for name, hint := range map[string]client.Event{
		"nothing but a hash":                  {},
		"a gap that does not pay for the gas": {Logs: swapped(chain.PoolA, ether(3), true)},
	} {
		if err := w.follow(t.Context(), hint); err != nil || len(w.service.bundles) > 0 {
			t.Errorf("%s: %d bundles, %v", name, len(w.service.bundles), err)
		}
	}
	for name, hint := range map[string]client.Event{
		"whole logs": {Logs: swapped(chain.PoolA, ether(30), true)},
		"a guess":    {Logs: swapped(chain.PoolA, ether(1), false)},
	} {
		t.Run(name, func(t *testing.T) {
			w.service.bundles = nil
			hint.Hash = common.Hash{0xee}
			if err := w.follow(t.Context(), hint); err != nil || len(w.service.bundles) != 1 {
				t.Fatalf("%d bundles, %v", len(w.service.bundles), err)
			}
			w.wantBackrun(t)
		})
	}
	if len(w.sent.waiting) == 0 {
		t.Error("it will ask for none of them")
	}
}

// wantBackrun checks the bundle that was sent: for the next three blocks, the hash and a
// transaction that closes a gap, and pays half of it or more.
func (w *world) wantBackrun(t *testing.T) {
	t.Helper()
	b := w.service.bundles[0]
	if b.Version != "v0.1" || b.Inclusion.Block != 1 || b.Inclusion.MaxBlock != 3 || len(b.Body) != 2 ||
		*b.Body[0].Hash != (common.Hash{0xee}) ||
		b.Body[1].CanRevert == nil || *b.Body[1].CanRevert {
		t.Fatalf("sent %+v", b)
	}
	backrun := new(types.Transaction)
	if err := backrun.UnmarshalBinary(b.Body[1].Tx); err != nil {
		t.Fatal(err)
	}
	target, err := types.SignNewTx(key("user"), w.signer, &types.DynamicFeeTx{
		ChainID: big.NewInt(testChainID), GasFeeCap: big.NewInt(100 * params.GWei), Gas: chain.SwapGas,
		To:    &chain.RouterAt,
		Value: ether(30).ToBig(), Data: chain.BuyCall(chain.PoolA, new(uint256.Int)),
	})
	if err != nil {
		t.Fatal(err)
	}
	draft, err := w.node.Draft(t.Context(), chain.BuildArgs{
		Parent: phase0.Hash32(w.node.Genesis().Hash()), Slot: 1, GasLimitTarget: 60_000_000, Coinbase: common.Address{0xc0},
	})
	if err != nil {
		t.Fatal(err)
	}
	if out, err := draft.Apply(t.Context(), target); err != nil || !out.Succeeded {
		t.Fatalf("%+v, %v", out, err)
	}
	_, moved := chain.Opening().Buy(ether(30))
	_, profit := chain.Gap(moved, chain.Opening())
	out, err := draft.Apply(t.Context(), backrun)
	if err != nil || !out.Succeeded || out.PaidWei.Lt(percentOf(profit, 50)) || !out.PaidWei.Lt(percentOf(profit, 95)) {
		t.Errorf("of a gap of %s wei: %+v, %v", profit, out, err)
	}
}

// A searcher hears hints from the stream and uses its wallets in turn; it ends with its context.
func TestRun(t *testing.T) {
	hint := client.Event{Hash: common.Hash{1}, Logs: swapped(chain.PoolA, ether(30), true), Raw: json.RawMessage("{}")}
	w := newWorld(t, spoken{events: []client.Event{hint, hint, hint}})
	w.service.taken = make(chan struct{}, 3)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }()
	for range 3 {
		<-w.service.taken
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	var senders []string
	for _, b := range w.service.bundles {
		tx := new(types.Transaction)
		if err := tx.UnmarshalBinary(b.Body[1].Tx); err != nil {
			t.Fatal(err)
		}
		from, err := types.Sender(w.signer, tx)
		if err != nil {
			t.Fatal(err)
		}
		senders = append(senders, map[common.Address]string{addressOf(key("a")): "a", addressOf(key("b")): "b"}[from])
	}
	if got := strings.Join(senders, " "); got != "a b a" {
		t.Errorf("sent by %s, want a b a", got)
	}
}

// A stream that has nothing more to say ends the searcher: nobody would notice a deaf one.
func TestADeafSearcherEnds(t *testing.T) {
	w := newWorld(t, spoken{err: errors.New("status 404: no stream here")})
	if err := w.Run(t.Context()); err == nil ||
		err.Error() != "searcher searcher: listen to hints: status 404: no stream here" {
		t.Errorf("ended with %v", err)
	}
	w.Wallets = nil
	if err := w.Run(t.Context()); err == nil {
		t.Error("a searcher without a wallet runs")
	}
}

// What became of a backrun: it has ended when that cannot change any more, and with a refund when
// that was received.
func TestOutcome(t *testing.T) {
	w := newWorld(t, spoken{})
	w.service.status = map[string]string{"1": "submitted", "2": "sent", "3": "failed", "4": "cancelled", "5": "expired",
		"6": "landed"}
	for _, c := range []struct {
		bundle  byte
		refunds string
		ended   bool
		want    string
	}{
		{1, "", false, "submitted"}, {2, "", false, "sent"}, {3, "", true, "failed"}, {4, "", true, "cancelled"},
		{5, "", true, "expired"},
		{6, `{"refunds":[]}`, false, "landed"},
		{6, `{"refunds":[{"amount":"0x5","status":"received"},{"amount":"0x6","status":"pending"}]}`, false, "landed"},
		{6, `{"refunds":[{"amount":"0x5","status":"received"},{"amount":"0x6","status":"received"}]}`, true,
			"landed, 11 wei"},
		{7, "", false, "gavel_getOrderStatus: order not found"},
	} {
		w.service.refunds = c.refunds
		outcome, ended, err := w.outcome(t.Context(), common.Hash{c.bundle})
		got := outcome.State
		if outcome.RefundWei != nil {
			got += fmt.Sprintf(", %s wei", outcome.RefundWei)
		}
		if err != nil {
			got = err.Error()
		}
		if got != c.want || ended != c.ended || err == nil && outcome.Why != "so it is" {
			t.Errorf("bundle %d, %s: %s, ended is %v; want %s, %v", c.bundle, c.refunds, got, ended, c.want, c.ended)
		}
	}
}

// What nobody can tell of is forgotten in the end.
func TestOutcomesAreForgotten(t *testing.T) {
	var o outcomes
	o.add(common.Hash{1})
	o.add(common.Hash{2})
	o.done(common.Hash{2})
	asked := 0
	for range 2 * askedFor {
		asked += len(o.list())
	}
	if asked != askedFor || len(o.waiting) != 0 {
		t.Errorf("asked %d times, want %d; %d are left", asked, askedFor, len(o.waiting))
	}
}
