package user

import (
	"context"
	"crypto/ecdsa"
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/rpc"

	"github.com/gavel-relay/gavel/devnet/chain"
	"github.com/gavel-relay/gavel/internal/eth"
)

// service answers like an execution node and a bundle RPC in one. It is called from one user, one
// call at a time.
type service struct {
	head    uint64
	landed  map[common.Address]uint64 // the nonces of accounts
	refuse  bool
	got     []*types.Transaction
	wishes  []string
	lines   []string // what was asked, in order
	started time.Time
	clock   *steppingClock
}

// BlockNumber is eth_blockNumber.
func (s *service) BlockNumber() hexutil.Uint64 { return hexutil.Uint64(s.head) }

// GetTransactionCount is eth_getTransactionCount.
func (s *service) GetTransactionCount(address common.Address, block string) (hexutil.Uint64, error) {
	if block != "latest" {
		return 0, fmt.Errorf("asked for block %s", block)
	}
	return hexutil.Uint64(s.landed[address]), nil
}

// SendPrivateTransaction is eth_sendPrivateTransaction.
func (s *service) SendPrivateTransaction(request struct {
	Tx          hexutil.Bytes
	Preferences json.RawMessage
}) (common.Hash, error) {
	if s.refuse {
		return common.Hash{}, fmt.Errorf("no")
	}
	tx := new(types.Transaction)
	if err := tx.UnmarshalBinary(request.Tx); err != nil {
		return common.Hash{}, err
	}
	s.got, s.wishes = append(s.got, tx), append(s.wishes, string(request.Preferences))
	s.lines = append(s.lines, fmt.Sprintf("%v send %s/%d", s.clock.Time.Sub(s.started), s.nameOf(tx), tx.Nonce()))
	return tx.Hash(), nil
}

// CancelPrivateTransaction is eth_cancelPrivateTransaction.
func (s *service) CancelPrivateTransaction(request struct{ TxHash common.Hash }) bool {
	i := slices.IndexFunc(s.got, func(tx *types.Transaction) bool { return tx.Hash() == request.TxHash })
	s.lines = append(s.lines, fmt.Sprintf("%v cancel %s", s.clock.Time.Sub(s.started), s.nameOf(s.got[i])))
	return true
}

func (s *service) nameOf(tx *types.Transaction) string {
	from, err := types.Sender(types.LatestSignerForChainID(tx.ChainId()), tx)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprint("w", slices.IndexFunc(wallets(8), func(k *ecdsa.PrivateKey) bool { return addressOf(k) == from }))
}

// crowd is a group of users at a service.
func crowd(t *testing.T, s *service, wallet, perSlot, cancelEvery, waits int) *Private {
	t.Helper()
	server := rpc.NewServer()
	if err := server.RegisterName("eth", s); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Stop)
	client := rpc.DialInProc(server)
	t.Cleanup(client.Close)
	spec := specOf(eth.Fulu)
	if s.landed == nil {
		s.landed = map[common.Address]uint64{}
	}
	s.started, s.clock = spec.GenesisTime, &steppingClock{Time: spec.GenesisTime, Left: waits}
	return NewPrivate(PrivateConfig{
		Wallets: wallets(wallet), ChainID: testChainID, PerSlot: perSlot, CancelEvery: cancelEvery,
		Builders: []string{"builder-1"}, Spec: spec,
		Clock: s.clock, Node: client, OrderFlow: client, Seed: 3,
	})
}

// Each wallet has one transaction under way: it sends the next one when that has landed, or when
// nobody tries it any more.
func TestAWalletWaitsForItsTransaction(t *testing.T) {
	s := &service{head: 10}
	p := crowd(t, s, 3, 2, 0, 100)
	step := func(want string) {
		t.Helper()
		s.lines = nil
		if err := p.slot(t.Context(), 0); err != nil {
			t.Error(err)
		}
		if got := strings.ReplaceAll(strings.Join(s.lines, ", "), "0s send ", ""); got != want {
			t.Errorf("sent %q, want %q", got, want)
		}
	}
	step("w0/0, w1/0")
	step("w2/0")
	step("")
	s.landed[addressOf(wallets(3)[1])] = 1
	step("w1/1")
	s.head = 35
	step("")
	s.head = 36 // 25 blocks after the first ones were sent
	step("w2/0, w0/0")
	s.refuse, s.landed[addressOf(wallets(3)[1])] = true, 2
	if err := p.slot(t.Context(), 0); err == nil || !strings.Contains(err.Error(), "eth_sendPrivateTransaction: no") {
		t.Errorf("a service that refuses: %v", err)
	}
	s.refuse = false
	step("w1/2")
}

// One in so many is taken back, an eighth of a slot later.
func TestSomeAreTakenBack(t *testing.T) {
	s := &service{}
	p := crowd(t, s, 8, 2, 3, 5)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s.clock.End = cancel
	if err := p.Run(ctx); err != nil {
		t.Error(err)
	}
	want := "1.5s send w0/0|1.5s send w1/0|13.5s send w2/0|13.5s send w3/0|15s cancel w2|25.5s send w4/0|25.5s send " +
		"w5/0|27s cancel w5"
	if got := strings.Join(s.lines, "|"); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// What users want can be done: on a real chain with the market, all of it succeeds.
func TestWantedTransactionsSucceed(t *testing.T) {
	wallet := wallets(1)[0]
	account := []common.Address{addressOf(wallet)}
	node, err := chain.Open(chain.Config{Spec: specOf(eth.Capella), ChainID: testChainID, Funded: account,
		Accounts: chain.Genesis(account)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := node.Close(); err != nil {
			t.Error(err)
		}
	})
	draft, err := node.Draft(t.Context(), chain.BuildArgs{Parent: phase0.Hash32(node.Genesis().Hash()), Slot: 1,
		GasLimitTarget: 60_000_000})
	if err != nil {
		t.Fatal(err)
	}
	swaps := 0
	for nonce := range uint64(100) {
		want := privacy{seed: 3}.decide(moment{slot: nonce}).tx
		want.ChainID, want.Nonce = big.NewInt(testChainID), nonce
		tx, err := types.SignNewTx(wallet, types.LatestSignerForChainID(want.ChainID), want)
		if err != nil {
			t.Fatal(err)
		}
		out, err := draft.Apply(t.Context(), tx)
		if err != nil || !out.Succeeded {
			t.Fatalf("transaction %d to %s: %+v, %v", nonce, tx.To(), out, err)
		}
		if *tx.To() == chain.RouterAt {
			swaps++
		}
	}
	if swaps < 60 || swaps == 100 {
		t.Errorf("%d of 100 are swaps", swaps)
	}
}
