package app

import (
	"context"
	"crypto/ecdsa"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/params"

	"github.com/gavel-relay/gavel/internal/serve/servetest"
	"github.com/gavel-relay/gavel/rpc"
	"github.com/gavel-relay/gavel/rpc/jsonrpc"
)

// benchClients keep their connections. They are as many as a service has that is busy: who waits
// for the journal shares its ack with others who do. There are as many signers, so that none is
// alone in its line.
const benchClients = 64

// BenchmarkSendBundle compares the whole service (server, envelope, signature, parser, pool, facts)
// with a bare handler that reads the body and recovers its signature, which is the dearest single
// step: clients that keep their connections send to each in turn, so that the load on the machine
// is the same for both. Each bundle has one transfer that nobody has seen before, for the block
// after the next, so that nothing is simulated meanwhile. Before the first round each signer has
// sent some, as in a service that runs. With "journal" each round waits until its
// facts are written, with "queue" that happens after the clock has stopped.
//
// of-bare is of the rates; cpu-of-bare is of the processor time that a request takes, whenever that
// is: the ledger's work behind the journal counts too. What others do on the same machine disturbs
// it less.
func BenchmarkSendBundle(b *testing.B) {
	for _, written := range []bool{false, true} {
		b.Run(map[bool]string{false: "queue", true: "journal"}[written], func(b *testing.B) {
			benchmarkSendBundle(b, written)
		})
	}
}

func benchmarkSendBundle(b *testing.B, written bool) {
	rounds := max(2, b.N/5000)
	per := b.N/rounds + 1
	const before = 32 * benchClients // so that each signer has a table of its own
	var writing sync.WaitGroup
	h := openChain(b)
	ours := h.listen(h.config(func(cfg *Config) {
		cfg.Log = slog.New(slog.DiscardHandler)
		cfg.Observe = func(fact rpc.Fact) {
			if _, accepted := fact.(rpc.OrderAccepted); accepted {
				writing.Done()
			}
		}
		cfg.Limits = Limits{PerSecond: -1, SignerPerSecond: -1, Orders: 1 << 30, OrdersPerSigner: 1 << 30}
	}))
	theirs := servingBare(b)
	requests := h.bundleRequests(before + rounds*per)
	writing.Add(before)
	servetest.Send(b, ours, benchClients, `"bundleHash"`, servetest.Each(requests[:before]))
	h.written(&writing)
	requests = requests[before:]
	var took, worked [2]time.Duration
	b.ResetTimer()
	for round := range rounds {
		mine := requests[round*per : (round+1)*per]
		writing.Add(per)
		began, before := time.Now(), processorTime(b)
		sent := servetest.Send(b, ours, benchClients, `"bundleHash"`, servetest.Each(mine))
		if b.Failed() {
			b.FailNow() // nobody would ever count what was refused
		}
		h.written(&writing) // nothing of it may burden the other's round
		if written {
			sent = time.Since(began)
		}
		h.ledgerFollows()
		between := processorTime(b)
		took[0] += sent
		took[1] += servetest.Send(b, theirs, benchClients, `"bundleHash"`, servetest.Each(mine))
		worked[0] += between - before
		worked[1] += processorTime(b) - between
	}
	b.StopTimer()
	b.ReportMetric(float64(rounds*per)/took[0].Seconds(), "requests/s")
	b.ReportMetric(float64(took[1])/float64(took[0]), "of-bare")
	b.ReportMetric(float64(worked[1])/float64(worked[0]), "cpu-of-bare")
	b.ReportMetric(float64(worked[0].Microseconds())/float64(rounds*per), "cpu-µs")
	b.ReportMetric(0, "ns/op") // of both together, which means nothing
}

// processorTime is how long all cores together have worked for this process.
func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// written waits until the facts are. The fact that is put does not wait, and takes those with it
// that do: the pause is no work.
func (s *service) written(facts *sync.WaitGroup) {
	s.app.facts.Put(rpc.CallSimulated{})
	facts.Wait()
}

// ledgerFollows waits until the ledger has taken up what is in the journal.
func (s *service) ledgerFollows() {
	for s.app.ledgerLag() > 0 {
		time.Sleep(5 * time.Millisecond)
	}
}

// listen is serve with the service's own server on a port of its own.
func (s *service) listen(cfg Config) (address string) {
	s.Helper()
	app, err := New(s.Context(), cfg)
	if err != nil {
		s.Fatal(err)
	}
	s.app = app
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		s.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(s.Context()))
	done := make(chan error, 1)
	go func() { done <- app.Serve(ctx, listener) }()
	s.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			s.Error(err)
		}
		if err := app.Close(); err != nil {
			s.Error(err)
		}
	})
	return listener.Addr().String()
}

// servingBare is the address of a server that reads bodies and recovers their signatures.
func servingBare(b *testing.B) (address string) {
	b.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	scheme := jsonrpc.SignatureScheme{}
	server := &http.Server{ReadHeaderTimeout: time.Second,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
			signer, refused := scheme.Signer(r.Header.Values, body)
			if refused != nil {
				http.Error(w, refused.Error(), http.StatusForbidden)
				return
			}
			answer := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":1,"result":{"bundleHash":"%#x"}}`, signer)
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write(answer)
		})}
	go func() { _ = server.Serve(listener) }()
	b.Cleanup(func() { _ = server.Close() })
	return listener.Addr().String()
}

// bundleRequests are signed requests as they go over the wire, for the block after the next: one
// transfer each, and no two the same.
func (s *service) bundleRequests(n int) [][]byte {
	s.Helper()
	signer, payee := types.LatestSignerForChainID(big.NewInt(chainID)), addressOf(accountKey(1))
	sender, searchers, block := accountKey(0), make([]*ecdsa.PrivateKey, benchClients), s.next()+1
	for i := range searchers {
		searchers[i] = accountKey(2 + i)
	}
	all := make([][]byte, n)
	each(n, func(i int) {
		tx := types.MustSignNewTx(sender, signer, &types.DynamicFeeTx{
			ChainID: big.NewInt(chainID), Nonce: uint64(i), GasTipCap: big.NewInt(params.GWei),
			GasFeeCap: big.NewInt(100 * params.GWei),
			Gas:       21_000, To: &payee, Value: big.NewInt(params.Ether),
		})
		body := fmt.Appendf(nil,
			`{"jsonrpc":"2.0","id":1,"method":"eth_sendBundle","params":[{"txs":["%s"],"blockNumber":"0x%x"}]}`,
			rawOf(tx), block)
		all[i] = append(fmt.Appendf(nil, "POST / HTTP/1.1\r\nHost: rpc\r\nContent-Type: application/json\r\nUser-Agent: "+
			"searcher/1.0\r\n"+
			"X-Flashbots-Signature: %s\r\nContent-Length: %d\r\n\r\n", jsonrpc.SignatureHeader(searchers[i%benchClients],
			body), len(body)),
			body...)
	})
	return all
}

// each calls a function for 0 to n-1, on several goroutines.
func each(n int, do func(i int)) {
	var next atomic.Int64
	var working sync.WaitGroup
	for range benchClients {
		working.Go(func() {
			for i := next.Add(1) - 1; i < int64(n); i = next.Add(1) - 1 {
				do(int(i))
			}
		})
	}
	working.Wait()
}
