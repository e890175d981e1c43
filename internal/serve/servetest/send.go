// Package servetest asks servers as cheaply as can be, so that a benchmark measures them and not
// their clients. It is for tests only.
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

// Times is the same request so many times, for Send.
func Times(n int, request []byte) func() []byte {
	var taken atomic.Int64
	return func() []byte {
		if taken.Add(1) > int64(n) {
			return nil
		}
		return request
	}
}

// Each is every request once, for Send.
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

// Send has clients, each on a connection of its own, send whole HTTP/1.1 requests and wait for
// their answers, until next has none left: it returns nil then, and is called by all of them at
// once. Every answer must be a 200 with a Content-Length whose body, of at most 4 KiB, has the text
// wanted in it; without one bodies are skipped unread. Send returns how long it all took, and ends
// the benchmark at the first answer that is another.
func Send(b testing.TB, address string, clients int, want string, next func() []byte) time.Duration {
	b.Helper()
	began := time.Now()
	opened := Dial(b, address, clients)
	defer opened.Close()
	opened.Send(b, want, next)
	return time.Since(began)
}

// Clients have a connection each, which they keep.
type Clients []*client

type client struct {
	conn    net.Conn
	answers *bufio.Reader
}

// Dial opens the connections of some clients. They belong to the caller, who closes them.
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

// Send is the function of this name over connections that are open, and stay so.
func (c Clients) Send(b testing.TB, want string, next func() []byte) time.Duration {
	b.Helper()
	began := time.Now()
	var group errgroup.Group
	for _, one := range c {
		group.Go(func() error {
			err := one.send([]byte(want), next)
			if err != nil {
				c.Close() // the others shall not wait for more
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

// skip reads an answer and forgets it.
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

// skipHeader returns the status line unless it is of 200, and the body's length.
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
