package api

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/gavel-relay/gavel/internal/serve"
	"github.com/gavel-relay/gavel/stream"
	"github.com/gavel-relay/gavel/stream/broadcast"
)

// The benchmarks of this package measure what writing costs, so the readers are in a process of
// their own: this test binary, when it is told by these variables whom to listen to.
const (
	crowdAddress = "GAVEL_TEST_CROWD_ADDRESS"
	crowdSize    = "GAVEL_TEST_CROWD_SIZE"
)

func TestMain(m *testing.M) {
	if address := os.Getenv(crowdAddress); address != "" {
		if err := listenAll(address, os.Getenv(crowdSize)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// listenAll opens connections, asks for the stream on each, and counts what begins an event. It
// says "ready" when all have an answer, and for each line of its input how many events there were.
func listenAll(address, size string) error {
	listeners, err := strconv.Atoi(size)
	if err != nil {
		return err
	}
	var events atomic.Int64
	for range listeners {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			return err
		}
		if _, err := io.WriteString(conn, "GET / HTTP/1.1\r\nHost: stream\r\nAccept: text/event-stream\r\n\r\n"); err != nil {
			return err
		}
		begin := make([]byte, 1024)
		if _, err := conn.Read(begin); err != nil {
			return err
		}
		go func() {
			buffer := make([]byte, 4096)
			for {
				n, err := conn.Read(buffer)
				events.Add(int64(bytes.Count(buffer[:n], []byte("{"))))
				if err != nil {
					return
				}
			}
		}()
	}
	fmt.Println("ready")
	for input := bufio.NewScanner(os.Stdin); input.Scan(); {
		fmt.Println(events.Load())
	}
	return nil
}

// crowd are listeners in another process.
type crowd struct {
	b     *testing.B
	ask   io.Writer
	reply *bufio.Scanner
}

func newCrowd(b *testing.B, address string, listeners int) *crowd {
	b.Helper()
	child := exec.CommandContext(context.WithoutCancel(b.Context()), os.Args[0], "-test.run=^$")
	child.Env = append(os.Environ(), crowdAddress+"="+address, fmt.Sprintf("%s=%d", crowdSize, listeners))
	child.Stderr = os.Stderr
	ask, err := child.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	reply, err := child.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := child.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = ask.Close()
		if err := child.Wait(); err != nil {
			b.Error(err)
		}
	})
	c := &crowd{b, ask, bufio.NewScanner(reply)}
	if got := c.line(); got != "ready" {
		b.Fatalf("the listeners say %q", got)
	}
	return c
}

func (c *crowd) line() string {
	if !c.reply.Scan() {
		c.b.Fatalf("the listeners are gone: %v", c.reply.Err())
	}
	return c.reply.Text()
}

// wait returns when all together have heard so many events.
func (c *crowd) wait(events int) {
	for {
		if _, err := fmt.Fprintln(c.ask); err != nil {
			c.b.Fatal(err)
		}
		heard, err := strconv.Atoi(c.line())
		if err != nil || heard > events {
			c.b.Fatalf("heard %d events of %d, %v", heard, events, err)
		}
		if heard == events {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// processor is the time that this process has had of the processor, user and system.
func processor(b *testing.B) time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// pace is how events went out: the processor's time for each delivered one, how many were published
// in a second, and how long after the last of them everybody had heard everything.
type pace struct {
	each, lag time.Duration
	perSecond float64
}

// paced publishes events, one after each interval, and waits until all have been heard.
func paced(b *testing.B, c *crowd, listeners, before, events int, every time.Duration,
	publish func(stream.Event)) pace {
	b.Helper()
	began, used := time.Now(), processor(b)
	for i := range events {
		time.Sleep(time.Until(began.Add(every * time.Duration(i+1))))
		publish(stream.Event{ID: uint64(before + i + 1), JSON: benchHint(before + i)})
	}
	published := time.Now()
	c.wait((before + events) * listeners)
	return pace{
		each: (processor(b) - used) / time.Duration(events*listeners), lag: time.Since(published),
		perSecond: float64(events) / published.Sub(began).Seconds(),
	}
}

// benchHint is an event of 330 bytes with one brace.
func benchHint(number int) []byte {
	const hint = `{"hash":"0x%064x","logs":null,"txs":null,"mevGasPrice":"0x3b9aca00","gasUsed":"0x30d40","calldata":"0x%0176x"}`
	return fmt.Appendf(nil, hint, number, number)
}

// bareCrowd is a crowd at whose connections the publisher writes as one does who knows nothing of
// HTTP: all in turn, one write for each event.
func bareCrowd(b *testing.B, listeners int) (c *crowd, publish func(stream.Event)) {
	b.Helper()
	listener, err := serve.Listen("127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { listener.Close() })
	var conns []net.Conn
	var accepting sync.WaitGroup
	accepting.Go(func() {
		for range listeners {
			conn, err := listener.Accept()
			if err != nil {
				b.Error(err)
				return
			}
			conns = append(conns, conn)
			if _, err := conn.Write([]byte("HTTP/1.1 200 OK\r\n\r\n")); err != nil {
				b.Error(err)
			}
		}
	})
	c = newCrowd(b, listener.Addr().String(), listeners)
	accepting.Wait()
	b.Cleanup(func() {
		for _, conn := range conns {
			_ = conn.Close()
		}
	})
	return c, func(event stream.Event) {
		frame := append(append([]byte("data: "), event.JSON...), "\n\n"...)
		for _, conn := range conns {
			if _, err := conn.Write(frame); err != nil {
				b.Fatal(err)
			}
		}
	}
}

// Events to 1,000 listeners over loopback, behind the whole server: one at a time, so that nothing
// gathers, and 1,000 a second. The processor's time for each event and listener is set beside that
// of a bare write of the same bytes to as many sockets.
func BenchmarkDelivery1000(b *testing.B) {
	const listeners, alone, loaded = 1000, 100, 5000
	for range b.N {
		h := newLiveServer(nil)
		c := newCrowd(b, strings.TrimPrefix(h.open(b), "http://"), listeners)
		publish := func(event stream.Event) { h.Publish([]stream.Event{event}) }
		bare, write := bareCrowd(b, listeners)

		one := paced(b, c, listeners, 0, alone, 50*time.Millisecond, publish)
		bareOne := paced(b, bare, listeners, 0, alone, 50*time.Millisecond, write)
		many := paced(b, c, listeners, alone, loaded, time.Millisecond, publish)

		got := h.Stats()
		if got.Listeners+int(got.Cut) != listeners {
			b.Errorf("%+v", got)
		}
		b.ReportMetric(float64(got.Cut), "cut")
		b.ReportMetric(many.perSecond, "events/s")
		b.ReportMetric(float64(many.lag.Milliseconds()), "lag-ms")
		b.ReportMetric(float64(one.each)/float64(bareOne.each), "alone/bare")
		b.ReportMetric(float64(many.each)/float64(bareOne.each), "loaded/bare")
		b.ReportMetric(float64(bareOne.each.Nanoseconds())/1e3, "bare-µs")
		b.ReportMetric(float64(one.each.Nanoseconds())/1e3, "alone-µs")
		b.ReportMetric(float64(many.each.Nanoseconds())/1e3, "loaded-µs")
	}
}

// What a listener costs when there are 10,000, all that the process has for it: connection,
// goroutines, buffers and its position, after they have heard something.
func BenchmarkListener10000(b *testing.B) {
	const listeners = 10_000
	for range b.N {
		h := newLiveServer(func(c *broadcast.Config) { c.MaxListeners = listeners })
		url := h.open(b)
		before := resident(b)
		c := newCrowd(b, strings.TrimPrefix(url, "http://"), listeners)
		for i := range 20 {
			h.Publish([]stream.Event{{ID: uint64(2*i + 1), JSON: benchHint(i)}, {ID: uint64(2*i + 2), JSON: benchHint(i)}})
			c.wait((2*i + 2) * listeners)
		}
		peak := resident(b)
		debug.FreeOSMemory()
		if got := h.Stats(); got.Listeners != listeners || got.Cut != 0 {
			b.Errorf("%+v", got)
		}
		b.ReportMetric(float64(peak-before)/listeners/1024, "KiB/listener")
		b.ReportMetric(float64(resident(b)-before)/listeners/1024, "resting-KiB/listener")
		b.ReportMetric(float64(h.Stats().Listeners), "listeners")
	}
}

// resident is how many bytes of memory this process has.
func resident(b *testing.B) int64 {
	runtime.GC()
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		b.Fatal(err)
	}
	pages, err := strconv.ParseInt(strings.Fields(string(text))[1], 10, 64)
	if err != nil {
		b.Fatal(err)
	}
	return pages * int64(os.Getpagesize())
}
