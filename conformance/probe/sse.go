package probe

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/gavel-relay/gavel/internal/clock"
)

// Line is one line of a stream as it came, without its line break.
type Line struct {
	Text string
	At   time.Time
}

// Stream is an open stream of server-sent events. A goroutine reads it until it is closed.
type Stream struct {
	Status int
	Header http.Header
	// OpenedAfter is how long it took until the head of the answer had come.
	OpenedAfter time.Duration

	clock clock.Clock
	stop  context.CancelFunc
	done  chan struct{}
	mu    sync.Mutex
	lines []Line
	moved chan struct{} // closed with each line, and replaced by a new one
}

// Open opens a stream. The caller must close it.
func (c *Client) Open(ctx context.Context, path string, header map[string]string) (*Stream, error) {
	ctx, stop := context.WithCancel(ctx)
	request, err := c.request(ctx, Request{Method: http.MethodGet, Path: path, Header: header})
	if err != nil {
		stop()
		return nil, err
	}
	began, asked := time.Now(), c.clock.Now()
	endless := *c.http
	endless.Timeout = 0
	opening := time.AfterFunc(c.http.Timeout, stop)
	response, err := endless.Do(request) //nolint:bodyclose // the reader below closes it
	if !opening.Stop() && err == nil {
		_ = response.Body.Close() // the head came after the timeout
		err = context.DeadlineExceeded
	}
	entry := Exchange{Asked: Message{Method: http.MethodGet, URL: shownURL(request.URL), Header: request.Header}}
	if c.recorder != nil {
		entry.AtMs, entry.TookMs = began.Sub(c.recorder.began).Milliseconds(), time.Since(began).Milliseconds()
	}
	if err != nil {
		stop()
		entry.Failure = err.Error()
		c.note(entry)
		return nil, fmt.Errorf("no stream: %w", err)
	}
	entry.Said = &Message{Status: response.StatusCode, Header: response.Header}
	c.note(entry)
	if c.recorder != nil && c.recorder.watcher != nil && response.StatusCode == http.StatusOK {
		c.recorder.watcher.Answered(c.base, entry, nil, &Answer{Status: response.StatusCode, Header: response.Header})
	}
	s := &Stream{
		Status: response.StatusCode, Header: response.Header, OpenedAfter: c.clock.Now().Sub(asked), stop: stop,
		clock: c.clock,
		done:  make(chan struct{}), moved: make(chan struct{}),
	}
	go func() {
		defer close(s.done)
		defer response.Body.Close()
		s.read(bufio.NewReaderSize(response.Body, 1<<20), c.hear)
	}()
	return s, nil
}

func (c *Client) note(e Exchange) {
	if c.recorder != nil {
		c.recorder.add(e)
	}
}

// hear shows an event to the watcher, if there is one.
func (c *Client) hear(data string) {
	if c.recorder != nil && c.recorder.watcher != nil {
		c.recorder.watcher.Heard(c.base, data)
	}
}

// read reads lines until the stream ends, and calls hear with the data of each event whose line is
// whole.
func (s *Stream) read(from *bufio.Reader, hear func(data string)) {
	for {
		text, err := from.ReadBytes('\n')
		if len(text) > 0 {
			if data, found := bytes.CutPrefix(text, []byte("data:")); found && err == nil {
				hear(string(bytes.TrimSpace(data)))
			}
			s.mu.Lock()
			s.lines = append(s.lines, Line{string(bytes.TrimSuffix(text, []byte("\n"))), s.clock.Now()})
			close(s.moved)
			s.moved = make(chan struct{})
			s.mu.Unlock()
		}
		if err != nil {
			return
		}
	}
}

// Lines returns all lines so far.
func (s *Stream) Lines() []Line {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Line(nil), s.lines...)
}

// Events returns the data of all events so far, one for each line that begins with "data:".
func (s *Stream) Events() (events []string) {
	for _, line := range s.Lines() {
		if data, found := strings.CutPrefix(line.Text, "data:"); found {
			events = append(events, strings.TrimPrefix(data, " "))
		}
	}
	return events
}

// Wait returns the first event for which wanted is true, of those so far and those that come within
// the given time. It returns false if there is none.
func (s *Stream) Wait(within time.Duration, wanted func(event string) bool) (string, bool) {
	over, stop := s.after(within)
	defer stop()
	for seen := 0; ; {
		s.mu.Lock()
		moved := s.moved
		s.mu.Unlock()
		events := s.Events()
		for _, event := range events[seen:] {
			if wanted(event) {
				return event, true
			}
		}
		seen = len(events)
		select {
		case <-moved:
		case <-s.done:
			return "", false
		case <-over:
			return "", false
		}
	}
}

// after returns a channel that is closed after the given time, unless stop is called before.
func (s *Stream) after(within time.Duration) (over <-chan struct{}, stop context.CancelFunc) {
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		if s.clock.Until(ctx, s.clock.Now().Add(within)) == nil {
			close(ended)
		}
	}()
	return ended, stop
}

// Close ends the stream and waits for its reader.
func (s *Stream) Close() {
	s.stop()
	<-s.done
}
