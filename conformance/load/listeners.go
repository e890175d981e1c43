package load

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"github.com/gavel-relay/gavel/conformance/bench"
	"github.com/gavel-relay/gavel/conformance/probe"
)

// MostListeners bounds how many listen to a stream at a time.
const MostListeners = 1000

// longestEvent is the most bytes of a line that a listener reads.
const longestEvent = 1 << 20

// listeners follow a stream, each over a connection of its own. It is safe for concurrent use.
type listeners struct {
	began time.Time
	count int

	group sync.WaitGroup
	stop  context.CancelFunc

	mu    sync.Mutex // guards what follows
	heard []bench.Heard
	gone  map[int]bool
	why   string // of the first that was cut
}

// listen opens the connections, and returns when each has the answer's head. Times count from
// began.
func listen(ctx context.Context, url string, count int, began time.Time) (*listeners, error) {
	ctx, stop := context.WithCancel(ctx)
	l := &listeners{began: began, count: count, stop: stop, gone: map[int]bool{}}
	for i := range count {
		answer, err := openStream(ctx, url)
		if err != nil {
			l.close()
			return nil, fmt.Errorf("open the stream for listener %d of %d: %w", i+1, count, err)
		}
		l.group.Go(func() { l.follow(ctx, i, answer) })
	}
	return l, nil
}

func openStream(ctx context.Context, url string) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", "text/event-stream")
	request.Header.Set("User-Agent", probe.UserAgent)
	transport := &http.Transport{DialContext: (&net.Dialer{Timeout: timeout}).DialContext,
		ResponseHeaderTimeout: timeout, DisableCompression: true}
	answer, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		return nil, err
	}
	if kind := answer.Header.Get("Content-Type"); answer.StatusCode != http.StatusOK ||
		!strings.HasPrefix(kind, "text/event-stream") {
		_ = answer.Body.Close()
		return nil, fmt.Errorf("status %d with %.60q in place of a stream of events", answer.StatusCode, kind)
	}
	return answer, nil
}

// follow reads events until the connection or the context ends.
func (l *listeners) follow(ctx context.Context, listener int, answer *http.Response) {
	defer answer.Body.Close()
	lines := bufio.NewScanner(answer.Body)
	lines.Buffer(nil, longestEvent)
	for lines.Scan() {
		data, is := bytes.CutPrefix(lines.Bytes(), []byte("data:"))
		if !is {
			continue
		}
		at := time.Since(l.began)
		var event struct {
			Hash common.Hash `json:"hash"`
		}
		if json.Unmarshal(data, &event) != nil {
			continue // a notice in other words; conformance judges forms
		}
		l.mu.Lock()
		l.heard = append(l.heard, bench.Heard{Listener: listener, Event: event.Hash, At: at})
		l.mu.Unlock()
	}
	if ctx.Err() != nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.gone[listener] = true; l.why == "" {
		l.why = "the stream ended"
		if err := lines.Err(); err != nil {
			l.why = err.Error()
		}
	}
}

// eventsWithin is how long after the last answer of a phase its events may come, and lookEvery how
// often it is looked whether all have.
const (
	eventsWithin = 5 * time.Second
	lookEvery    = 50 * time.Millisecond
)

// check waits until all orders' events are there, or their time is over, and judges them. It judges
// what was heard so far without the lock, so that listeners never wait for it.
func (l *listeners) check(ctx context.Context, orders []bench.Shared) ([]bench.Sample, []bench.Found) {
	over, look := time.NewTimer(eventsWithin), time.NewTicker(lookEvery)
	defer over.Stop()
	defer look.Stop()
	judged := -1
	for late := false; ; {
		heard, gone := l.soFar()
		enough := len(heard) > judged && len(heard) >= len(orders)*(l.count-len(gone))
		if late || enough || ctx.Err() != nil {
			judged = len(heard)
			samples, found := bench.CheckEvents(orders, heard, l.count, gone)
			if late || found[0].Found == 0 || ctx.Err() != nil {
				return samples, found
			}
		}
		select {
		case <-look.C:
		case <-over.C:
			late = true
		case <-ctx.Done():
		}
	}
}

// soFar is what was heard, and by whom nothing more is. Neither is changed later.
func (l *listeners) soFar() ([]bench.Heard, map[int]bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.heard[:len(l.heard):len(l.heard)], maps.Clone(l.gone)
}

// cut says how many listeners' connections were cut, and why the first was.
func (l *listeners) cut() (count int, why string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.gone), l.why
}

func (l *listeners) close() {
	l.stop()
	l.group.Wait()
}
