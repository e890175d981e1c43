package lease

import (
	"container/heap"
	"math/rand/v2"
	"testing"
	"time"
)

var start = time.Unix(1_800_000_000, 0)

func at(seconds float64) time.Time { return start.Add(time.Duration(seconds * float64(time.Second))) }

// taken is an instance that owns the lease since 0 s, with revision 7.
func taken(t *testing.T) *Seat {
	t.Helper()
	s := New(Config{}, "a", "host a", 0)
	if step := s.Next(at(0)); step.Kind != Look {
		t.Fatalf("it does not look first: %+v", step)
	}
	s.See(at(0), Seen{})
	step := s.Next(at(0))
	if step.Kind != Take || step.Expect != 0 || step.Record != (Record{Number: 1, Owner: "host a", ID: "a"}) {
		t.Fatalf("a free lease: %+v", step)
	}
	s.Settle(step, at(0), at(0.1), Won, 7)
	return s
}

// A term counts from before its renewal was sent, and never comes back once it was over.
func TestTermCountsFromBeforeTheRenewalWasSent(t *testing.T) {
	s := taken(t)
	if s.Term(at(7.9)) != 1 {
		t.Error("not valid within its time")
	}
	s.Settle(s.Next(at(1)), at(1), at(3), Won, 8)
	if s.Term(at(8.9)) != 1 {
		t.Error("the renewal does not count")
	}
	renewal := s.Next(at(8))
	if s.Term(at(9)) != 0 {
		t.Error("valid 8 s after the renewal was sent")
	}
	if s.Settle(renewal, at(8), at(9.1), Won, 9); s.Term(at(9.2)) != 0 {
		t.Error("a renewal whose answer came after the end brought the term back")
	}
	if step := s.Next(at(9.3)); step.Kind != Take || step.Record.Number != 2 || step.Expect != 9 {
		t.Errorf("a lease that is still its own: %+v", step)
	}
}

// A record that was lost begins above the terms that the log of facts knows.
func TestRecordThatWasLost(t *testing.T) {
	s := New(Config{}, "a", "", 40)
	s.See(at(0), Seen{})
	if step := s.Next(at(0)); step.Record.Number != 41 {
		t.Errorf("%+v", step)
	}
}

// A clock that was set forward ends a term early; one that was set back does not make it longer.
func TestClockThatIsSet(t *testing.T) {
	s := New(Config{}, "a", "", 0)
	s.See(time.Now(), Seen{})
	begin := time.Now()
	s.Settle(s.Next(begin), begin, begin, Won, 1)
	if forward := begin.Round(0).Add(time.Hour); s.Term(forward) != 0 {
		t.Error("valid an hour later by the wall")
	}
}

// Another instance takes only what stood still for longer than it is valid, as seen from here.
func TestOthersWaitLonger(t *testing.T) {
	b := New(Config{}, "b", "host b", 0)
	b.See(at(100), Seen{Revision: 7, Record: Record{Number: 1, ID: "a"}})
	b.See(at(105), Seen{Revision: 8, Record: Record{Number: 1, ID: "a", Beat: 1}})
	b.See(at(109), Seen{Revision: 7, Record: Record{Number: 1, ID: "a"}}) // an answer that was long on its way
	b.See(at(110), Seen{Revision: 8, Record: Record{Number: 1, ID: "a", Beat: 1}})
	if step := b.Next(at(114.9)); step.Kind != Look {
		t.Errorf("after 9.9 s: %+v", step)
	}
	step := b.Next(at(115))
	if step.Kind != Take || step.Expect != 8 || step.Record.Number != 2 {
		t.Errorf("after 10 s: %+v", step)
	}
	if b.Settle(step, at(115), at(115), Lost, 0); b.Next(at(115)).Kind != Look || b.Term(at(115)) != 0 {
		t.Error("it lost, and does not look who won")
	}
	b.See(at(116), Seen{Revision: 9, Record: Record{Number: 2, ID: "c", Over: true}})
	if step := b.Next(at(116)); step.Kind != Take || step.Record.Number != 3 {
		t.Errorf("after an end in order: %+v", step)
	}
}

// An owner whose renewal was not answered looks first, and goes on if the lease is still its own.
func TestRenewalWithoutAnAnswer(t *testing.T) {
	for name, c := range map[string]struct {
		now  Seen
		term uint64
	}{
		"it counts":            {Seen{8, Record{Number: 1, ID: "a", Beat: 1}}, 1},
		"it was lost":          {Seen{7, Record{Number: 1, ID: "a"}}, 1},
		"another one has it":   {Seen{9, Record{Number: 2, ID: "b"}}, 0},
		"an older version has": {Seen{9, Record{Number: 2, Owner: "host c"}}, 0},
	} {
		s := taken(t)
		s.Settle(s.Next(at(1)), at(1), at(2), Unknown, 0)
		if step := s.Next(at(2)); step.Kind != Look {
			t.Errorf("%s: %+v", name, step)
		}
		if s.See(at(3), c.now); s.Term(at(7)) != c.term || s.Term(at(8)) != 0 {
			t.Errorf("%s: term %d", name, s.Term(at(7)))
		}
	}
}

// No two instances are ever within a valid term, in 100,000 histories with instances that stand
// still, clocks that run unevenly, and requests and answers that are late or lost.
func TestModelNeverHasTwoOwners(t *testing.T) {
	terms := 0
	for seed := range uint64(histories) {
		m := &model{t: t, seed: seed, random: rand.New(rand.NewPCG(seed, 16))}
		m.run(60)
		if terms += m.terms; t.Failed() {
			return
		}
	}
	if terms < histories*3/2 {
		t.Errorf("only %d terms in %d histories: the model does nothing", terms, histories)
	}
}

// model is a journal with one record, and instances that are reached over a bad network.
type model struct {
	t         *testing.T
	seed      uint64
	random    *rand.Rand
	now       float64 // seconds of nobody's clock
	events    queue
	seen      Seen // what the journal has
	instances []*instance
	terms     int
}

type instance struct {
	seat  *Seat
	ahead float64 // of its clock
	pace  float64 // of its clock
	still float64 // until then it stands still
	asked int     // counts its requests, so that an answer after the time-out is not taken up
	last  uint64
}

func (i *instance) clock(now float64) time.Time { return at(i.ahead + now*i.pace) }

type event struct {
	at float64
	do func()
}

type queue []event

func (q queue) Len() int           { return len(q) }
func (q queue) Less(a, b int) bool { return q[a].at < q[b].at }
func (q queue) Swap(a, b int)      { q[a], q[b] = q[b], q[a] }
func (q *queue) Push(x any)        { *q = append(*q, x.(event)) }
func (q *queue) Pop() any {
	last := len(*q) - 1
	x := (*q)[last]
	*q = (*q)[:last]
	return x
}

func (m *model) after(seconds float64, do func()) { heap.Push(&m.events, event{m.now + seconds, do}) }

// on does something at an instance, which may stand still until later.
func (m *model) on(i *instance, do func()) {
	if i.still > m.now {
		m.after(i.still-m.now+0.001, func() { m.on(i, do) })
		return
	}
	do()
}

func (m *model) run(seconds float64) {
	for n := range 2 + m.random.IntN(2) {
		i := &instance{seat: New(Config{}, string(rune('a'+n)), "", 0), ahead: m.random.Float64() * 1000,
			pace: 0.95 + m.random.Float64()/10}
		m.instances = append(m.instances, i)
		m.after(m.random.Float64(), func() { m.on(i, func() { m.step(i) }) })
	}
	m.after(m.random.Float64()*40, m.trouble)
	for len(m.events) > 0 && !m.t.Failed() {
		next := heap.Pop(&m.events).(event)
		if m.now = next.at; m.now > seconds {
			return
		}
		next.do()
		m.check()
	}
}

// trouble makes an instance stand still, as a stopped process does.
func (m *model) trouble() {
	i := m.instances[m.random.IntN(len(m.instances))]
	i.still = m.now + m.random.Float64()*25
	m.after(m.random.Float64()*40, m.trouble)
}

// delay is mostly short.
func (m *model) delay() float64 {
	if m.random.IntN(20) == 0 {
		return m.random.Float64() * 12
	}
	return m.random.Float64() / 10
}

func (m *model) lost() bool { return m.random.IntN(15) == 0 }

// step does what an instance's seat says, and goes on a second later or when no answer came.
func (m *model) step(i *instance) {
	sent := i.clock(m.now)
	step := i.seat.Next(sent)
	i.asked++
	number := i.asked
	again := func() { m.after(0.5+m.random.Float64()/2, func() { m.on(i, func() { m.step(i) }) }) }
	m.after(1, func() {
		m.on(i, func() {
			if i.asked == number {
				i.asked++
				i.seat.Settle(step, sent, i.clock(m.now), Unknown, 0)
				again()
			}
		})
	})
	if m.lost() {
		return
	}
	m.after(m.delay(), func() {
		answer := m.serve(step)
		if m.lost() {
			return
		}
		m.after(m.delay(), func() {
			m.on(i, func() {
				if i.asked == number {
					i.asked++
					answer(i.seat, sent, i.clock(m.now))
					again()
				}
			})
		})
	})
}

// serve does what the journal does with a request, and returns how its answer is taken up.
func (m *model) serve(step Step) func(s *Seat, sent, at time.Time) {
	if step.Kind == Look {
		seen := m.seen
		return func(s *Seat, _, at time.Time) { s.See(at, seen) }
	}
	outcome := Lost
	if step.Expect == m.seen.Revision {
		m.seen, outcome = Seen{m.seen.Revision + 1 + m.random.Uint64N(3), step.Record}, Won
	}
	revision := m.seen.Revision
	return func(s *Seat, sent, at time.Time) { s.Settle(step, sent, at, outcome, revision) }
}

// check fails if two instances are within a valid term. One that stands still would say so, too, if
// it woke now.
func (m *model) check() {
	owners := 0
	for _, i := range m.instances {
		if term := i.seat.Term(i.clock(m.now)); term != 0 {
			owners++
			if term != i.last {
				i.last = term
				m.terms++
			}
		}
	}
	if owners > 1 {
		m.t.Errorf("history %d: %d owners after %.3f s", m.seed, owners, m.now)
	}
}
