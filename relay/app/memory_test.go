package app

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/gavel-relay/gavel/internal/eth/bls"
	"github.com/gavel-relay/gavel/internal/exec/node"
	"github.com/gavel-relay/gavel/internal/serve/servetest"
	"github.com/gavel-relay/gavel/relay/wire"
)

// A good block of 1.5 MB goes the whole way: decoded, hashed, sent to a validation node, kept in
// the escrow, shown. What is kept of it after the answer counts as well.
func TestMemoryOfAGoodBlock(t *testing.T) {
	valid := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			t.Error(err)
		}
		if _, err := io.WriteString(w, `{"jsonrpc":"2.0","id":1,"result":null}`); err != nil {
			t.Error(err)
		}
	}))
	defer valid.Close()
	for _, row := range []struct {
		name    string
		media   wire.Media
		trusted bool // its block is executed behind the answer
		dir     string
	}{
		{"SSZ, escrow in memory", wire.SSZ, false, ""},
		{"SSZ of a trusted builder, escrow in memory", wire.SSZ, true, ""},
		{"SSZ, escrow in files", wire.SSZ, false, t.TempDir()},
		{"JSON, escrow in memory", wire.JSON, false, ""},
		{"JSON of a trusted builder, escrow in files", wire.JSON, true, t.TempDir()},
	} {
		t.Run(row.name, func(t *testing.T) {
			h := openBench(t, row.dir)
			pool, err := node.New(node.Config{URLs: []string{valid.URL}})
			if err != nil {
				t.Fatal(err)
			}
			h.pipeline.Validator = pool
			block, key := benchBlock(t, h.spec, 0, 200, 1400, 9), benchBuilders[0]
			if !row.trusted {
				key = bls.Derive("bench stranger", 0)
				block.Trace.BuilderPubkey = key.PublicKey()
			}
			var bodies [6][]byte // one makes what stays: connections, buffers; a body is measured again if need be
			for i := range bodies {
				bodies[i] = offer(t, h, block, key, row.media, uint64(1+i))
			}
			next, length := 0, len(bodies[0])
			send := func() {
				h.submit(t, 0, row.trusted, row.media, bodies[next])
				next++
			}
			send()
			if peak := servetest.Peak(t, servetest.Allowed(length), send); peak > servetest.Allowed(length) {
				t.Errorf("%d bytes of heap for a body of %d", peak, length)
			} else {
				t.Logf("%.1f times the body", float64(peak)/float64(length))
			}
		})
	}
}
