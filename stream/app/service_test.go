package app

import (
	"bufio"
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
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/internal/journal"
	"github.com/gavel-relay/gavel/internal/orderflow"
	"github.com/gavel-relay/gavel/stream"
)

// journalOf opens a journal in memory until the test's end, for the bundle RPC of these tests.
func journalOf(t testing.TB) *journal.Journal {
	t.Helper()
	j, err := journal.Open(t.Context(), journal.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := j.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return j
}

// share tells the stream of an order, as the bundle RPC does.
func share(t testing.TB, j *journal.Journal, order orderflow.Shared) {
	t.Helper()
	data, err := json.Marshal(order)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := j.Append(t.Context(), orderflow.SharedSubject, data); err != nil {
		t.Fatal(err)
	}
}

// swap is the order of a number: a private transaction that swaps, of which its sender shares some
// hints.
func swap(n int, hints orderflow.Hints) orderflow.Shared {
	key, err := crypto.HexToECDSA(strings.Repeat("11", 32))
	if err != nil {
		panic(err)
	}
	router, pair := common.HexToAddress("0x7a250d5630B4cF539739dF2C5dAcb4c659F2488D"),
		common.HexToAddress("0x0d4a11d5EEaaC28EC3F61d100daF4d40471f1852")
	tx := types.MustSignNewTx(key, types.LatestSignerForChainID(big.NewInt(1)), &types.DynamicFeeTx{
		ChainID: big.NewInt(1), Nonce: uint64(n), GasTipCap: big.NewInt(2e9), GasFeeCap: big.NewInt(3e10), Gas: 250_000,
		To: &router, Value: big.NewInt(1e18),
		Data: append(common.FromHex("0x7ff36ab5"), make([]byte, 32)...),
	})
	raw, err := tx.MarshalBinary()
	if err != nil {
		panic(err)
	}
	logs := []orderflow.Log{{
		Address: pair, Data: make([]byte, 128), Topics: []common.Hash{
			common.HexToHash("0xd78ad95fa46c994b6551d0da85fc275fe613ce37657fb8d5e3d130840159d822"),
			common.BytesToHash(router[:]), {31: 1},
		},
	}}
	return orderflow.Shared{
		At: time.Unix(1_700_000_000+int64(n), 0).UTC(), Block: 20_000_000 + uint64(n), Hash: tx.Hash(), GasUsed: 123_456,
		MevGasPriceWei: uint256.NewInt(1_234_567_890),
		Bundle: orderflow.Bundle{Hints: hints, Elements: []orderflow.Element{{
			Tx: &orderflow.Tx{Raw: raw, Hash: tx.Hash(), From: crypto.PubkeyToAddress(key.PublicKey), Logs: logs},
		}}},
	}
}

// eventOf is what must be streamed of an order.
func eventOf(t testing.TB, order orderflow.Shared) string {
	t.Helper()
	line, err := stream.ProjectHints(&order, stream.DefaultHints())
	if err != nil {
		t.Fatal(err)
	}
	return string(line)
}

// service is a service that serves.
type service struct {
	testing.TB
	app *App
	url string
	// stop ends the service and waits for it.
	stop func()
}

func openService(t testing.TB, cfg Config) *service {
	t.Helper()
	app, err := New(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- app.Serve(ctx, listener) }()
	h := &service{TB: t, app: app, url: "http://" + listener.Addr().String()}
	stopped := false
	h.stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if err := app.Close(); err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(h.stop)
	return h
}

// get asks, and wants an answer with a status.
func (h *service) get(status int, path string) string {
	h.Helper()
	return read(h, status, h.url+path)
}

func read(t testing.TB, status int, url string) string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != status {
		t.Errorf("%s: %d %s, %v", url, answer.StatusCode, body, err)
	}
	return string(body)
}

// listen listens until the test's end, and hands over lines that are not empty, nor a ping. Its end
// closes the channel.
func (h *service) listen(path, lastID string) <-chan string {
	h.Helper()
	request, err := http.NewRequestWithContext(h.Context(), http.MethodGet, h.url+path, nil)
	if err != nil {
		h.Fatal(err)
	}
	request.Header.Set("Accept", "text/event-stream")
	if lastID != "" {
		request.Header.Set("Last-Event-ID", lastID)
	}
	answer, err := http.DefaultClient.Do(request) //nolint:bodyclose // the goroutine below does
	if err != nil || answer.StatusCode != http.StatusOK {
		h.Fatal(answer, err)
	}
	lines := make(chan string, 1000)
	go func() {
		defer close(lines)
		defer answer.Body.Close()
		for scan := bufio.NewScanner(answer.Body); scan.Scan(); {
			if text := scan.Text(); text != "" && text != ":ping" {
				lines <- text
			}
		}
	}()
	return lines
}

// record is an item of a page of the history.
func recordOf(t testing.TB, order orderflow.Shared) string {
	t.Helper()
	return fmt.Sprintf(`{"block":%d,"timestamp":%d,"hint":%s}`, order.Block, order.At.Unix(), eventOf(t, order))
}
