package app

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gavel-relay/gavel/relay"
)

// lossyStream is a stream of state with one order for several instances. It keeps the last value of
// a subject. Writes take some time; some fail, and of these some are stored all the same.
type lossyStream struct {
	mu      sync.Mutex // guards what follows
	draw    *rand.Rand
	entries []stateEntry // by number, from 1 on
	healed  bool
}

type stateEntry struct {
	subject  string
	data     []byte
	replaced bool
}

func (l *lossyStream) StoreState(_ context.Context, subject string, data []byte) (uint64, error) {
	l.pause(10)
	seq, err := l.store(subject, data)
	l.pause(10) // the way of the ack
	return seq, err
}

func (l *lossyStream) store(subject string, data []byte) (uint64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	fate := l.draw.IntN(6)
	if fate == 0 && !l.healed {
		return 0, errors.New("not stored")
	}
	for i := range l.entries {
		if l.entries[i].subject == subject {
			l.entries[i].replaced = true
		}
	}
	l.entries = append(l.entries, stateEntry{subject: subject, data: slices.Clone(data)})
	if fate == 1 && !l.healed {
		return 0, errors.New("stored, but the ack was lost")
	}
	return uint64(len(l.entries)), nil
}

// pause waits up to so many milliseconds.
func (l *lossyStream) pause(ms int) {
	l.mu.Lock()
	pause := time.Duration(l.draw.IntN(ms+1)) * time.Millisecond
	l.mu.Unlock()
	time.Sleep(pause) // in the bubble of a synctest
}

// next returns the first entry behind a number that was not replaced; 0 if there is none.
func (l *lossyStream) next(after int) (seq int, entry stateEntry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := after; i < len(l.entries); i++ {
		if !l.entries[i].replaced {
			return i + 1, l.entries[i]
		}
	}
	return 0, stateEntry{}
}

// lastOf is the number of the last change of the switch that an instance has made; 0 for none.
func (l *lossyStream) lastOf(instance string) (seq int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	own := instances{app: &App{instance: instance}}
	for i, entry := range l.entries {
		if entry.subject == stateKillSwitch && own.isOwn(entry.data) {
			seq = i + 1
		}
	}
	return seq
}

func (l *lossyStream) heal() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.healed = true
}

// peer is what an instance has of the state: a switch whose order matters, and a set of demotions.
type peer struct {
	name      string
	stream    *lossyStream
	state     *state
	killed    *killSwitch
	mu        sync.Mutex // guards what follows
	demotions map[string]bool
	upTo      int
}

// Record implements relay.Facts for the switch.
func (p *peer) Record(fact relay.Fact) { p.state.Record(fact) }

func (p *peer) demote(rule string) {
	p.add(rule)
	p.state.Record(relay.BuilderDemoted{Name: "alpha", Demotion: relay.Demotion{Rule: rule}})
}

func (p *peer) add(rule string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.demotions[rule] = true
}

// hear applies what comes, as instances does, until the context ends.
func (p *peer) hear(ctx context.Context, t *testing.T) {
	own := instances{app: &App{instance: p.name}}
	for ctx.Err() == nil {
		p.stream.pause(15)
		seq, entry := p.stream.next(p.heard())
		if seq == 0 {
			time.Sleep(time.Millisecond)
			continue
		}
		switch {
		case entry.subject == stateKillSwitch:
			change, err := decodeFact[relay.KillSwitchChanged](entry.data)
			if err != nil {
				t.Error(err)
			}
			_ = p.state.inTurn(ctx, uint64(seq), entry.subject, func(counts func() bool) bool {
				p.stream.pause(5) // a change of this instance may come right now
				return p.killed.adopt(change.On, func() bool {
					last := counts()
					if own := p.stream.lastOf(p.name); last && own > seq {
						t.Errorf("%s: change %d undoes its own change %d", p.name, seq, own)
					}
					return last
				})
			})
		case !own.isOwn(entry.data):
			demoted, err := decodeFact[relay.BuilderDemoted](entry.data)
			if err != nil {
				t.Error(err)
			}
			_ = p.state.noteDemotion(ctx, entry.subject, uint64(seq))
			p.add(demoted.Rule)
		}
		p.mu.Lock()
		p.upTo = seq
		p.mu.Unlock()
	}
}

func (p *peer) heard() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.upTo
}

// Whatever three instances change at the same time, over a journal that fails and delays: they end
// with the switch as the journal has it last, no demotion is lost in the journal, and each instance
// knows all of them.
func TestStateOfInstancesEndsAlike(t *testing.T) {
	for seed := range uint64(300) {
		synctest.Test(t, func(t *testing.T) { changeAtOnce(t, seed) })
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

func changeAtOnce(t *testing.T, seed uint64) {
	stream := &lossyStream{draw: rand.New(rand.NewPCG(seed, 0))}
	ctx, end := context.WithCancel(t.Context())
	var peers []*peer
	var hearing, changes sync.WaitGroup
	var demoted []string
	for _, name := range []string{"a", "b", "c"} {
		p := &peer{name: name, stream: stream, demotions: map[string]bool{}}
		p.state = newState(stream, factEncoder{name}, slog.New(slog.DiscardHandler))
		p.killed = &killSwitch{facts: p}
		peers = append(peers, p)
		hearing.Go(func() { p.hear(ctx, t) })
		script := rand.New(rand.NewPCG(seed, uint64(name[0])))
		for i := range 4 {
			demoted = append(demoted, name+string(rune('0'+i)))
		}
		changes.Go(func() {
			for i := range 4 {
				time.Sleep(time.Duration(script.IntN(40)) * time.Millisecond)
				p.killed.Set(time.Time{}, script.IntN(2) == 0, name)
				time.Sleep(time.Duration(script.IntN(40)) * time.Millisecond)
				p.demote(name + string(rune('0'+i)))
			}
		})
	}
	changes.Wait()
	stream.heal()
	for _, p := range peers {
		if err := p.state.Kept(ctx); err != nil {
			t.Error(err)
		}
	}
	time.Sleep(3 * time.Second) // all is heard, and what was displaced is stored again
	end()
	hearing.Wait()
	for _, p := range peers {
		if err := p.state.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
	wantAlike(t, stream, peers, demoted)
}

func wantAlike(t *testing.T, stream *lossyStream, peers []*peer, demoted []string) {
	t.Helper()
	last, kept := false, map[string]bool{}
	for seq, entry := stream.next(0); seq != 0; seq, entry = stream.next(seq) {
		if entry.subject == stateKillSwitch {
			change, err := decodeFact[relay.KillSwitchChanged](entry.data)
			if err != nil {
				t.Error(err)
			}
			last = change.On
			continue
		}
		d, err := decodeFact[relay.BuilderDemoted](entry.data)
		if err != nil {
			t.Error(err)
		}
		kept[d.Rule] = true
	}
	for _, rule := range demoted {
		if !kept[rule] {
			t.Errorf("demotion %s is not in the journal", rule)
		}
		for _, p := range peers {
			if !p.demotions[rule] {
				t.Errorf("%s does not know of demotion %s", p.name, rule)
			}
		}
	}
	for _, p := range peers {
		if p.killed.On() != last {
			t.Errorf("%s: the switch is %t, the journal has %t", p.name, p.killed.On(), last)
		}
	}
}
