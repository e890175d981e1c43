package jsonrpc

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/ethereum/go-ethereum/common"

	"github.com/gavel-relay/gavel/internal/golden"
	"github.com/gavel-relay/gavel/rpc"
)

// The transcripts are conversations, each with a server of its own that is set up below. A request
// is the lines with -->, an answer those with <--:
//
//	--> POST /
//	--> Header: value
//	--> (gzip)
//	--> the body, in one or more lines
//	<-- 200
//	<-- Header: value
//	<-- the body
//
// Alice signs every request that has no header of its own for that; (unsigned) leaves it out,
// (gzip) packs the body.
func TestTranscripts(t *testing.T) {
	for name, set := range map[string]func(*Config){
		"ids":       func(*Config) {},
		"envelope":  func(*Config) {},
		"params":    func(*Config) {},
		"results":   func(*Config) {},
		"batches":   func(c *Config) { c.MaxBatch = 4 },
		"transport": func(c *Config) { c.MaxBody = 200 },
		"path":      func(c *Config) { c.Path = "/rpc" },
		"signature": func(*Config) {},
		"auth200":   func(c *Config) { c.AuthStatus = 200 },
		"legacy":    func(c *Config) { c.Legacy = true },
		"dialects":  func(*Config) {},
		"limits": func(c *Config) {
			c.Limits = Limits{
				Client: Rate{0.001, 12}, Signer: Rate{0.001, 5}, Methods: map[string]Rate{"eth_null": {0.01, 2}},
			}
		},
		"aliases": func(c *Config) {
			c.Aliases = map[string][]string{"flashbots_": {"vendor_", "buildernet_"}, "buildernet_": {"pool_"},
				"eth_": {"vendor_"}}
			c.Methods["buildernet_delayed"] = echo
			c.Methods["buildernet_open"] = echo // goes before the alias of flashbots_open
		},
	} {
		t.Run(name, func(t *testing.T) {
			config := testConfig()
			set(&config)
			path := "testdata/" + name + ".txt"
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			synctest.Test(t, func(t *testing.T) { // in which no bucket fills up again
				golden.File(t, path, replay(t, mustServer(t, config), string(text), name == "limits"))
			})
		})
	}
}

var alice = common.HexToAddress("0xa11ce00000000000000000000000000000000000")

// echo tells what a method gets.
func echo(_ context.Context, call *Call) (any, error) {
	return map[string]any{"method": call.Method, "params": call.Params, "origin": call.Origin,
		"signed": call.Signer != common.Address{}}, nil
}

func testConfig() Config {
	return Config{
		Methods: map[string]Method{
			"eth_echo":       echo,
			"flashbots_open": echo,
			"eth_null":       func(context.Context, *Call) (any, error) { return nil, nil },
			"eth_html":       func(context.Context, *Call) (any, error) { return "a < b & c", nil },
			"eth_fail":       func(context.Context, *Call) (any, error) { return nil, errors.New("the secret cause") },
			"eth_crash":      func(context.Context, *Call) (any, error) { panic("the secret cause") },
			"eth_unwritable": func(context.Context, *Call) (any, error) { return make(chan int), nil },
			"eth_refuse":     func(context.Context, *Call) (any, error) { return nil, rpc.BundleEmpty.With("params[0].txs") },
			"eth_refuseV2":   func(context.Context, *Call) (any, error) { return nil, rpc.BundleEmpty.With("params[0].txs") },
			"eth_busy":       func(context.Context, *Call) (any, error) { return nil, rpc.SimulationBusy.Plain() },
			"eth_down":       func(context.Context, *Call) (any, error) { return nil, rpc.NodeUnavailable.Plain() },
			"eth_notYours":   func(context.Context, *Call) (any, error) { return nil, rpc.NotYourAddress.Plain() },
			"eth_wrapped": func(context.Context, *Call) (any, error) {
				return nil, fmt.Errorf("inside: %w", rpc.BundleEmpty.Plain())
			},
			"eth_data": func(context.Context, *Call) (any, error) {
				refused := rpc.SimulationFailed.With("nonce too low")
				refused.Data = map[string]int{"tx": 3}
				return nil, refused
			},
			"eth_badData": func(context.Context, *Call) (any, error) {
				refused := rpc.SimulationFailed.Plain()
				refused.Data = make(chan int)
				return nil, refused
			},
		},
		Unsigned: []string{"flashbots_open"},
		Verify: func(header http.Header, _ []byte) (common.Address, error) {
			switch header.Get("X-Flashbots-Signature") {
			case "":
				return common.Address{}, rpc.SignatureMissing.Plain()
			case "alice":
				return alice, nil
			case "broken":
				return alice, errors.New("the secret cause")
			}
			return common.Address{}, rpc.SignatureMismatch.With("recovered 0x01, header says 0x02")
		},
	}
}

func mustServer(t testing.TB, config Config) *Server {
	t.Helper()
	server, err := New(config)
	if err != nil {
		t.Fatal(err)
	}
	return server
}

var headerLine = regexp.MustCompile(`^([A-Z][A-Za-z0-9-]*): (.*)$`)

// replay has a conversation and writes it down. What is neither request nor answer stays as it is.
func replay(t *testing.T, server http.Handler, text string, rates bool) string {
	t.Helper()
	var out strings.Builder
	var request []string
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "<--") {
			continue
		}
		said, asks := strings.CutPrefix(line, "-->")
		if asks {
			request = append(request, strings.TrimPrefix(strings.TrimSuffix(said, "\n"), " "))
		} else if request != nil {
			out.WriteString(answerTo(t, server, request, rates))
			request = nil
		}
		out.WriteString(line)
	}
	if request != nil {
		out.WriteString(answerTo(t, server, request, rates))
	}
	return out.String()
}

func answerTo(t *testing.T, server http.Handler, request []string, rates bool) string {
	t.Helper()
	method, path, _ := strings.Cut(request[0], " ")
	header, lines := http.Header{"X-Flashbots-Signature": {"alice"}}, request[1:]
	packed := false
	for len(lines) > 0 {
		match := headerLine.FindStringSubmatch(lines[0])
		switch {
		case match != nil:
			header.Set(match[1], match[2])
		case lines[0] == "(gzip)":
			packed = true
		case lines[0] == "(unsigned)":
			header.Del("X-Flashbots-Signature")
		}
		if match == nil && !strings.HasPrefix(lines[0], "(") {
			break
		}
		lines = lines[1:]
	}
	body := []byte(strings.Join(lines, "\n"))
	if packed {
		var buffer bytes.Buffer
		writer := gzip.NewWriter(&buffer)
		if _, err := writer.Write(body); err != nil {
			t.Fatal(err)
		}
		writer.Close()
		body = buffer.Bytes()
		header.Set("Content-Encoding", "gzip")
	}
	r := httptest.NewRequest(method, path, bytes.NewReader(body))
	r.Header = header
	answer := httptest.NewRecorder()
	server.ServeHTTP(answer, r)

	out := fmt.Sprintf("<-- %d\n", answer.Code)
	names := []string{"Allow", "Retry-After"}
	if rates {
		names = append(names, "X-RateLimit-Limit", "X-RateLimit-Remaining")
	}
	for _, name := range names {
		if value := answer.Header().Get(name); value != "" {
			out += fmt.Sprintf("<-- %s: %s\n", name, value)
		}
	}
	if answer.Body.Len() > 0 {
		if got := answer.Header().Get("Content-Type"); got != "application/json" {
			t.Errorf("%q is answered with %s", request, got)
		}
		out += fmt.Sprintf("<-- %s\n", answer.Body)
	}
	return out
}
