package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"

	"github.com/gavel-relay/gavel/devnet/chain"
	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/rpc/jsonrpc"
)

// executionNode is a node with its JSON-RPC, on whose chain 99 the test's key has money. Its newest
// block is not old.
func executionNode(t *testing.T) *chain.Node {
	t.Helper()
	return executionNodeAt(t, "127.0.0.1:0")
}

func executionNodeAt(t *testing.T, address string) *chain.Node {
	t.Helper()
	key, err := crypto.HexToECDSA(testKey[2:])
	if err != nil {
		t.Fatal(err)
	}
	node, err := chain.Open(chain.Config{
		Spec: &eth.Spec{
			GenesisTime: time.Now().Truncate(time.Second), SlotDuration: 12 * time.Second, SlotsPerEpoch: 8,
			Forks: []eth.ForkPoint{{Fork: eth.Fulu}},
		},
		ChainID: 99, Funded: []common.Address{crypto.PubkeyToAddress(key.PublicKey)}, RPCAddr: address,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := node.Close(); err != nil {
			t.Error(err)
		}
	})
	return node
}

// rawTransaction is a transfer by the test's key on chain 99.
func rawTransaction(t *testing.T) (raw string, hash common.Hash) {
	t.Helper()
	key, err := crypto.HexToECDSA(testKey[2:])
	if err != nil {
		t.Fatal(err)
	}
	to := common.Address{1}
	tx := types.MustSignNewTx(key, types.LatestSignerForChainID(big.NewInt(99)), &types.DynamicFeeTx{
		ChainID: big.NewInt(99), To: &to, Gas: 21_000, GasTipCap: big.NewInt(1e9), GasFeeCap: big.NewInt(1e11),
		Value: big.NewInt(1),
	})
	encoded, err := tx.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	return hexutil.Encode(encoded), tx.Hash()
}

// ask signs a request by the test's key, and returns the result.
func ask(t *testing.T, url, method, params string) string {
	t.Helper()
	key, err := crypto.HexToECDSA(testKey[2:])
	if err != nil {
		t.Fatal(err)
	}
	body := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`, method, params)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("X-Flashbots-Signature", jsonrpc.SignatureHeader(key, body))
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var answer struct{ Result, Error json.RawMessage }
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil || answer.Error != nil {
		t.Fatalf("%s: %s, %v", method, answer.Error, err)
	}
	return string(answer.Result)
}

// text is what an address answers.
func text(t *testing.T, url string) string {
	t.Helper()
	response, err := http.Get(url) // bounded by the test
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

// The command as an operator runs it: it learns the network from its execution node, takes an
// order, says that it is ready, shows its metrics, ends in good order, and remembers the order when
// it is started again.
func TestRPCRuns(t *testing.T) {
	node := executionNode(t)
	t.Setenv(rpcKeyEnv, testKey)
	data := t.TempDir()
	raw, hash := rawTransaction(t)
	life := func(look func(public, admin string)) {
		public, admin := freePort(t), freePort(t)
		cfg, status, _, stderr := callRPC(t, "--execution-rpc", node.RPCURL(), "--listen", public, "--admin-listen", admin,
			"--data-dir", data,
			"--log-level", "error")
		if status != 0 {
			t.Fatal(stderr)
		}
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		ended := make(chan error, 1)
		go func() { ended <- serveRPC(ctx, *cfg) }()
		until(t, "http://"+admin+"/readyz", 200, ended)
		look("http://"+public, "http://"+admin)
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if conn, err := net.Dial("tcp", public); err == nil { // it ends at once
			_ = conn.Close()
			t.Error("somebody listens after the end")
		}
	}
	life(func(public, admin string) {
		if got := ask(t, public, "eth_sendPrivateRawTransaction", fmt.Sprintf("[%q]", raw)); got != fmt.Sprintf("%q", hash) {
			t.Errorf("sent %s", got)
		}
		page := text(t, admin+"/metrics")
		for _, line := range []string{`gavel_rpc_calls_total{method="eth_sendPrivateRawTransaction",refusal=""} 1`,
			"gavel_rpc_orders 1"} {
			if !strings.Contains(page, line+"\n") {
				t.Errorf("there is no %s", line)
			}
		}
	})
	life(func(public, _ string) {
		if got := ask(t, public, "gavel_getOrderStatus", fmt.Sprintf("[%q]", hash)); !strings.Contains(got,
			`"kind":"private_transaction"`) {
			t.Errorf("after a restart %s", got)
		}
	})
}

// What is wrong outside of the flags ends the command with an error that says where, and leaves
// nothing open.
func TestRPCCannotRun(t *testing.T) {
	node := executionNode(t)
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	gone := freePort(t)
	t.Setenv(rpcKeyEnv, testKey)
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"port":         {[]string{"--listen", taken.Addr().String()}, "stop the other program or choose another port"},
		"admin's port": {[]string{"--admin-listen", taken.Addr().String()}, "stop the other program or choose another port"},
		"no node":      {[]string{"--execution-rpc", "http://" + gone}, "learn the chain's forks: "},
		"no file":      {[]string{"--chain-file", "/nowhere"}, "chain-file: open /nowhere: no such file"},
		"no genesis":   {[]string{"--chain-file", written(t, "g.json", "{}")}, "chain-file "},
		"no JSON":      {[]string{"--chain-file", written(t, "h.json", "{")}, "chain-file "},
		"no method":    {[]string{"--method-limits", "eth_callBundel=1"}, `unknown method "eth_callBundel" has a rate limit`},
		"no database":  {[]string{"--db", "cassandra://h"}, "open the ledger: "},
	} {
		t.Run(name, func(t *testing.T) {
			public := freePort(t)
			args := append([]string{"--execution-rpc", node.RPCURL(), "--listen", public, "--admin-listen", "", "--data-dir", "",
				"--start-timeout", "0s", "--log-level", "error"}, c.args...)
			cfg, status, _, stderr := callRPC(t, args...)
			if status != 0 {
				t.Fatal(stderr)
			}
			if err := serveRPC(t.Context(), *cfg); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %s", err, c.want)
			}
			if listener, err := net.Listen("tcp", public); err != nil {
				t.Errorf("the port is not free again: %v", err)
			} else {
				_ = listener.Close()
			}
		})
	}
}

// An execution node that is away at start is waited for; the probe says so meanwhile.
func TestRPCWaitsForItsNode(t *testing.T) {
	t.Setenv(rpcKeyEnv, testKey)
	address, public, admin := freePort(t), freePort(t), freePort(t)
	cfg, status, _, stderr := callRPC(t, "--execution-rpc", "http://"+address, "--listen", public, "--admin-listen", admin,
		"--data-dir", "", "--log-level", "error", "--start-timeout", "1m")
	if status != 0 {
		t.Fatal(stderr)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- serveRPC(ctx, *cfg) }()
	until(t, "http://"+admin+"/livez", 200, ended)
	if body := text(t, "http://"+admin+"/readyz"); !strings.Contains(body, "waits for an execution node") {
		t.Errorf("/readyz: %s", body)
	}
	executionNodeAt(t, address)
	until(t, "http://"+admin+"/readyz", 200, ended)
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// The genesis file says more about a network than a node can.
func TestChainFile(t *testing.T) {
	config, err := chainIn(written(t, "genesis.json",
		`{"config":{"chainId":99,"shanghaiTime":7},"gasLimit":"0x1","difficulty":"0x0","alloc":{}}`))
	if err != nil || config.ChainID.Uint64() != 99 || config.ShanghaiTime == nil || *config.ShanghaiTime != 7 {
		t.Errorf("%+v, %v", config, err)
	}
	if config, err := chainIn(""); config != nil || err != nil {
		t.Errorf("without a file: %+v, %v", config, err)
	}
}
