package app

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/gavel-relay/gavel/conformance/target"
	"github.com/gavel-relay/gavel/conformance/world"
)

// A relay by its command is started in a world of its own, at the address that the suite then asks.
func TestOpenStartsARelayByItsCommand(t *testing.T) {
	t.Setenv("GAVEL_TEST_RELAY", "1") // has the test below be the relay
	command := fmt.Sprintf("exec %s -test.run '^TestServeAsARelay$' {listen} {beaconUrl} {slotsPerEpoch}", os.Args[0])
	where := &target.Target{Relay: &target.Relay{Command: command}}
	if err := where.Complete(); err != nil {
		t.Fatal(err)
	}
	started, end, err := Open(t.Context(), Source{Target: where,
		World: world.Config{Slot: time.Second, SlotsPerEpoch: 4, BlobsLater: true}, Notes: t.Output()})
	if err != nil {
		t.Fatal(err)
	}
	defer end()
	answer, err := http.Get(started.Target.Relay.BuilderURL + "/eth/v1/builder/status")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if got := answer.Header.Get("Told"); answer.StatusCode != http.StatusOK ||
		!strings.HasPrefix(got, "http://127.0.0.1:") ||
		!strings.HasSuffix(got, " 4") {
		t.Errorf("%s, told %q", answer.Status, got)
	}
	c, err := world.Dial(t.Context(), started.Target.Chain.WorldURL)
	if err != nil || c.Facts.SlotsPerEpoch != 4 {
		t.Errorf("the world has %d slots in an epoch, %v", c.Facts.SlotsPerEpoch, err)
	}
}

// TestServeAsARelay is no test: it is the relay of the test above, in a process of its own.
func TestServeAsARelay(t *testing.T) {
	if os.Getenv("GAVEL_TEST_RELAY") == "" {
		t.Skip("only a process of the test above is a relay")
	}
	args := os.Args[len(os.Args)-3:]
	server := &http.Server{Addr: args[0], ReadHeaderTimeout: time.Second,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Told", strings.Join(args[1:], " "))
		})}
	t.Error(server.ListenAndServe()) // until it is killed
}

// A relay that ends, and a word that there is not, make the target unusable.
func TestOpenTellsWhyACommandFails(t *testing.T) {
	for command, want := range map[string]string{"echo no such flag; exit 2": "no such flag", "run {relays}": "{relays}"} {
		where := &target.Target{Relay: &target.Relay{Command: command}}
		_, end, err := Open(t.Context(), Source{Target: where, World: world.Config{BlobsLater: true}, Notes: t.Output()})
		end()
		var unusable UnusableError
		if !errors.As(err, &unusable) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", command, err)
		}
	}
}
