package app_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gavel-relay/gavel/internal/clock/clocktest"
	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/relay/app"
)

// victimEnv, in the environment, makes this test binary a relay that is killed.
const victimEnv = "GAVEL_TEST_RELAY"

// victim is what such a relay is told.
type victim struct {
	DataDir    string
	BeaconURLs []string
	Now        time.Time
}

// runVictim serves at a port of its own, which it says, until it is killed.
func runVictim(told string) error {
	var v victim
	if err := json.Unmarshal([]byte(told), &v); err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // the test is gone
		stop()
	}()
	cfg := app.Config{
		Key: relayKey, Clock: clocktest.NewManual(v.Now), RevealDelay: -1, ValidationTimeout: time.Minute,
		PublishTimeout: time.Minute, Validator: believing{},
		BeaconURLs: v.BeaconURLs, DataDir: v.DataDir,
	}
	trusting(&cfg)
	a, err := app.New(ctx, cfg)
	if err != nil {
		return err
	}
	listener, err := (new(net.ListenConfig)).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return errors.Join(err, a.Close())
	}
	fmt.Println("http://" + listener.Addr().String())
	return errors.Join(a.Serve(ctx, listener), a.Close())
}

// startVictim runs a relay on a folder as a process of its own, to which the tests speak from now
// on; kill is SIGKILL.
func (h *relayUnderTest) startVictim(t *testing.T, folder string) (kill func()) {
	t.Helper()
	told, err := json.Marshal(victim{folder, h.cfg.BeaconURLs, h.clock.Now()})
	must(t, err)
	process := exec.CommandContext(t.Context(), os.Args[0])
	process.Env, process.Stderr = append(os.Environ(), victimEnv+"="+string(told)), os.Stderr
	_, err = process.StdinPipe()
	must(t, err)
	out, err := process.StdoutPipe()
	must(t, err)
	must(t, process.Start())
	kill = sync.OnceFunc(func() {
		_ = process.Process.Kill() // it may have ended by itself
		_ = process.Wait()         // says that it was killed
	})
	t.Cleanup(kill)
	line, err := bufio.NewReader(out).ReadString('\n')
	must(t, err)
	h.relayURL = strings.TrimSpace(line)
	return kill
}

// A relay that is killed when a beacon node has its block, and it has no answer yet, has published,
// and neither revealed nor listed. Started again it is asked for the same, as sidecars do: the node
// refuses the block, since it has it; the payload is revealed, and listed once. Another block of
// the slot stays refused.
func TestKilledBetweenPublicationAndAnswer(t *testing.T) {
	for _, path := range []string{v1Path, v2Path} {
		t.Run(path, func(t *testing.T) {
			folder := t.TempDir() // before the relay, which is closed before it is removed
			h := newRelay(t, eth.Fulu, relayOptions{refusesKnown: true, configure: func(c *app.Config) {
				trusting(c)
				c.DataDir = folder
			}})
			block := h.offered(t, h.worth(t, 1, 1000))
			other := h.blind(t, h.header(t))
			other.body()["graffiti"] = "0x" + strings.Repeat("11", 32)
			_, proposer := h.duty(h.slot)
			other.sign(t, proposer, h.spec.ProposerDomain(h.slot))
			must(t, h.stopRelay())

			has := make(chan struct{}, len(h.fronts))
			for _, f := range h.fronts { // the node takes the block, and its answer never comes
				f.answers(func(_ http.ResponseWriter, r *http.Request) {
					said := httptest.NewRecorder()
					f.beacon.ServeHTTP(said, r)
					if said.Code == http.StatusOK {
						has <- struct{}{}
					}
					<-r.Context().Done()
				})
			}
			kill := h.startVictim(t, folder)
			asked := h.goPostUnanswered(t, path, block)
			<-has
			kill()
			if err := <-asked; err == nil {
				t.Error("there was an answer")
			}

			for _, f := range h.fronts {
				f.answers(nil)
			}
			h.startVictim(t, folder)
			h.reveal(t, path, block).wantStatus(t, statusOf(path))
			h.reveal(t, path, other).wantRefusal(t, relay.PayloadOther, "")
			poll(t, "the delivery is listed", func() bool { return h.deliveries(t) > 0 })
			h.reveal(t, path, block).wantStatus(t, statusOf(path))
			if got := h.deliveries(t); got != 1 {
				t.Errorf("%d deliveries are listed, want 1", got)
			}
		})
	}
}

// goPostUnanswered asks for a payload in the background, and tells why there was no answer.
func (h *relayUnderTest) goPostUnanswered(t *testing.T, path string, b *blinded) <-chan error {
	t.Helper()
	header, body := sszHeader(b.fork), b.ssz(t)
	done := make(chan error, 1)
	go func() {
		_, err := h.try(context.WithoutCancel(t.Context()), http.MethodPost, path, header, body)
		done <- err
	}()
	return done
}
