package app_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holiman/uint256"
	"golang.org/x/sync/errgroup"

	"github.com/gavel-relay/gavel/internal/clock"
	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/serve"
	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/relay/app"
)

// victimEnv, in the environment, makes this test binary a relay that is killed.
const victimEnv = "GAVEL_TEST_RELAY"

// victim is what such a relay is told.
type victim struct {
	DataDir    string
	Cluster    string // URL of the journal; empty for one in the folder
	BeaconURLs []string
	Now        time.Time
}

// runVictim serves at ports of its own, the public one and the operator's, which it says, until it
// is killed.
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
		Key: relayKey, Clock: clock.NewStepped(v.Now), RevealDelay: -1, ValidationTimeout: time.Minute,
		PublishTimeout: time.Minute, Validator: believing{},
		BeaconURLs: v.BeaconURLs, DataDir: v.DataDir,
	}
	trusting(&cfg)
	if v.Cluster != "" {
		onCluster(&cfg, v.Cluster)
	}
	a, err := app.New(ctx, cfg)
	if err != nil {
		return err
	}
	public, publicErr := serve.Listen("127.0.0.1:0")
	operators, operatorsErr := serve.Listen("127.0.0.1:0")
	if err := errors.Join(publicErr, operatorsErr); err != nil {
		return errors.Join(err, a.Close())
	}
	fmt.Printf("http://%s http://%s\n", public.Addr(), operators.Addr())
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return serve.Serve(ctx, operators, a.Admin(), serve.Options{}) })
	group.Go(func() error { return a.Serve(ctx, public) })
	return errors.Join(group.Wait(), a.Close())
}

// startVictim runs a relay on a folder as a process of its own, to which the tests speak from now
// on; kill is SIGKILL.
func (h *relayUnderTest) startVictim(t *testing.T, folder string) (kill func()) {
	t.Helper()
	told, err := json.Marshal(victim{folder, h.cfg.Journal.URL, h.cfg.BeaconURLs, h.clock.Now()})
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
	h.relayURL, h.operatorsURL, _ = strings.Cut(strings.TrimSpace(line), " ")
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

// What the operator was answered holds after a kill -9 that comes with the answer: who is suspended
// or trusted again, and whether headers are served. So does a demotion, with what it was for.
//
//gavel:fault kill
func TestStateOutlivesAKill(t *testing.T) {
	const rounds = 6
	folder := t.TempDir() // before the relay, which is closed before it is removed
	h := newRelay(t, eth.Fulu, relayOptions{configure: func(c *app.Config) {
		trusting(c)
		c.DataDir = folder
	}})
	bluff := h.worth(t, 0, 1000)
	bluff.trace.Value = uint256.NewInt(2 * bluffWei)
	bluff.sign()
	must(t, h.stopRelay())
	holds := func(request, want string) {
		t.Helper()
		if got := h.admin(t, request, ""); !strings.Contains(string(got.body), want) {
			t.Errorf("after the kill: %s, want %s", got, want)
		}
	}
	for round := range rounds {
		kill := h.startVictim(t, folder)
		suspend, on := round%2 == 0, round%2 == 0
		do := map[bool]string{true: "suspend", false: "promote"}[suspend]
		h.admin(t, "POST /admin/v1/builders/alpha/"+do, `{"why":"kill -9"}`).wantStatus(t, http.StatusOK)
		kill()
		kill = h.startVictim(t, folder)
		holds("GET /admin/v1/builders/alpha", fmt.Sprintf(`"optimistic":%t`, !suspend))
		h.admin(t, "PUT /admin/v1/kill-switch", fmt.Sprintf(`{"on":%t,"why":"kill -9"}`, on)).wantStatus(t, http.StatusOK)
		kill()
		kill = h.startVictim(t, folder)
		holds("GET /admin/v1/status", fmt.Sprintf(`"kill_switch":%t`, on))
		kill()
	}
	kill := h.startVictim(t, folder)
	poll(t, "the relay takes the bluff", func() bool { return h.submit(t, bluff).status == http.StatusOK })
	poll(t, "the builder is demoted", func() bool { return len(h.demotions(t)) == 1 })
	// What is answered says that all before it is kept.
	h.admin(t, "PUT /admin/v1/kill-switch", `{"on":true,"why":"kill -9"}`).wantStatus(t, http.StatusOK)
	kill()
	h.startVictim(t, folder)
	holds("GET /admin/v1/builders/alpha", `"optimistic":false`)
	if list := h.demotions(t); len(list) != 1 || list[0].BlockHash != bluff.payload.BlockHash {
		t.Errorf("after the kill the demotions are %+v", list)
	}
}
