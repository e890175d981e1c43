package app

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gavel-relay/gavel/internal/eth/bls"
	"github.com/gavel-relay/gavel/internal/exec/node"
	"github.com/gavel-relay/gavel/relay/wire"
)

// benchNode is in the environment of a process that is a validation node.
const benchNode = "GAVEL_BENCH_NODE"

// TestBenchNode is no test: in a process of its own it is the node that finds every block valid, until its input ends.
func TestBenchNode(t *testing.T) {
	if os.Getenv(benchNode) == "" {
		t.Skip("it is a part of BenchmarkOwnWorkWithNode")
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			t.Error(err)
		}
		if _, err := io.WriteString(w, `{"jsonrpc":"2.0","id":1,"result":null}`); err != nil {
			t.Error(err)
		}
	}))
	defer server.Close()
	fmt.Println(server.URL)
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// nodeOfItsOwn starts the node and returns its URL.
func nodeOfItsOwn(b *testing.B) string {
	b.Helper()
	command := exec.CommandContext(b.Context(), os.Args[0], "-test.run=^TestBenchNode$") //nolint:gosec // this very program
	command.Env = append(os.Environ(), benchNode+"=1")
	stdin, err := command.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	stdout, err := command.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := command.Start(); err != nil {
		b.Fatal(err)
	}
	lines := bufio.NewScanner(stdout)
	url := ""
	for url == "" && lines.Scan() {
		if strings.HasPrefix(lines.Text(), "http://") {
			url = lines.Text()
		}
	}
	b.Cleanup(func() {
		_ = stdin.Close()
		_ = command.Wait()
	})
	return url
}

// BenchmarkOwnWorkWithNode is the processor time that the relay uses for a submission of 1.5 MB in SSZ of a builder without an API key: its signature, all
// of BenchmarkOwnWork, and the request to a validation node, which is a process of its own.
func BenchmarkOwnWorkWithNode(b *testing.B) {
	h := openBench(b, "")
	pool, err := node.New(node.Config{URLs: []string{nodeOfItsOwn(b)}})
	if err != nil {
		b.Fatal(err)
	}
	h.desk.Validator = pool
	block := benchBlock(b, h.spec, 0, 200, 1400, 9)
	stranger := bls.Derive("bench stranger", 0)
	trace := *block.Trace
	trace.BuilderPubkey = stranger.PublicKey()
	block.Trace = &trace
	var worked time.Duration
	wei, rounds := uint64(0), 0
	for b.Loop() {
		wei++
		body := offer(b, h, block, stranger, wire.SSZ, wei)
		before := processorTime(b)
		h.submit(b, 0, false, wire.SSZ, body)
		worked += processorTime(b) - before
		rounds++
	}
	b.ReportMetric(worked.Seconds()*1000/float64(rounds), "cpu-ms")
}

// processorTime is what this process has used of the processors.
func processorTime(b *testing.B) time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
