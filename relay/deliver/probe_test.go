package deliver

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gavel-relay/gavel/internal/clock"
	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/relay"
)

// probed is a probe of two parts, which can be made to fail, or to answer late or never. Real parts
// do neither on command.
type probed struct {
	*Probe
	began time.Time

	mu    sync.Mutex // guards what follows
	err   map[string]error
	takes map[string]time.Duration
	tests map[string][]time.Duration // since the begin
	facts []string
}

func (p *probed) Record(fact relay.Fact) {
	f := fact.(relay.DeliveryPathChanged)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.facts = append(p.facts, strings.TrimSpace(fmt.Sprint(time.Since(p.began), " ", f.Part, " ", f.Works, " ", f.Detail)))
}

func (p *probed) set(part string, err error, takes time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.err[part], p.takes[part] = err, takes
}

func (p *probed) part(name string) Part {
	return Part{name, func(ctx context.Context) error {
		p.mu.Lock()
		p.tests[name] = append(p.tests[name], time.Since(p.began))
		err, takes := p.err[name], p.takes[name]
		p.mu.Unlock()
		select {
		case <-ctx.Done():
			return fmt.Errorf("ask: %w", ctx.Err())
		case <-time.After(takes):
			return err
		}
	}}
}

// at lets the time pass up to a moment since the begin, and all that happens in it.
func (p *probed) at(since time.Duration) {
	time.Sleep(time.Until(p.began.Add(since))) // virtual
	synctest.Wait()
}

func (p *probed) wantFault(t *testing.T, want string) {
	t.Helper()
	got := ""
	if err := p.Fault(); err != nil {
		got = err.Error()
	}
	if got != want || p.Broken() != (want != "") {
		t.Errorf("after %v: fault %q, want %q", time.Since(p.began), got, want)
	}
}

// probing runs a probe from the begin of a slot of 12 s on.
func probing(t *testing.T, test func(*testing.T, *probed)) {
	synctest.Test(t, func(t *testing.T) {
		p := &probed{began: time.Now(), err: map[string]error{}, takes: map[string]time.Duration{},
			tests: map[string][]time.Duration{}}
		spec := &eth.Spec{GenesisTime: p.began, SlotDuration: 12 * time.Second}
		p.Probe = NewProbe(clock.Real{}, spec, p, slog.New(slog.DiscardHandler), p.part("guard"), p.part("escrow"))
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- p.Run(ctx) }()
		synctest.Wait()
		test(t, p)
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// All is tested before each slot; nothing is told while all is well.
func TestProbeTestsEverySlot(t *testing.T) {
	probing(t, func(t *testing.T, p *probed) {
		p.at(33 * time.Second)
		want := []time.Duration{0, 8 * time.Second, 20 * time.Second, 32 * time.Second}
		if !slices.Equal(p.tests["guard"], want) || !slices.Equal(p.tests["escrow"], want) || len(p.facts) != 0 {
			t.Errorf("tested at %v and %v, want %v; told %q", p.tests["guard"], p.tests["escrow"], want, p.facts)
		}
	})
}

// A part that fails is told of once, tested every second, and told of once when it is back.
func TestPartThatFails(t *testing.T) {
	probing(t, func(t *testing.T, p *probed) {
		p.set("escrow", fmt.Errorf("write: %w", &fs.PathError{Op: "write", Path: "/secret/place", Err: syscall.ENOSPC}), 0)
		p.at(7 * time.Second)
		p.wantFault(t, "")
		p.at(11 * time.Second)
		p.wantFault(t, "the escrow: no space left on device")
		p.set("escrow", nil, 0)
		p.at(12 * time.Second)
		p.wantFault(t, "")
		p.at(19 * time.Second)
		want := []time.Duration{0, 8 * time.Second, 9 * time.Second, 10 * time.Second, 11 * time.Second, 12 * time.Second}
		if !slices.Equal(p.tests["escrow"], want) {
			t.Errorf("tested at %v, want %v", p.tests["escrow"], want)
		}
		if told := []string{"8s escrow false no space left on device", "12s escrow true"}; !slices.Equal(p.facts, told) {
			t.Errorf("told %q, want %q", p.facts, told)
		}
	})
}

// A part without an answer is at fault after a second, and well again with an answer, however late;
// it holds up no other.
func TestPartThatIsSilent(t *testing.T) {
	probing(t, func(t *testing.T, p *probed) {
		p.set("guard", nil, 2500*time.Millisecond)
		p.at(8*time.Second + 999*time.Millisecond)
		p.wantFault(t, "")
		p.at(9 * time.Second)
		p.wantFault(t, "the guard: no answer within 1s")
		p.set("escrow", errors.New("no"), 0)
		p.at(10 * time.Second)
		p.set("guard", nil, 0)
		p.at(11 * time.Second)
		p.wantFault(t, "the escrow: no")
		p.set("escrow", nil, 0)
		p.set("guard", nil, time.Hour)
		p.at(30 * time.Second)
		p.wantFault(t, "the guard: no answer within 1s")
		p.set("guard", nil, 0)
		p.at(40 * time.Second) // the test that hangs is given up meanwhile
		p.wantFault(t, "")
		want := []string{
			"9s guard false no answer within 1s", "10s escrow false no", "10.5s guard true", "12s escrow true",
			"13s guard false no answer within 1s",
		}
		if len(p.facts) != 6 || !slices.Equal(p.facts[:5], want) || !strings.HasSuffix(p.facts[5], "guard true") {
			t.Errorf("told %q, want %q and that the guard is back", p.facts, want)
		}
	})
}

// Whoever meets an error has the parts tested at once.
func TestSuspicion(t *testing.T) {
	probing(t, func(t *testing.T, p *probed) {
		p.set("guard", errors.New("gone"), 0)
		p.at(time.Second)
		p.wantFault(t, "")
		for range 5 {
			p.Suspect()
			synctest.Wait()
		}
		p.wantFault(t, "the guard: gone")
		p.set("guard", nil, 0)
		p.at(5 * time.Second)
		for range 5 {
			p.Suspect()
			synctest.Wait()
		}
		p.at(5500 * time.Millisecond)
		want := []time.Duration{0, time.Second, 2 * time.Second, 3 * time.Second, 5 * time.Second}
		if !slices.Equal(p.tests["guard"], want) {
			t.Errorf("tested at %v, want %v: many errors are one reason", p.tests["guard"], want)
		}
	})
}
