package app

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ecdsa"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"github.com/gavel-relay/gavel/internal/exec/simulate"
	"github.com/gavel-relay/gavel/internal/journal"
	"github.com/gavel-relay/gavel/internal/projection/projectiontest"
	"github.com/gavel-relay/gavel/rpc"
	"github.com/gavel-relay/gavel/rpc/jsonrpc"
	"github.com/gavel-relay/gavel/rpc/send"
)

// victimOf, in the environment, makes this test binary a service that a test kills: the execution
// node's URL, the builder's, the data directory, and the room for facts in bytes.
const victimOf = "GAVEL_RPC_VICTIM_OF"

func TestMain(m *testing.M) {
	if of := strings.Fields(os.Getenv(victimOf)); len(of) == 4 {
		if err := victim(of[0], of[1], of[2], of[3]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(projectiontest.Main(m))
}

// victim serves, says where, and waits for its end.
func victim(node, builder, dir, room string) error {
	ctx := context.Background()
	bytes, err := strconv.ParseInt(room, 10, 64)
	if err != nil {
		return err
	}
	nodes, err := simulate.NewRemote(simulate.RemoteOptions{URLs: []string{node}, PollEvery: 5 * time.Millisecond})
	if err != nil {
		return err
	}
	chain, err := nodes.Config(ctx)
	if err != nil {
		return err
	}
	cfg := Config{
		Chain: nodes, States: nodes, ChainConfig: chain, Key: accountKey(8), DataDir: dir,
		Journal: journal.Config{FactsBytes: bytes}, Log: slog.New(slog.NewTextHandler(os.Stderr, nil)),
		Builders: []send.Builder{{Name: "default", URL: builder, APIs: []string{"eth_sendBundle", "cancel"}}},
	}
	var app *App
	end := &deathbed{moment: os.Getenv(victimDies), flush: func() error { return app.journal.Flush(ctx) }}
	cfg.Observe = end.observe
	if app, err = New(ctx, cfg); err != nil {
		return err
	}
	app.handler = end.answer(app.handler)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println(listener.Addr())
	return app.Serve(ctx, listener)
}

// victimDies, in the environment of a victim, is the moment at which it kills itself while it takes
// deadly for a recipient.
const victimDies = "GAVEL_RPC_VICTIM_DIES"

// The moments on the way of a recipient: its fact is on its way to the journal; the journal has
// acked it, and it is not state yet; it is state, and the answer is about to be written.
const (
	beforeFact   = "before-fact"
	beforeState  = "before-state"
	beforeAnswer = "before-answer"
)

// deadly is a recipient that a victim does not survive.
var deadly = common.Address{0xde, 0xad}

// deathbed kills its own process at a moment.
type deathbed struct {
	moment string
	flush  func() error // returns when the journal has acked all facts
	armed  atomic.Bool
}

// observe is told a fact when it was handed to the journal. Nothing is made state before it
// returns.
func (d *deathbed) observe(fact rpc.Fact) {
	if set, ok := fact.(rpc.RecipientSet); !ok || set.To != deadly {
		return
	}
	switch d.moment {
	case beforeFact:
		d.die()
	case beforeState:
		if err := d.flush(); err != nil {
			panic(err)
		}
		d.die()
	case beforeAnswer:
		d.armed.Store(true)
	}
}

// answer stands before the API.
func (d *deathbed) answer(api http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { api.ServeHTTP(lastWords{w, d}, r) })
}

func (d *deathbed) die() {
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL) // cannot fail
	select {}
}

// lastWords is an answer before whose first byte the process dies.
type lastWords struct {
	http.ResponseWriter
	end *deathbed
}

// Write implements http.ResponseWriter.
func (l lastWords) Write(data []byte) (int, error) {
	if l.end.armed.Load() {
		l.end.die()
	}
	return l.ResponseWriter.Write(data)
}

// Unwrap is for http.ResponseController.
func (l lastWords) Unwrap() http.ResponseWriter { return l.ResponseWriter }

// startVictim starts a service in a process of its own, with room for so many bytes of facts, 0 for
// the default, and more in its environment; kill ends it at once, whatever it does.
func (s *service) startVictim(dir string, room int64, environment ...string) (kill func()) {
	s.Helper()
	process := exec.CommandContext(s.Context(), os.Args[0])
	process.Env = append(os.Environ(), victimOf+"="+
		strings.Join([]string{s.node.RPCURL(), s.builder.url, dir, strconv.FormatInt(room, 10)}, " "))
	process.Env = append(process.Env, environment...)
	process.Stderr = s.Output()
	out, err := process.StdoutPipe()
	if err != nil {
		s.Fatal(err)
	}
	if err := process.Start(); err != nil {
		s.Fatal(err)
	}
	address, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		s.Fatalf("the victim says nothing: %v", err)
	}
	s.url = "http://" + strings.TrimSpace(address)
	return func() {
		if err := process.Process.Kill(); err != nil {
			s.Error(err)
		}
		_ = process.Wait() // says that it was killed
	}
}

// What was answered is there after a kill -9 that comes with the answer: orders, cancels of both
// kinds, and recipients of refunds. Each round is a process of its own, and the last one finds what
// all of them promised.
//
//gavel:fault kill
func TestWhatWasAnsweredSurvivesAKill(t *testing.T) {
	const rounds = 48 // twelve of each
	h, dir, signer := openChain(t), t.TempDir(), accountKey(7)
	var orders, cancelled, replaced [rounds]common.Hash
	sendBundle := func(nonce uint64, replacement any) common.Hash {
		var got taken
		h.want(&got, signer, "eth_sendBundle", map[string]any{
			"txs": []string{rawOf(h.tx(accountKey(0), nonce, common.Address{1}, 5))}, "blockNumber": hexNumber(h.next() + 1),
			"replacementUuid": replacement,
		})
		return got.BundleHash
	}
	for round := range rounds {
		kill := h.startVictim(dir, 0)
		switch nonce := uint64(10 * round); round % 4 { // another one has the last word in each
		case 0:
			orders[round] = sendBundle(nonce, nil)
		case 1:
			h.want(&cancelled[round], signer, "eth_sendPrivateTransaction",
				map[string]any{"tx": rawOf(h.tx(accountKey(0), nonce, common.Address{1}, 5))})
			var done bool
			if h.want(&done, signer, "eth_cancelPrivateTransaction", map[string]any{"txHash": cancelled[round]}); !done {
				t.Error("not cancelled")
			}
		case 2:
			name := fmt.Sprintf("e9ced844-16d5-4884-8507-%012d", round)
			replaced[round] = sendBundle(nonce, name)
			h.want(new(any), signer, "eth_cancelBundle", map[string]any{"replacementUuid": name})
		case 3:
			owner := accountKey(100 + round)
			h.want(new(any), owner, "flashbots_setFeeRefundRecipient", addressOf(owner), common.Address{byte(round)})
		}
		kill()
	}
	h.serve(h.config(func(cfg *Config) { cfg.DataDir = dir }))
	for round := range rounds {
		for hash, want := range map[common.Hash]string{orders[round]: "submitted", cancelled[round]: "cancelled",
			replaced[round]: "cancelled"} {
			if hash == (common.Hash{}) {
				continue
			}
			var status orderStatus
			if h.want(&status, signer, "gavel_getOrderStatus", hash); status.State != want {
				t.Errorf("round %d: %+v, want it %s", round, status, want)
			}
		}
		if owner := addressOf(accountKey(100 + round)); round%4 == 3 &&
			h.app.indexer.Recipient(owner) != (common.Address{byte(round)}) {
			t.Errorf("round %d: refunds go to %s", round, h.app.indexer.Recipient(owner))
		}
	}
}

// A process is killed while it takes a recipient of refunds, wherever on its way: before the
// journal has the fact, between the fact and the state, and between the state and the answer. After
// the next start the earlier recipient holds or the new one, which it is if the journal had acked
// its fact; and it is state. One that was answered always holds.
//
//gavel:fault kill
func TestRecipientWhoseProcessIsKilledOnTheWay(t *testing.T) {
	moments := []string{beforeFact, beforeState, beforeAnswer, "after-answer"}
	const rounds = 12 // three of each
	h, dir := openChain(t), t.TempDir()
	earlier := func(round int) common.Address { return common.Address{1, byte(round)} }
	for round := range rounds {
		moment, owner := moments[round%len(moments)], accountKey(200+round)
		kill := h.startVictim(dir, 0, victimDies+"="+moment)
		h.want(new(any), owner, "flashbots_setFeeRefundRecipient", addressOf(owner), earlier(round))
		if answered := h.asks(owner, "flashbots_setFeeRefundRecipient", addressOf(owner),
			deadly); answered != (moment == "after-answer") {
			t.Errorf("%s: answered: %t", moment, answered)
		}
		kill()
	}
	for range 2 { // what the first start has done holds as well
		stop := h.serve(h.config(func(cfg *Config) { cfg.DataDir = dir }))
		state := map[common.Address]common.Address{}
		must(t, h.app.journal.States(t.Context(), recipientState, func(_ time.Time, _ string, data []byte) error {
			var set rpc.RecipientSet
			err := json.Unmarshal(data, &set)
			state[set.From] = set.To
			return err
		}))
		for round := range rounds {
			moment, owner := moments[round%len(moments)], addressOf(accountKey(200+round))
			to := h.app.indexer.Recipient(owner)
			if to != deadly && (moment != beforeFact || to != earlier(round)) {
				t.Errorf("killed %s: refunds go to %s", moment, to)
			}
			if state[owner] != to {
				t.Errorf("killed %s: refunds go to %s, and %s is state", moment, to, state[owner])
			}
		}
		stop()
	}
}

// asks says whether a signed request was answered with a result.
func (s *service) asks(key *ecdsa.PrivateKey, method string, params ...any) bool {
	s.Helper()
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
	must(s, err)
	r, err := http.NewRequestWithContext(s.Context(), http.MethodPost, s.url, bytes.NewReader(body))
	must(s, err)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-Flashbots-Signature", jsonrpc.SignatureHeader(key, body))
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return false
	}
	defer response.Body.Close()
	var got answer
	return json.NewDecoder(response.Body).Decode(&got) == nil && got.Error == nil && got.Result != nil
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
