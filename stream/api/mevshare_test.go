//go:build clients

package api

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"github.com/gavel-relay/gavel/internal/golden"
	"github.com/gavel-relay/gavel/internal/serve"
)

// pages adds a history to the stream, with as much of its interface as the client uses.
func (h *liveServer) pages() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/api/v1/history/info", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprintf(w,
			`{"count":%d,"minBlock":101,"maxBlock":%d,"minTimestamp":1700000000,"maxTimestamp":1700000000,"maxLimit":500}`,
			h.published, 100+h.published)
	})
	mux.HandleFunc("/api/v1/history", func(w http.ResponseWriter, r *http.Request) {
		offset, _ := strconv.Atoi(r.URL.Query().Get("offset"))
		limit, _ := strconv.Atoi(r.URL.Query().Get("limit"))
		events, _ := h.past.After(r.Context(), uint64(offset), limit)
		rows := []json.RawMessage{}
		for _, event := range events {
			rows = append(rows, fmt.Appendf(nil, `{"block":%d,"timestamp":%d,"hint":%s}`, event.Block,
				event.At.Unix(), event.JSON))
		}
		serve.JSON(w, r, http.StatusOK, rows)
	})
	mux.Handle("/", h.handler())
	return mux
}

// The client that most searchers use pages the history, hears transactions and bundles as such, and
// comes back by itself when its connection breaks.
func TestClientsMEVShareStream(t *testing.T) {
	h := newLiveServer(nil)
	server := httptest.NewServer(serve.Options{}.Wrap(h.pages()))
	t.Cleanup(server.Close)
	const onlyHash = `{"hash":"0x09","logs":null,"txs":null,"mevGasPrice":"0x2faf080","gasUsed":"0x11170"}`
	bundle := fmt.Sprintf(
		`{"hash":"0x%064x","logs":[{"address":"0x%040x","topics":["0x%064x"],"data":"0x"}],"txs":[{"to":"0x%040x"},{"callData":"0x"}]}`,
		8, 1, 2, 3)
	h.publish(hint(1), bundle, onlyHash)

	node := exec.CommandContext(context.WithoutCancel(t.Context()), "node", "client.mjs") // ends with its input
	node.Dir = "testdata/client"
	node.Env = append(os.Environ(), "GAVEL_TEST="+server.URL)
	var complaints bytes.Buffer
	node.Stderr = &complaints
	in, err := node.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := node.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := node.Start(); err != nil {
		t.Fatalf("%v; Node.js is needed", err)
	}
	stuck := time.AfterFunc(time.Minute, func() { _ = node.Process.Kill() }) // only when the test fails
	defer stuck.Stop()
	t.Cleanup(func() {
		if err := in.Close(); err != nil {
			t.Error(err)
		}
		if err := node.Wait(); err != nil || t.Failed() {
			t.Errorf("the client ended with %v and said:\n%s", err, &complaints)
		}
	})
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	var transcript bytes.Buffer
	hear := func(lineCount int) {
		t.Helper()
		for range lineCount {
			if !lines.Scan() {
				t.Fatalf("the client says no more: %v; it said\n%s", lines.Err(), &transcript)
			}
			transcript.Write(append(lines.Bytes(), '\n'))
		}
	}
	hear(1 + 2)           // what there is, and two pages
	listening := func() { // one connection for transactions, one for bundles
		<-h.joined
		<-h.joined
	}
	listening()
	h.publish(hint(4))
	hear(1)
	h.publish(bundle)
	hear(1)
	h.publish(onlyHash)
	hear(1)

	server.CloseClientConnections()
	listening()
	h.publish(bundle)
	hear(1)
	golden.File(t, "testdata/mevshare.txt", transcript.String())
}
