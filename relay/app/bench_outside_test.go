package app

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/gavel-relay/gavel/internal/eth/bls"
	"github.com/gavel-relay/gavel/internal/exec/node"
	"github.com/gavel-relay/gavel/internal/journal"
	"github.com/gavel-relay/gavel/internal/serve"
	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/relay/wire"
)

// benchOutside is in the environment of a process that is everything outside of the relay: a
// validation node and a builder.
const benchOutside = "GAVEL_BENCH_OUTSIDE"

// order is what the process outside is to do next: make a submission of a kind and value, or,
// without a kind, send what it made to the URL.
type order struct {
	Kind, URL string
	Wei       uint64
}

// done is what it did: the bytes of what it made, or how long the answer took.
type done struct {
	Node  string // at the beginning only
	Bytes int
	Took  time.Duration
	Err   string
}

// TestBenchOutside is no test: in a process of its own it is the node that finds every block valid,
// and a builder, until its input ends.
func TestBenchOutside(t *testing.T) {
	if os.Getenv(benchOutside) == "" {
		t.Skip("it is a part of BenchmarkOwnWorkWithNode and BenchmarkPackedBody")
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
	tell := json.NewEncoder(os.NewFile(3, "answers"))
	if err := tell.Encode(done{Node: server.URL}); err != nil {
		t.Fatal(err)
	}
	maker := newMaker(t)
	var made packedBody
	for orders := json.NewDecoder(os.Stdin); ; {
		var next order
		if err := orders.Decode(&next); err != nil {
			return
		}
		did := done{}
		if next.Kind != "" {
			made = maker.make(t, next.Kind, next.Wei)
			did.Bytes = len(made.body)
		} else if took, err := made.send(t.Context(), next.URL); err != nil {
			did.Err = err.Error()
		} else {
			did.Took = took
		}
		if err := tell.Encode(did); err != nil {
			t.Fatal(err)
		}
	}
}

// packedBody is a submission's body as it is sent.
type packedBody struct {
	media    wire.Media
	encoding string
	body     []byte
}

func (p packedBody) send(ctx context.Context, url string) (took time.Duration, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/relay/v1/builder/blocks", bytes.NewReader(p.body))
	if err != nil {
		return 0, err
	}
	r.Header.Set("Content-Type", p.media.ContentType())
	if p.encoding != "" {
		r.Header.Set("Content-Encoding", p.encoding)
	}
	began := time.Now()
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, err
	}
	took = time.Since(began)
	said, err := io.ReadAll(answer.Body)
	_ = answer.Body.Close()
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s %s", answer.Status, said)
	}
	return took, err
}

// maker makes the submissions of a builder that the relay does not know.
type maker struct {
	h        *benchWay
	stranger *bls.SecretKey
	blocks   map[string]*relay.Submission
}

func newMaker(t testing.TB) *maker {
	m := &maker{h: &benchWay{spec: benchSpec()}, stranger: bls.Derive("bench stranger", 0),
		blocks: map[string]*relay.Submission{}}
	for name, block := range benchBlocks {
		s := block(t, m.h.spec)
		trace := *s.Trace
		trace.BuilderPubkey = m.stranger.PublicKey()
		s.Trace = &trace
		m.blocks[name] = s
	}
	return m
}

// make makes a submission of a kind, "block media encoding".
func (m *maker) make(t testing.TB, kind string, wei uint64) packedBody {
	var block, media, encoding string
	if _, err := fmt.Sscan(kind, &block, &media, &encoding); err != nil {
		t.Fatal(kind, err)
	}
	made := packedBody{media: wire.SSZ}
	if media == "json" {
		made.media = wire.JSON
	}
	made.body = offer(t, m.h, m.blocks[block], m.stranger, made.media, wei)
	if encoding != "plain" {
		made.encoding = encoding
		made.body = pack(t, encoding, made.body)
	}
	return made
}

// pack compresses by default settings; of gzip those of Go's own library, which like zlib takes
// whatever is smaller, however dear it is to read.
func pack(t testing.TB, encoding string, plain []byte) []byte {
	var packed bytes.Buffer
	var to io.WriteCloser = gzip.NewWriter(&packed)
	if encoding == "zstd" {
		var err error
		if to, err = zstd.NewWriter(&packed); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := to.Write(plain); err != nil {
		t.Fatal(err)
	}
	if err := to.Close(); err != nil {
		t.Fatal(err)
	}
	return packed.Bytes()
}

// outside is that process, and the relay's URL that it sends to.
type outside struct {
	url    string
	orders *json.Encoder
	did    *json.Decoder
}

// order waits until it is done.
func (o *outside) order(b *testing.B, next order) done {
	b.Helper()
	if err := o.orders.Encode(next); err != nil {
		b.Fatal(err)
	}
	var did done
	if err := o.did.Decode(&did); err != nil || did.Err != "" {
		b.Fatal(next, did.Err, err)
	}
	return did
}

// openOutside starts the process, and a relay that asks its node and serves its builder. The relay
// is all that is left in this process.
func openOutside(b *testing.B) *outside {
	b.Helper()
	answers, theirs, err := os.Pipe()
	if err != nil {
		b.Fatal(err)
	}
	command := exec.CommandContext(b.Context(), os.Args[0], "-test.run=^TestBenchOutside$")
	command.Env = append(os.Environ(), benchOutside+"=1")
	command.ExtraFiles = []*os.File{theirs}
	orders, err := command.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := command.Start(); err != nil {
		b.Fatal(err)
	}
	_ = theirs.Close()
	b.Cleanup(func() {
		_ = orders.Close()
		_ = command.Wait()
	})
	o := &outside{orders: json.NewEncoder(orders), did: json.NewDecoder(bufio.NewReader(answers))}
	var ready done
	if err := o.did.Decode(&ready); err != nil {
		b.Fatal(err)
	}

	h := openBenchWith(b, journal.Config{EscrowBytes: warmBytes / 2})
	pool, err := node.New(node.Config{URLs: []string{ready.Node}})
	if err != nil {
		b.Fatal(err)
	}
	h.pipeline.Validator = pool
	listener, err := new(net.ListenConfig).Listen(b.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	o.url = "http://" + listener.Addr().String()
	ctx, stop := context.WithCancel(b.Context())
	served := make(chan error, 1)
	go func() { served <- serve.Serve(ctx, listener, h.handler, serve.Options{}) }()
	b.Cleanup(func() {
		stop()
		if err := <-served; err != nil {
			b.Error(err)
		}
	})
	return o
}

// cost is what submissions of one kind have cost.
type cost struct {
	processor time.Duration // of the relay's process, in all
	took      []time.Duration
	bytes     int
}

// warmBytes are sent before anything is measured. The escrow keeps half of that.
const warmBytes = 128 << 20

// measure sends a submission of each kind in turn. All that the relay's process does, from when a
// submission is made until the next one is, is that submission's: also its facts, which are written
// after the answer, and what the garbage collector does for it.
func (o *outside) measure(b *testing.B, kinds []string) map[string]*cost {
	b.Helper()
	costs := map[string]*cost{}
	wei := uint64(0)
	round := func() {
		for _, kind := range kinds {
			wei++
			c := costs[kind]
			c.bytes = o.order(b, order{Kind: kind, Wei: wei}).Bytes
			before := processorTime(b)
			c.took = append(c.took, o.order(b, order{URL: o.url}).Took)
			time.Sleep(2 * time.Millisecond) // what is done behind the answer
			c.processor += processorTime(b) - before
		}
	}
	for _, kind := range kinds {
		costs[kind] = new(cost)
	}
	for sent := 0; sent < warmBytes; { // until the escrow is full, so that the process has all its memory
		round()
		for _, c := range costs {
			sent += c.bytes
		}
	}
	for _, c := range costs {
		*c = cost{}
	}
	for b.Loop() {
		round()
	}
	return costs
}

func (c *cost) cpuMs() float64 { return c.processor.Seconds() * 1000 / float64(len(c.took)) }

func (c *cost) medianMs() float64 { return percentile(slices.Clone(c.took), 0.5).Seconds() * 1000 }

// BenchmarkOwnWorkWithNode is the processor time that the relay uses for a submission of 1.5 MB in
// SSZ of a builder without an API key, in all: reading it from a socket, its signature, all of
// BenchmarkOwnWork, and the request to a validation node. Builder and node are a process of their
// own.
func BenchmarkOwnWorkWithNode(b *testing.B) {
	const kind = "noise ssz plain"
	cost := openOutside(b).measure(b, []string{kind})[kind]
	b.ReportMetric(cost.cpuMs(), "cpu-ms")
	b.ReportMetric(cost.medianMs(), "p50-ms")
}

// BenchmarkPackedBody is what the same submission costs in each encoding, times the plain one:
// processor time, and time to the answer.
func BenchmarkPackedBody(b *testing.B) {
	for _, row := range []struct {
		block, media string
	}{{"deployed", "ssz"}, {"31-bytes", "ssz"}, {"noise", "ssz"}, {"deployed", "json"}} {
		b.Run(row.block+"_"+row.media, func(b *testing.B) {
			kinds := []string{}
			for _, encoding := range []string{"plain", "gzip", "zstd"} {
				kinds = append(kinds, fmt.Sprint(row.block, " ", row.media, " ", encoding))
			}
			costs := openOutside(b).measure(b, kinds)
			plain := costs[kinds[0]]
			b.ReportMetric(plain.cpuMs(), "plain-cpu-ms")
			b.ReportMetric(plain.medianMs(), "plain-p50-ms")
			for i, encoding := range []string{"gzip", "zstd"} {
				packed := costs[kinds[i+1]]
				b.ReportMetric(packed.cpuMs()/plain.cpuMs(), encoding+"/plain")
				b.ReportMetric(packed.medianMs()/plain.medianMs(), encoding+"/plain-p50")
				b.ReportMetric(float64(packed.bytes)/float64(plain.bytes), encoding+"-size")
			}
		})
	}
}

// processorTime is what this process has used of the processors.
func processorTime(b *testing.B) time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
