package app_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/serve/servetest"
	"github.com/gavel-relay/gavel/relay/app"
)

// benchViewers is in the environment of a process that is all viewers of the website: the URL of
// the live auction.
const benchViewers = "GAVEL_BENCH_VIEWERS"

// viewerCount is how many follow the auction; one address may have 20 of them.
const (
	viewerCount      = 1000
	viewersOfAddress = 20
)

// TestBenchViewers is no test: in a process of its own it is the viewers. It says when each has the
// first state, and follows the auction until its input ends.
func TestBenchViewers(t *testing.T) {
	url := os.Getenv(benchViewers)
	if url == "" {
		t.Skip("it is a part of BenchmarkWebsite")
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	first := make(chan error, viewerCount)
	for i := range viewerCount {
		go follow(ctx, url, net.IPv4(127, 0, 1, byte(1+i/viewersOfAddress)), first)
	}
	for range viewerCount {
		if err := <-first; err != nil {
			t.Fatal(err)
		}
	}
	fmt.Println("all follow")
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// follow reads the live auction from an address of this machine until the context ends.
func follow(ctx context.Context, url string, from net.IP, first chan<- error) {
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: from}}
	client := &http.Client{Transport: &http.Transport{DialContext: dialer.DialContext}}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		first <- err
		return
	}
	response, err := client.Do(request)
	if err != nil {
		first <- err
		return
	}
	defer response.Body.Close()
	lines := bufio.NewReader(response.Body)
	if _, err = lines.ReadString('\n'); err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("the live auction: %s", response.Status)
	}
	first <- err
	_, _ = io.Copy(io.Discard, lines)
}

// viewers starts them, and returns when each has a state of the auction.
func viewers(b *testing.B, url string) (leave func()) {
	b.Helper()
	command := exec.CommandContext(b.Context(), os.Args[0], "-test.run=^TestBenchViewers$", "-test.v")
	command.Env = append(os.Environ(), benchViewers+"="+url)
	input, err := command.StdinPipe()
	must(b, err)
	output, err := command.StdoutPipe()
	must(b, err)
	must(b, command.Start())
	said := bufio.NewScanner(output)
	for following := false; !following; following = strings.Contains(said.Text(), "all follow") {
		if !said.Scan() {
			b.Fatal("the viewers have left")
		}
	}
	return func() {
		must(b, input.Close())
		for said.Scan() { // until the process has ended
		}
		must(b, command.Wait())
	}
}

// BenchmarkWebsite is what 1,000 viewers of the live auction cost, who are a process of their own.
// Phases with and without them follow each other while the clock runs at the speed of the wall: in
// some a bid comes each 20 ms, and the relay's processor time is compared (of-a-core, in percent);
// in others one follows the other, and their number is (submissions, with viewers by without).
func BenchmarkWebsite(b *testing.B) {
	const rounds, phase, paced, most = 2, time.Second, 20 * time.Millisecond, 4000
	h := newRelay(b, eth.Fulu, relayOptions{configure: func(c *app.Config) { c.Website = true }})
	bodies := make(chan []byte, most)
	for i := range most {
		bodies <- h.worth(b, i%2, 1e12+uint64(i)).ssz(b)
	}
	ctx, stop := context.WithCancel(b.Context())
	defer stop()
	go func() { // the clock
		const step = 50 * time.Millisecond
		ticker := time.NewTicker(step)
		defer ticker.Stop()
		for offset := -6 * time.Second; ctx.Err() == nil; offset += step {
			h.into(offset)
			<-ticker.C
		}
	}()
	send := func() {
		if got := h.post(b, submitPath, sszHeader(eth.Fulu), <-bodies); got.status != http.StatusOK {
			b.Fatalf("a submission: %s", got)
		}
	}
	var processor, rate [2]float64
	for b.Loop() {
		for i := range 2 * rounds {
			watched := i % 2
			leave := func() {}
			if watched == 1 {
				leave = viewers(b, h.relayURL+"/live")
			}
			before, began := app.ProcessorTime(b), time.Now()
			for next := began; time.Since(began) < phase; next = next.Add(paced) {
				send()
				time.Sleep(time.Until(next.Add(paced)))
			}
			processor[watched] += (app.ProcessorTime(b) - before).Seconds() / time.Since(began).Seconds() / rounds
			sent, began := 0, time.Now()
			for ; time.Since(began) < phase; sent++ {
				send()
			}
			rate[watched] += float64(sent) / time.Since(began).Seconds() / rounds
			leave()
		}
	}
	b.ReportMetric(100*(processor[1]-processor[0]), "of-a-core")
	b.ReportMetric(rate[1]/rate[0], "submissions")
	b.ReportMetric(rate[0], "submissions/s")
}

// firstPaint waits until the page was painted, and says when, in ms since its navigation began.
const firstPaint = `new Promise(said => new PerformanceObserver(list => said(list.getEntries()[0].startTime)).` +
	`observe({type: "paint", buffered: true}))`

// BenchmarkFirstPaint is when a browser on this machine paints something of a page, from the
// beginning of its navigation: the first page, and that of a slot with 300 bids. Each time pages
// come from the relay.
func BenchmarkFirstPaint(b *testing.B) {
	const loads = 20
	h := newRelay(b, eth.Fulu, relayOptions{configure: func(c *app.Config) { c.Website = true }})
	for i := range 300 {
		h.submitted(b, h.worth(b, i%2, 1e12+uint64(i)))
	}
	for name, path := range map[string]string{"first": "/", "slot": fmt.Sprintf("/slot/%d", h.slot)} {
		b.Run(name, func(b *testing.B) {
			ctx := servetest.OpenBrowser(b, 1200, 900)
			for b.Loop() {
				paints := make([]float64, loads)
				for i := range paints {
					must(b, chromedp.Run(ctx, network.SetCacheDisabled(true), chromedp.Navigate(h.relayURL+path),
						chromedp.Evaluate(firstPaint, &paints[i], func(p *runtime.EvaluateParams) *runtime.EvaluateParams {
							return p.WithAwaitPromise(true)
						})))
				}
				slices.Sort(paints)
				b.ReportMetric(paints[loads/2], "p50-ms")
				b.ReportMetric(paints[loads-1], "slowest-ms")
			}
		})
	}
}
