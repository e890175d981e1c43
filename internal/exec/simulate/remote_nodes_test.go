package simulate_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"maps"
	"math/big"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/params"

	"github.com/gavel-relay/gavel/internal/exec"
	"github.com/gavel-relay/gavel/internal/exec/simulate"
)

// head is what a played node answers to every question for a block.
var head = &types.Header{
	Number: big.NewInt(1), Difficulty: new(big.Int), BaseFee: big.NewInt(1), ExcessBlobGas: new(uint64),
	BlobGasUsed: new(uint64),
}

// played is what a node does with a request, by host. It is the transport of a client without any
// network.
type played map[string]script

// script is a part that a node plays.
type script func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (p played) RoundTrip(r *http.Request) (*http.Response, error) { return p[r.URL.Host](r) }

func (p played) states(t *testing.T, log io.Writer) *simulate.RemoteStates {
	return open(t, simulate.RemoteOptions{
		URLs: []string{"http://first/secret", "http://second/secret"}, HTTP: &http.Client{Transport: p},
		Config: params.MergedTestChainConfig,
		Log:    slog.New(slog.NewTextHandler(log, nil)),
	})
}

// good answers with the head.
func good(r *http.Request) (*http.Response, error) {
	var c call
	if err := json.NewDecoder(r.Body).Decode(&c); err != nil {
		return nil, err
	}
	text, err := json.Marshal(head)
	return answer(http.StatusOK, `{"jsonrpc":"2.0","id":`+string(c.ID)+`,"result":`+string(text)+`}`), err
}

// hanging never answers.
func hanging(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

// dead cannot be reached.
func dead(*http.Request) (*http.Response, error) { return nil, errors.New("connection refused") }

// always answers every request with one text.
func always(status int, body string) script {
	return func(*http.Request) (*http.Response, error) { return answer(status, body), nil }
}

// ill are the ways in which a node gives no sensible answer.
var ill = map[string]script{
	"hangs":      hanging,
	"dead":       dead,
	"status 500": always(http.StatusInternalServerError, "oh"),
	"status 429": always(http.StatusTooManyRequests,
		`{"jsonrpc":"2.0","id":1,"error":{"code":-32005,"message":"limit exceeded"}}`),
	"a redirect":        always(http.StatusTemporaryRedirect, ""),
	"nothing":           always(http.StatusOK, ""),
	"garbage":           always(http.StatusOK, "<html>"),
	"a number":          always(http.StatusOK, "1"),
	"a list of null":    always(http.StatusOK, "[null]"),
	"an empty object":   always(http.StatusOK, "{}"),
	"a result of null":  always(http.StatusOK, `{"jsonrpc":"2.0","id":1,"result":null}`),
	"a result of lists": always(http.StatusOK, `{"jsonrpc":"2.0","id":1,"result":[[]]}`),
	"an empty header":   always(http.StatusOK, `{"jsonrpc":"2.0","id":1,"result":{}}`),
	"an internal error": always(http.StatusOK,
		`{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"internal"}}`),
	"a method not known": always(http.StatusOK,
		`{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no such method"}}`),
	"a number of 2^64": always(http.StatusOK, `{"jsonrpc":"2.0","id":1,"result":`+
		changed("number", "0x10000000000000000")+`}`),
	"a difficulty of 2^256": always(http.StatusOK, `{"jsonrpc":"2.0","id":1,"result":`+
		changed("number", "0x1"+strings.Repeat("0", 64))+`}`),
	"a header without fee":  always(http.StatusOK, `{"jsonrpc":"2.0","id":1,"result":`+changed("baseFeePerGas", nil)+`}`),
	"a header without blob": always(http.StatusOK, `{"jsonrpc":"2.0","id":1,"result":`+changed("excessBlobGas", nil)+`}`),
}

// changed is the head with another value in one field.
func changed(field string, value any) string {
	text, err := json.Marshal(head)
	if err == nil {
		var fields map[string]any
		if err = json.Unmarshal(text, &fields); err == nil {
			fields[field] = value
			text, err = json.Marshal(fields)
		}
	}
	if err != nil {
		panic(err)
	}
	return string(text)
}

// Without a sensible answer there is ErrNode and nothing else; with another node there is its
// answer.
func TestIllNodes(t *testing.T) {
	for name, node := range ill {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log strings.Builder
				_, err := played{"first": node, "second": node}.states(t, &log).At(t.Context(), exec.Environment{Latest: true})
				if !errors.Is(err, exec.ErrNode) || errors.Is(err, exec.ErrUnknownBlock) {
					t.Errorf("alone: %v", err)
				}
				if name != "a header without fee" && name != "a header without blob" { // found out later than who said it
					states := played{"first": node, "second": good}.states(t, &log)
					got, err := states.At(t.Context(), exec.Environment{Latest: true})
					must(t, err)
					if answers := states.Answers(); !maps.Equal(answers, map[string]bool{"first": false, "second": true}) {
						t.Errorf("with another: answers of %v", answers)
					}
					if got.Parent.Hash() != head.Hash() {
						t.Errorf("with another: block %s, want %s", got.Parent.Hash(), head.Hash())
					}
				}
				if strings.Contains(err.Error()+log.String(), "secret") {
					t.Errorf("the node's address is told: %v, %s", err, log.String())
				}
			})
		})
	}
}

// A node that failed is left alone while another answers: 250 ms, then twice as long each time,
// until it answers.
func TestPausesDouble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		var first script
		nodes := played{
			"first": func(r *http.Request) (*http.Response, error) {
				asked++
				return first(r)
			},
			"second": good,
		}
		states := nodes.states(t, io.Discard)
		ask := func() (times int) {
			asked = 0
			_, err := states.Head(t.Context())
			must(t, err)
			return asked
		}
		first = dead
		for _, pause := range []time.Duration{250 * time.Millisecond, 500 * time.Millisecond, time.Second, 2 * time.Second} {
			if ask() != 1 {
				t.Errorf("%s: it was not tried after its pause", pause)
			}
			time.Sleep(pause - time.Nanosecond)
			if ask() != 0 {
				t.Errorf("%s: it was tried in its pause", pause)
			}
			time.Sleep(time.Nanosecond)
		}
		first = good
		for range 2 {
			if ask() != 1 {
				t.Error("it answered, but is not asked first again")
			}
		}
	})
}

// A node that hangs costs one try; then the other is asked first.
func TestHangingNodeCostsOneTry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		states := played{"first": hanging, "second": good}.states(t, io.Discard)
		for i, want := range []time.Duration{2 * time.Second, 0, 0} {
			begin := time.Now()
			_, err := states.Head(t.Context())
			must(t, err)
			if took := time.Since(begin); took != want {
				t.Errorf("question %d took %s, want %s", i, took, want)
			}
		}
	})
}

// When all have failed they are asked nevertheless, whose pause ends first, first.
func TestPausedNodesAreBetterThanNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nodes := played{"first": dead, "second": dead}
		states := nodes.states(t, io.Discard)
		if _, err := states.Head(t.Context()); !errors.Is(err, exec.ErrNode) {
			t.Errorf("both dead: %v", err)
		}
		nodes["second"] = good
		_, err := states.Head(t.Context())
		must(t, err)
	})
}

// One node has the block and the other does not: whoever is asked first, the block is found, and
// nobody is blamed.
func TestNodeThatLagsIsNotBlamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tries := 0
		lagging := func(*http.Request) (*http.Response, error) {
			tries++
			return answer(http.StatusOK, `{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"header not found"}}`), nil
		}
		nodes := played{"first": lagging, "second": good}
		states := nodes.states(t, io.Discard)
		for range 2 {
			_, err := states.Head(t.Context())
			must(t, err)
		}
		if tries != 2 {
			t.Errorf("the node that lags was asked %d times, want 2", tries)
		}
		nodes["second"] = dead // somebody says that there is none: that is more than silence
		if _, err := states.Head(t.Context()); !errors.Is(err, exec.ErrUnknownBlock) {
			t.Errorf("got %v", err)
		}
	})
}

// Who gives up waiting gets his own reason, blames nobody, and takes the answer from nobody else
// who waits for it.
func TestWhoLeavesSpoilsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		slow := func(r *http.Request) (*http.Response, error) {
			select {
			case <-release:
				return good(r)
			case <-r.Context().Done():
				return nil, r.Context().Err()
			}
		}
		states := played{"first": slow, "second": dead}.states(t, io.Discard)
		impatient, leave := context.WithCancelCause(t.Context())
		left, stayed := make(chan error, 1), make(chan error, 1)
		go func() { _, err := states.Head(impatient); left <- err }()
		synctest.Wait()
		go func() { _, err := states.Head(t.Context()); stayed <- err }()
		synctest.Wait()
		reason := errors.New("no time")
		leave(reason)
		if err := <-left; !errors.Is(err, reason) {
			t.Errorf("who left got %v", err)
		}
		close(release)
		must(t, <-stayed)
	})
}

// Addresses are checked, and not quoted.
func TestNewRefuses(t *testing.T) {
	for _, urls := range [][]string{nil, {""}, {"node:8545"}, {"ftp://node"}, {"http://good", "http://"},
		{"http://user:secret@node:port"}} {
		_, err := simulate.NewRemote(simulate.RemoteOptions{URLs: urls})
		if err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v", urls, err)
		}
	}
}
