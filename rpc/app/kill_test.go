package app

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"github.com/gavel-relay/gavel/internal/exec/node/state"
	"github.com/gavel-relay/gavel/internal/journal"
	"github.com/gavel-relay/gavel/internal/store/postgrestest"
	"github.com/gavel-relay/gavel/rpc/send"
)

// victimOf, in the environment, makes this test binary a service that a test kills: the execution node's URL, the builder's, the data
// directory, and the room for facts in bytes.
const victimOf = "GAVEL_RPC_VICTIM_OF"

func TestMain(m *testing.M) {
	if of := strings.Fields(os.Getenv(victimOf)); len(of) == 4 {
		if err := victim(of[0], of[1], of[2], of[3]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(postgrestest.Main(m))
}

// victim serves, says where, and waits for its end.
func victim(node, builder, dir, room string) error {
	ctx := context.Background()
	bytes, err := strconv.ParseInt(room, 10, 64)
	if err != nil {
		return err
	}
	nodes, err := state.New(state.Options{URLs: []string{node}, PollEvery: 5 * time.Millisecond})
	if err != nil {
		return err
	}
	chain, err := nodes.Config(ctx)
	if err != nil {
		return err
	}
	app, err := New(ctx, Config{
		Chain: nodes, States: nodes, ChainConfig: chain, Key: houseKey(8), DataDir: dir, Journal: journal.Config{FactsBytes: bytes}, Log: slog.New(slog.NewTextHandler(os.Stderr, nil)),
		Builders: []send.Builder{{Name: "default", URL: builder, APIs: []string{"eth_sendBundle", "cancel"}}},
	})
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println(listener.Addr())
	return app.Serve(ctx, listener)
}

// startVictim starts a service in a process of its own, with room for so many bytes of facts, 0 for the default; kill ends it at once, whatever it does.
func (h *house) startVictim(dir string, room int64) (kill func()) {
	h.Helper()
	process := exec.CommandContext(h.Context(), os.Args[0])
	process.Env = append(os.Environ(), victimOf+"="+strings.Join([]string{h.node.RPCURL(), h.builder.url, dir, strconv.FormatInt(room, 10)}, " "))
	process.Stderr = h.Output()
	out, err := process.StdoutPipe()
	if err != nil {
		h.Fatal(err)
	}
	if err := process.Start(); err != nil {
		h.Fatal(err)
	}
	address, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		h.Fatalf("the victim says nothing: %v", err)
	}
	h.url = "http://" + strings.TrimSpace(address)
	return func() {
		if err := process.Process.Kill(); err != nil {
			h.Error(err)
		}
		_ = process.Wait() // says that it was killed
	}
}

// What was answered is there after a kill -9 that comes with the answer: orders, cancels of both kinds, and recipients of refunds. Each round is a
// process of its own, and the last one finds what all of them promised.
//
//gavel:fault kill
func TestWhatWasAnsweredSurvivesAKill(t *testing.T) {
	const rounds = 48 // twelve of each
	h, dir, signer := openChain(t), t.TempDir(), houseKey(7)
	var orders, cancelled, replaced [rounds]common.Hash
	sendBundle := func(nonce uint64, replacement any) common.Hash {
		var got taken
		h.want(&got, signer, "eth_sendBundle", map[string]any{
			"txs": []string{rawOf(h.tx(houseKey(0), nonce, common.Address{1}, 5))}, "blockNumber": hexNumber(h.next() + 1), "replacementUuid": replacement,
		})
		return got.BundleHash
	}
	for round := range rounds {
		kill := h.startVictim(dir, 0)
		switch nonce := uint64(10 * round); round % 4 { // another one has the last word in each
		case 0:
			orders[round] = sendBundle(nonce, nil)
		case 1:
			h.want(&cancelled[round], signer, "eth_sendPrivateTransaction", map[string]any{"tx": rawOf(h.tx(houseKey(0), nonce, common.Address{1}, 5))})
			var done bool
			if h.want(&done, signer, "eth_cancelPrivateTransaction", map[string]any{"txHash": cancelled[round]}); !done {
				t.Error("not cancelled")
			}
		case 2:
			name := fmt.Sprintf("e9ced844-16d5-4884-8507-%012d", round)
			replaced[round] = sendBundle(nonce, name)
			h.want(new(any), signer, "eth_cancelBundle", map[string]any{"replacementUuid": name})
		case 3:
			owner := houseKey(100 + round)
			h.want(new(any), owner, "flashbots_setFeeRefundRecipient", addressOf(owner), common.Address{byte(round)})
		}
		kill()
	}
	h.serve(h.config(func(cfg *Config) { cfg.DataDir = dir }))
	for round := range rounds {
		for hash, want := range map[common.Hash]string{orders[round]: "submitted", cancelled[round]: "cancelled", replaced[round]: "cancelled"} {
			if hash == (common.Hash{}) {
				continue
			}
			var status orderStatus
			if h.want(&status, signer, "gavel_getOrderStatus", hash); status.State != want {
				t.Errorf("round %d: %+v, want it %s", round, status, want)
			}
		}
		if owner := addressOf(houseKey(100 + round)); round%4 == 3 && h.app.settler.Recipient(owner) != (common.Address{byte(round)}) {
			t.Errorf("round %d: refunds go to %s", round, h.app.settler.Recipient(owner))
		}
	}
}
