package jsonrpc

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"

	"github.com/gavel-relay/gavel/internal/serve"
	"github.com/gavel-relay/gavel/internal/serve/servetest"
)

// usualBody is an eth_sendBundle of 2,000 bytes.
func usualBody() string {
	const begin, end = `{"jsonrpc":"2.0","id":1,"method":"eth_sendBundle","params":[{"txs":["0x`,
		`"],"blockNumber":"0xb63dcd"}]}`
	return begin + strings.Repeat("0", 2000-len(begin)-len(end)) + end
}

// BenchmarkParse compares the parser with encoding/json, in the same run.
func BenchmarkParse(b *testing.B) {
	body := []byte(usualBody())
	var took [2]time.Duration
	b.ReportAllocs()
	for b.Loop() {
		began := time.Now()
		if _, _, refused := parse(body, 100); refused != nil {
			b.Fatal(refused)
		}
		between := time.Now()
		var plain struct {
			ID, Method json.RawMessage
			Params     []json.RawMessage
		}
		if err := json.Unmarshal(body, &plain); err != nil {
			b.Fatal(err)
		}
		took[0] += between.Sub(began)
		took[1] += time.Since(between)
	}
	b.ReportMetric(float64(took[0].Nanoseconds())/float64(b.N), "parse-ns")
	b.ReportMetric(float64(took[1])/float64(took[0]), "times-quicker")
}

// BenchmarkEnvelope is a whole exchange without a signature and without a connection, beside one
// that only reads the body and answers.
func BenchmarkEnvelope(b *testing.B) {
	config := benchConfig()
	config.Verify = func(http.Header, []byte) (common.Address, error) { return alice, nil }
	server, err := New(config)
	if err != nil {
		b.Fatal(err)
	}
	body := usualBody()
	ask := func(handler http.Handler) time.Duration {
		began := time.Now()
		r := httptest.NewRequest("POST", "/", strings.NewReader(body))
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		if w.Code != 200 {
			b.Fatal(w.Code, w.Body)
		}
		return time.Since(began)
	}
	var took [2]time.Duration
	b.ReportAllocs()
	for b.Loop() {
		took[0] += ask(server)
		took[1] += ask(reading(nil))
	}
	b.ReportMetric(float64((took[0]-took[1]).Nanoseconds())/float64(b.N), "envelope-ns")
}

// BenchmarkSignedOverLoopback compares the whole edge (request ids, access log, budget of bodies,
// limits, envelope, signature) with a handler that only reads the body and recovers the signature:
// clients that keep their connections ask each in turn, so that the load on the machine is the same
// for both.
func BenchmarkSignedOverLoopback(b *testing.B) {
	scheme := SignatureScheme{}
	config := benchConfig()
	config.Verify = func(header http.Header, body []byte) (common.Address, error) {
		signer, refused := scheme.Signer(header.Values, body)
		if refused != nil {
			return signer, refused
		}
		return signer, nil
	}
	config.Limits.Signer = Rate{PerSecond: 1e9}
	config.Limits.Client = Rate{PerSecond: 1e9}
	server, err := New(config)
	if err != nil {
		b.Fatal(err)
	}
	key, err := crypto.HexToECDSA(strings.Repeat("01", 32))
	if err != nil {
		b.Fatal(err)
	}
	body := usualBody()
	header := SignatureHeader(key, []byte(body))
	budget := serve.NewBodyBudget(256<<20, time.Second)
	ours := httptest.NewServer(serve.Wrap(budget.Wrap(server), slog.New(slog.DiscardHandler)))
	defer ours.Close()
	theirs := httptest.NewServer(reading(&scheme))
	defer theirs.Close()

	const rounds = 20
	per := b.N/rounds + 1
	var took [2]time.Duration
	b.ResetTimer()
	for range rounds {
		took[0] += askMany(b, ours.URL, header, body, per)
		took[1] += askMany(b, theirs.URL, header, body, per)
	}
	b.ReportMetric(float64(rounds*per)/took[0].Seconds(), "requests/s")
	b.ReportMetric(float64(took[1])/float64(took[0]), "of-bare")
}

func benchConfig() Config {
	return Config{Methods: map[string]Method{
		"eth_sendBundle": func(context.Context, *Call) (any, error) {
			return struct {
				BundleHash common.Hash `json:"bundleHash"`
			}{}, nil
		},
	}, Limits: Limits{Client: Rate{PerSecond: 1e9}}}
}

// reading reads the body, recovers the signature if there is a scheme, and answers what is there to
// be answered.
func reading(scheme *SignatureScheme) http.Handler {
	answer := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":1,"result":{"bundleHash":"%v"}}`, common.Hash{})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			panic(err)
		}
		if scheme != nil {
			if _, refused := scheme.Verify(r.Header.Get("X-Flashbots-Signature"), body); refused != nil {
				panic(refused)
			}
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(answer)
	})
}

// askMany has four clients ask until so many are answered.
func askMany(b *testing.B, url, header, body string, times int) time.Duration {
	b.Helper()
	return servetest.Send(b, strings.TrimPrefix(url, "http://"), 4, "", servetest.Times(times, fmt.Appendf(nil,
		"POST / HTTP/1.1\r\nHost: rpc\r\nContent-Type: application/json\r\nX-Flashbots-Signature: %s\r\nContent-Length: "+
			"%d\r\n\r\n%s",
		header, len(body), body)))
}
