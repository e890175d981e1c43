// Package servetest is for tests of HTTP handlers and of what asks them. It has clients that cost
// as little as possible, so that a benchmark measures the server and not them; hostile request
// bodies (bodies.go), with the largest heap while a handler works on them (heap.go); JSON documents
// that are wrong in one place each (mutate.go); a real browser for pages (browser.go); and the
// contract that every pool of nodes must keep, whatever it asks them (pool.go).
package servetest

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
)

// Times returns a next function for Send: it returns the same request n times.
func Times(n int, request []byte) func() []byte {
	var taken atomic.Int64
	return func() []byte {
		if taken.Add(1) > int64(n) {
			return nil
		}
		return request
	}
}

// Each returns a next function for Send: it returns every request once.
func Each(requests [][]byte) func() []byte {
	var taken atomic.Int64
	return func() []byte {
		i := taken.Add(1) - 1
		if i >= int64(len(requests)) {
			return nil
		}
		return requests[i]
	}
}

// Send has so many clients, each on its own connection, send whole HTTP/1.1 requests and wait for
// their answers, until next returns nil. All clients call next at once. Every answer must have
// status 200 and a Content-Length. If want is not empty, the body must contain it and have at most
// 4 KiB; otherwise bodies are skipped unread. Send returns how long it took. The first wrong answer
// fails the benchmark.
func Send(b testing.TB, address string, clients int, want string, next func() []byte) time.Duration {
	b.Helper()
	began := time.Now()
	opened := Dial(b, address, clients)
	defer opened.Close()
	opened.Send(b, want, next)
	return time.Since(began)
}

// Clients are clients with an open connection each.
type Clients []*client

type client struct {
	conn    net.Conn
	answers *bufio.Reader
}

// Dial opens the connections of so many clients. The caller must Close them.
func Dial(b testing.TB, address string, clients int) Clients {
	b.Helper()
	opened := make(Clients, 0, clients)
	for range clients {
		conn, err := new(net.Dialer).DialContext(b.Context(), "tcp", address)
		if err != nil {
			opened.Close()
			b.Fatal(err)
		}
		opened = append(opened, &client{conn, bufio.NewReader(conn)})
	}
	return opened
}

// Close ends the connections.
func (c Clients) Close() {
	for _, one := range c {
		_ = one.conn.Close() // all answers were read, or one was wrong
	}
}

// Send is the function Send over the open connections, which stay open.
func (c Clients) Send(b testing.TB, want string, next func() []byte) time.Duration {
	b.Helper()
	began := time.Now()
	var group errgroup.Group
	for _, one := range c {
		group.Go(func() error {
			err := one.send([]byte(want), next)
			if err != nil {
				c.Close() // ends the other clients' waiting
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		b.Fatal(err)
	}
	return time.Since(began)
}

func (c *client) send(want []byte, next func() []byte) error {
	for request := next(); request != nil; request = next() {
		if _, err := c.conn.Write(request); err != nil {
			return fmt.Errorf("send a request: %w", err)
		}
		if err := skip(c.answers, want); err != nil {
			return fmt.Errorf("read the answer: %w", err)
		}
	}
	return nil
}

var (
	lengthIs = []byte("Content-Length: ")
	ok       = []byte("HTTP/1.1 200 ")
)

// skip reads an answer, checks it and drops it.
func skip(r *bufio.Reader, want []byte) error {
	status, length, err := skipHeader(r)
	if err != nil {
		return err
	}
	if status != "" || len(want) > 0 {
		body, err := r.Peek(length)
		if err != nil {
			return err
		}
		if status != "" || !bytes.Contains(body, want) {
			return fmt.Errorf("%s: %s", status, body)
		}
	}
	_, err = r.Discard(length)
	return err
}

// skipHeader returns the status line, empty for 200, and the body's length.
func skipHeader(r *bufio.Reader) (status string, length int, err error) {
	length = -1
	for first := true; ; first = false {
		line, err := r.ReadSlice('\n')
		if err != nil {
			return "", 0, err
		}
		line = bytes.TrimSpace(line)
		if first && !bytes.HasPrefix(line, ok) {
			status = string(line)
		}
		if text, found := bytes.CutPrefix(line, lengthIs); found {
			if length, err = strconv.Atoi(string(text)); err != nil {
				return "", 0, err
			}
		}
		if len(line) > 0 {
			continue
		}
		if length < 0 {
			return "", 0, errors.New("an answer without Content-Length")
		}
		return status, length, nil
	}
}
