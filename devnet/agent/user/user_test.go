package user

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/rpc"

	"github.com/gavel-relay/gavel/devnet/chain"
	"github.com/gavel-relay/gavel/internal/eth"
)

const testChainID = 77

func wallets(n int) []*ecdsa.PrivateKey {
	list := make([]*ecdsa.PrivateKey, n)
	for i := range list {
		key, err := crypto.ToECDSA(crypto.Keccak256(fmt.Append(nil, "user test ", i)))
		if err != nil {
			panic(err)
		}
		list[i] = key
	}
	return list
}

func addressOf(key *ecdsa.PrivateKey) common.Address { return crypto.PubkeyToAddress(key.PublicKey) }

// specOf is a network in one fork, four slots an epoch.
func specOf(fork eth.Fork) *eth.Spec {
	return &eth.Spec{
		GenesisTime: time.Unix(1_700_000_000, 0), SlotDuration: 12 * time.Second, SlotsPerEpoch: 4,
		Forks: []eth.ForkPoint{{Fork: fork}},
	}
}

// run runs a user for a number of slots from genesis on.
func run(t *testing.T, cfg Config, slots int) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	cfg.Clock = &steppingClock{Time: cfg.Spec.GenesisTime, Left: slots, End: cancel}
	if err := New(cfg).Run(ctx); err != nil {
		t.Errorf("ended with %v", err)
	}
}

// node answers JSON-RPC like an execution node that mines nothing. It is called from one user, one
// call at a time.
type node struct {
	counts map[common.Address]uint64 // the nonces that it has seen
	got    []*types.Transaction
	asked  int   // for transaction counts
	refuse error // of the next transaction only
	took   func()
}

// GetTransactionCount is eth_getTransactionCount.
func (n *node) GetTransactionCount(address common.Address, block string) (hexutil.Uint64, error) {
	if n.asked++; block != "pending" {
		return 0, fmt.Errorf("asked for block %s", block)
	}
	return hexutil.Uint64(n.counts[address]), nil
}

// SendRawTransaction is eth_sendRawTransaction.
func (n *node) SendRawTransaction(raw hexutil.Bytes) (common.Hash, error) {
	if err := n.refuse; err != nil {
		n.refuse = nil
		return common.Hash{}, err
	}
	tx := new(types.Transaction)
	if err := tx.UnmarshalBinary(raw); err != nil {
		return common.Hash{}, err
	}
	from, err := types.Sender(types.LatestSignerForChainID(tx.ChainId()), tx)
	if err != nil {
		return common.Hash{}, err
	}
	if tx.Nonce() != n.counts[from] {
		return common.Hash{}, fmt.Errorf("nonce %d of %s, want %d", tx.Nonce(), from, n.counts[from])
	}
	n.counts[from]++
	n.got = append(n.got, tx)
	if n.took != nil {
		n.took()
	}
	return tx.Hash(), nil
}

// dial is a client of a node. Calls of a batch are answered one after the other, as go-ethereum
// does.
func (n *node) dial(t *testing.T) *rpc.Client {
	t.Helper()
	n.counts = map[common.Address]uint64{}
	return n.dialAs(t, n)
}

// dialAs is a client of a node with other methods.
func (n *node) dialAs(t *testing.T, methods any) *rpc.Client {
	t.Helper()
	server := rpc.NewServer()
	server.SetBatchLimits(1000, 25<<20) // those of a go-ethereum node
	t.Cleanup(server.Stop)
	if err := server.RegisterName("eth", methods); err != nil {
		t.Fatal(err)
	}
	client := rpc.DialInProc(server)
	t.Cleanup(client.Close)
	return client
}

func TestUsersSendInEachSlot(t *testing.T) {
	n := new(node)
	keys := wallets(4)
	run(t, Config{Wallets: keys, ChainID: testChainID, PerSlot: 7, Spec: specOf(eth.Fulu), RPC: n.dial(t)}, 5)
	if len(n.got) != 35 {
		t.Fatalf("%d transactions in 5 slots of 7", len(n.got))
	}
	if n.asked != len(keys) {
		t.Errorf("nonces were asked %d times", n.asked)
	}
	for i, want := range []uint64{15, 10, 10, 0} { // in turn within a slot; the last wallet is for blobs
		if got := n.counts[addressOf(keys[i])]; got != want {
			t.Errorf("wallet %d sent %d, want %d", i, got, want)
		}
	}
	tips, calls := map[string]bool{}, 0
	for _, tx := range n.got {
		tips[tx.GasTipCap().String()] = true
		if len(tx.Data()) > 0 {
			calls++
		}
		if tx.Type() != types.DynamicFeeTxType || tx.ChainId().Uint64() != testChainID || tx.Value().Sign() <= 0 {
			t.Errorf("transaction of type %d on chain %s with value %s", tx.Type(), tx.ChainId(), tx.Value())
		}
	}
	if len(tips) < 10 || calls == 0 || calls > 20 {
		t.Errorf("%d different tips, %d calls of %d", len(tips), calls, len(n.got))
	}
}

// The same seed sends the same transactions, another one others.
func TestSeed(t *testing.T) {
	sent := func(seed uint64) (hashes []common.Hash) {
		n := new(node)
		run(t, Config{Wallets: wallets(3), ChainID: testChainID, PerSlot: 5, Spec: specOf(eth.Fulu), RPC: n.dial(t),
			Seed: seed}, 2)
		for _, tx := range n.got {
			hashes = append(hashes, tx.Hash())
		}
		return hashes
	}
	if a, b, c := fmt.Sprint(sent(1)), fmt.Sprint(sent(1)), fmt.Sprint(sent(2)); a != b || a == c {
		t.Errorf("seeds do not decide:\n%s\n%s\n%s", a, b, c)
	}
}

func TestBlobs(t *testing.T) {
	for _, c := range []struct {
		fork     eth.Fork
		every    int
		in8slots int
	}{{eth.Fulu, 0, 0}, {eth.Fulu, 4, 2}, {eth.Electra, 1, 0}, {eth.Capella, 1, 0}} {
		n, keys := new(node), wallets(2)
		run(t, Config{Wallets: keys, ChainID: testChainID, PerSlot: 1, BlobEvery: c.every, Spec: specOf(c.fork),
			RPC: n.dial(t)}, 8)
		blobs := 0
		for _, tx := range n.got {
			if tx.Type() != types.BlobTxType {
				continue
			}
			blobs++
			sidecar := tx.BlobTxSidecar()
			if sidecar == nil || sidecar.Version != types.BlobSidecarVersion1 {
				t.Fatalf("%s: sidecar %v", c.fork, sidecar)
			}
			if err := sidecar.ValidateBlobCommitmentHashes(tx.BlobHashes()); err != nil {
				t.Errorf("%s: %v", c.fork, err)
			}
		}
		if blobs != c.in8slots || n.counts[addressOf(keys[1])] != uint64(blobs) {
			t.Errorf("%s, a blob every %d slots: %d in 8 slots, want %d", c.fork, c.every, blobs, c.in8slots)
		}
	}
}

// What the node refuses does not leave a gap: the next slot goes on from what the node has.
func TestTrouble(t *testing.T) {
	n := &node{refuse: errors.New("the pool is full")}
	var log bytes.Buffer
	run(t, Config{
		Wallets: wallets(3), ChainID: testChainID, PerSlot: 4, Spec: specOf(eth.Fulu), RPC: n.dial(t),
		Log: slog.New(slog.NewTextHandler(&log, nil)),
	}, 2)
	// Of the first slot one is refused, and with it the same wallet's later one; the second slot is
	// whole.
	if len(n.got) != 6 || n.asked != 6 {
		t.Errorf("%d transactions taken, nonces asked %d times", len(n.got), n.asked)
	}
	if lines := strings.Count(log.String(), "\n"); lines != 1 || !strings.Contains(log.String(), "the pool is full") {
		t.Errorf("the log says:\n%s", &log)
	}
}

// More transactions than a node answers in one batch.
func TestManyTransactions(t *testing.T) {
	n := new(node)
	run(t, Config{Wallets: wallets(5), ChainID: testChainID, PerSlot: 1200, Spec: specOf(eth.Fulu), RPC: n.dial(t)}, 1)
	if len(n.got) != 1200 {
		t.Errorf("%d of 1200 arrived", len(n.got))
	}
}

// A node that is slow for some slots is not flooded afterwards.
func TestMissedSlotsAreLeftOut(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	spec, n := specOf(eth.Fulu), new(node)
	clock := &steppingClock{Time: spec.GenesisTime, Left: 3, End: cancel}
	n.took = func() {
		n.took = nil
		clock.Time = spec.SlotStart(10)
	}
	var log bytes.Buffer
	err := New(Config{
		Wallets: wallets(2), ChainID: testChainID, PerSlot: 1, Spec: spec, Clock: clock, RPC: n.dial(t),
		Log: slog.New(slog.NewTextHandler(&log, nil)),
	}).Run(ctx)
	if err != nil || len(n.got) != 3 || !clock.Time.Equal(spec.SlotStart(11)) {
		t.Errorf("%v: %d transactions until %v\n%s", err, len(n.got), clock.Time.Sub(spec.GenesisTime), &log)
	}
}

func TestTooFewWallets(t *testing.T) {
	for n := range 2 {
		err := New(Config{Wallets: wallets(n), ChainID: testChainID, Spec: specOf(eth.Fulu)}).Run(t.Context())
		if err == nil {
			t.Errorf("%d wallets are enough", n)
		}
	}
}

// A real pool takes all that users send.
func TestRealPool(t *testing.T) {
	for _, fork := range []eth.Fork{eth.Bellatrix, eth.Deneb, eth.Fulu} {
		t.Run(fork.String(), func(t *testing.T) {
			keys, spec := wallets(5), specOf(fork)
			var funded []common.Address
			for _, key := range keys {
				funded = append(funded, addressOf(key))
			}
			n, err := chain.Open(chain.Config{Spec: spec, ChainID: testChainID, Funded: funded})
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := n.Close(); err != nil {
					t.Error(err)
				}
			}()
			var log bytes.Buffer
			node := n.Attach()
			defer node.Close()
			run(t, Config{
				Wallets: keys, ChainID: testChainID, PerSlot: 20, BlobEvery: 2, Spec: spec, RPC: node,
				Log: slog.New(slog.NewTextHandler(&log, nil)),
			}, 2)
			if log.Len() > 0 {
				t.Errorf("the log says:\n%s", &log)
			}
			want := 40
			if fork >= eth.Fulu {
				want++ // the blob of slot 0
			}
			// The pool sorts the executable ones out in its own time, so queued ones count.
			var status struct{ Pending, Queued hexutil.Uint }
			if err := node.CallContext(t.Context(), &status, "txpool_status"); err != nil {
				t.Fatal(err)
			}
			if got := int(status.Pending + status.Queued); got != want {
				t.Errorf("the pool has %d transactions, want %d", got, want)
			}
		})
	}
}
