package main

import (
	"cmp"
	"context"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/ethclient"

	"github.com/gavel-relay/gavel/devnet"
	"github.com/gavel-relay/gavel/devnet/app"
	"github.com/gavel-relay/gavel/devnet/display"
	"github.com/gavel-relay/gavel/devnet/mempool"
	"github.com/gavel-relay/gavel/devnet/network"
	"github.com/gavel-relay/gavel/internal/run"
	"github.com/gavel-relay/gavel/scenarios/dataset"
	"github.com/gavel-relay/gavel/scenarios/replay"
)

// fileRows are the transactions of a file.
type fileRows struct{ all []*dataset.Transaction }

func (f *fileRows) Row(_ int64, row any) error {
	f.all = append(f.all, row.(*dataset.Transaction))
	return nil
}
func (f *fileRows) Bad(_ int64, text string, why error) error { return fmt.Errorf("%s: %w", text, why) }
func (f *fileRows) Note(string) error                         { return nil }

// chainReader is an output that reads the chain's blocks while it is there.
type chainReader struct {
	t      *testing.T
	url    string
	signer types.Signer
	last   int64
	by     map[common.Address][]*types.Transaction
}

func (c *chainReader) Start(run display.Run) {
	for _, e := range run.Endpoints {
		if e.Name == "execution RPC" {
			c.url = e.URL
		}
	}
}
func (c *chainReader) Flow(display.Flow)    {}
func (c *chainReader) Note(string)          {}
func (c *chainReader) Done(display.Summary) {}

func (c *chainReader) Slot(s display.Slot) {
	if s.Open {
		return
	}
	node, err := ethclient.Dial(c.url)
	if err != nil {
		c.t.Error(err)
		return
	}
	defer node.Close()
	head, err := node.BlockNumber(c.t.Context())
	for err == nil && c.last < int64(head) {
		var block *types.Block
		if block, err = node.BlockByNumber(c.t.Context(), big.NewInt(c.last+1)); err == nil {
			c.last++
			for _, tx := range block.Transactions() {
				from, wrong := types.Sender(c.signer, tx)
				if wrong != nil {
					c.t.Error(wrong)
				}
				c.by[from] = append(c.by[from], tx)
			}
		}
	}
	if err != nil {
		c.t.Error(err)
	}
}

// words are what of a transaction is the same in the file and on the chain.
func words(kind uint8, tip *big.Int, bytes int, creates bool) string {
	return fmt.Sprintf("type %d, tip %s, %d bytes, creates %v", kind, tip, bytes, creates)
}

// wanted are a file's transactions as the chain should have them: for each sender, in the order in
// which senders first appear, those that no later one replaces.
func wanted(rows []*dataset.Transaction) [][]string {
	slices.SortStableFunc(rows, func(a, b *dataset.Transaction) int {
		return cmp.Compare(a.ObservedAt.Micros, b.ObservedAt.Micros)
	})
	var senders [][20]byte
	newest := map[[20]byte]map[int64]string{}
	for _, r := range rows {
		if r.TxType.V == 3 {
			continue
		}
		if newest[r.From.V] == nil {
			senders, newest[r.From.V] = append(senders, r.From.V), map[int64]string{}
		}
		tip, _ := new(big.Int).SetString(r.TipCapWei.String(), 10)
		newest[r.From.V][r.Nonce.V] = words(uint8(r.TxType.V), tip, int(r.DataBytes.V), !r.To.Known)
	}
	var all [][]string
	for _, sender := range senders {
		var one []string
		for nonce := range int64(1000) {
			if text, there := newest[sender][nonce]; there {
				one = append(one, text)
			}
		}
		all = append(all, one)
	}
	return all
}

// The transactions of a file are on a real devnet's chain: each sender's in the order of its
// nonces, with the types, tips and lengths of the file, and replaced ones are not. All rows are
// counted.
func TestDevnetReplaysMempool(t *testing.T) {
	for _, fork := range []string{"fulu", "gloas"} {
		t.Run(fork, func(t *testing.T) {
			var file fileRows
			if err := replay.Scan(mempoolFile, dataset.Origin{}, &file); err != nil {
				t.Fatal(err)
			}
			seen := &chainReader{t: t, signer: types.LatestSignerForChainID(big.NewInt(network.ChainID)),
				by: map[common.Address][]*types.Transaction{}}
			var sum display.Summary
			program := root(func(ctx context.Context, cfg devnet.Config, flow *mempool.Flow,
				_ display.Output) (display.Summary, error) {
				var err error
				sum, err = app.Run(ctx, cfg, flow, seen)
				return sum, err
			})
			program.Writer = t.Output()
			status := run.Main(program, []string{"gavel-lab", "devnet", "--slots", "4", "--validators", "8", "--speed", "6",
				"--orders", "0", "--searchers", "0", "--fork", fork, "--seed", "3", "--replay-mempool", mempoolFile}, t.Output())
			if status != 0 {
				t.Fatalf("status %d: %+v", status, sum)
			}
			checkChain(t, seen, wanted(file.all))
			table := strings.Join(sum.Replayed, "\n")
			for _, want := range []string{
				counted("transactions", len(file.all)), counted("  sent", 47), counted("    included", 44),
				counted("    replaced", 3), counted("    not included", 0), counted("  left out", 1),
			} {
				if !strings.Contains(table, want) {
					t.Errorf("no %q in\n%s", want, table)
				}
			}
		})
	}
}

func checkChain(t *testing.T, seen *chainReader, want [][]string) {
	t.Helper()
	for i, texts := range want {
		account := network.Address(network.Wallet(3, "mempool", i))
		txs := seen.by[account]
		if len(txs) != len(texts) {
			t.Errorf("account %d: %d transactions on the chain, want %d", i, len(txs), len(texts))
			continue
		}
		for nonce, tx := range txs {
			got := words(tx.Type(), tx.GasTipCap(), len(tx.Data()), tx.To() == nil)
			if tx.Nonce() != uint64(nonce) || got != texts[nonce] {
				t.Errorf("account %d, transaction %d: nonce %d, %s, want %s", i, nonce, tx.Nonce(), got, texts[nonce])
			}
		}
	}
}

// counted is a line of the table of what became of a file.
func counted(title string, n int) string { return fmt.Sprintf("%-72s%10d", title, n) }

// A file that has no transactions, or ends in the middle, is a mistake that says so.
func TestDevnetWithoutTransactions(t *testing.T) {
	whole, err := os.ReadFile(mempoolFile)
	if err != nil {
		t.Fatal(err)
	}
	write := func(name string, content []byte) string {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for want, path := range map[string]string{
		"no such file":                        "missing.parquet",
		"it has no transactions: give a file": "../../scenarios/dataset/testdata/relayscan_all.csv",
		"it has no transactions":              write("empty.csv", []byte("timestamp_ms,hash,raw_tx\n-1,0x,0x\n")),
		"not recognised":                      write("x.csv", []byte("hello\n")),
		"read the Parquet file":               write("cut.parquet", whole[:len(whole)/2]),
		"is it complete":                      write("cut.zip", []byte("PK\x03\x04abc")),
	} {
		_, status, stderr := call(t, display.Summary{}, nil, "devnet", "--replay-mempool", path)
		if status != 2 || !strings.Contains(stderr, want) || !strings.Contains(stderr, "replay-mempool") {
			t.Errorf("%s: status %d, %q", want, status, stderr)
		}
	}
}

// A long file says how far it is read.
func TestMempoolProgress(t *testing.T) {
	var said strings.Builder
	to := &flowSink{flow: &mempool.Flow{}, file: "a.csv", progress: &said}
	for range 2*progressRows + 5 {
		if err := to.Bad(1, "", nil); err != nil {
			t.Fatal(err)
		}
	}
	if want := "a.csv: 100000 rows read\na.csv: 200000 rows read\n"; said.String() != want {
		t.Errorf("%q, want %q", said.String(), want)
	}
}
