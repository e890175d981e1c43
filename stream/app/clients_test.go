//go:build clients

package app

import (
	"bufio"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"
)

// The client that most searchers use, on the whole service: it pages the history, and hears an
// order.
func TestClientsWholeStream(t *testing.T) {
	j := journalOf(t)
	h := openService(t, Config{Source: j})
	lines := h.listen("/", "")
	for n := range 3 {
		share(t, j, swap(n, stable))
		<-lines // it is in the history
	}
	node := exec.CommandContext(context.WithoutCancel(t.Context()), "node", "client.mjs") // ends with its input
	node.Dir = "../api/live/testdata/client"
	node.Env = append(os.Environ(), "GAVEL_TEST="+h.url)
	node.Stderr = os.Stderr
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
	said := bufio.NewScanner(out)
	said.Buffer(nil, 1<<20)
	hear := func() (what string, value json.RawMessage) {
		if !said.Scan() {
			t.Fatal("the client says no more")
		}
		var line struct {
			What  string
			Value json.RawMessage
		}
		if err := json.Unmarshal(said.Bytes(), &line); err != nil {
			t.Fatal(err)
		}
		return line.What, line.Value
	}
	if what, value := hear(); what != "info" || !strings.Contains(string(value), `"count":3`) {
		t.Errorf("%s %s", what, value)
	}
	for _, count := range []int{2, 1} {
		what, value := hear()
		if got := strings.Count(string(value), `"timestamp"`); what != "page" || got != count {
			t.Errorf("%s of %d, want %d: %s", what, got, count, value)
		}
	}
	for h.app.broadcast.Stats().Listeners < 3 { // ours, and its two
		runtime.Gosched()
	}
	share(t, j, swap(3, stable))
	if what, value := hear(); what != "transaction" ||
		!strings.Contains(string(value), eventOf(t, swap(3, stable))[9:75]) {
		t.Errorf("%s %s", what, value)
	}
	if err := in.Close(); err != nil {
		t.Error(err)
	}
	if err := node.Wait(); err != nil {
		t.Error(err)
	}
}
