package lease

import (
	"cmp"
	"time"
)

// Config has the times of a lease. All instances of one journal need the same ones. The comments
// name the defaults for zero values.
type Config struct {
	// Renew is how often the owner renews and the others look: 1 s.
	Renew time.Duration
	// Valid is how long a renewal counts, from before it was sent: 8 s.
	Valid time.Duration
	// Take is how long a revision must stand before another instance takes the lease: 10 s. It is
	// longer than Valid.
	Take time.Duration
}

// WithDefaults returns the times with the defaults for those that are zero.
func (c Config) WithDefaults() Config {
	c.Renew = cmp.Or(c.Renew, time.Second)
	c.Valid = cmp.Or(c.Valid, 8*c.Renew)
	c.Take = cmp.Or(c.Take, c.Valid+c.Valid/4)
	return c
}

// Record says who owns the orders. The names in JSON are those of the first version, which had one
// instance for each journal: it refuses a journal whose record changes.
type Record struct {
	// Number is the term: each time that the lease is taken it is one more.
	Number uint64 `json:"number"`
	// Owner is for people; ID is the owner's, another one for each run of an instance.
	Owner string `json:"owner"`
	ID    string `json:"id,omitempty"`
	// Beat counts the renewals of a term.
	Beat uint64 `json:"beat"`
	// Over says that the owner has stopped in order: another one need not wait.
	Over bool `json:"over,omitempty"`
}

// Seen is what an instance has read: the revision of the record in the journal, 0 if there is none,
// and the record.
type Seen struct {
	Revision uint64
	Record   Record
}

// Kind is what an instance should do now.
type Kind int

// The kinds. Look: read the record. Take and Renew: write Step.Record, if the revision is still
// Step.Expect.
const (
	Look Kind = iota
	Take
	Renew
)

// Step is what an instance should do now.
type Step struct {
	Kind   Kind
	Expect uint64
	Record Record
}

// Outcome is what became of a write.
type Outcome int

// The outcomes. Unknown: no answer came, the write may count or may yet come to count.
const (
	Won Outcome = iota
	Lost
	Unknown
)

// Seat is an instance's view of the lease. It is not safe for concurrent use.
type Seat struct {
	cfg       Config
	id, owner string
	floor     uint64

	seen   Seen
	since  time.Time // when the revision was first seen here
	looked bool      // seen has been read, and no write since then has an unknown outcome
	term   uint64    // the own term; 0 while this instance is not the owner
	from   time.Time // the own term is valid from here for Config.Valid
}

// New makes the seat of an instance with an id that nobody else has. owner is its name for people.
// Its terms are above floor, which is known of another source: a record may have been lost.
func New(cfg Config, id, owner string, floor uint64) *Seat {
	return &Seat{cfg: cfg.WithDefaults(), id: id, owner: owner, floor: floor}
}

// Seen is the record that was seen last.
func (s *Seat) Seen() Seen { return s.seen }

// Until is when the own term ends unless it is renewed; zero without a term.
func (s *Seat) Until() time.Time {
	if s.term == 0 {
		return time.Time{}
	}
	return s.from.Add(s.cfg.Valid)
}

// Term is the number of the own term if it is valid, else 0. A term that was once not valid never
// is again.
func (s *Seat) Term(at time.Time) uint64 {
	if s.term != 0 && !within(s.from, at, s.cfg.Valid) {
		s.term = 0
	}
	return s.term
}

// Silent says that the owner that was seen may not be there any more: its record has not changed
// for as long as it is valid.
func (s *Seat) Silent(at time.Time) bool {
	return s.seen.Record.Number == 0 || s.seen.Record.Over || !within(s.since, at, s.cfg.Valid)
}

// See takes up a record that was read. at is when its answer came.
func (s *Seat) See(at time.Time, seen Seen) {
	s.looked = true
	if seen.Revision < s.seen.Revision {
		return // an older read that came late
	}
	if seen.Revision != s.seen.Revision {
		s.since = at
	}
	s.seen = seen
	if s.term != 0 && !s.isOwn() {
		s.term = 0 // another one has taken the lease
	}
}

// isOwn says whether the record that was seen is of the own term.
func (s *Seat) isOwn() bool { return s.seen.Record.ID == s.id && s.seen.Record.Number == s.term }

// Next says what to do now.
func (s *Seat) Next(at time.Time) Step {
	record := s.seen.Record
	switch {
	case !s.looked:
		return Step{Kind: Look}
	case s.Term(at) != 0:
		record.Beat++
		return Step{Kind: Renew, Expect: s.seen.Revision, Record: record}
	case s.mayTake(at):
		return Step{Kind: Take, Expect: s.seen.Revision,
			Record: Record{Number: max(record.Number, s.floor) + 1, Owner: s.owner, ID: s.id}}
	}
	return Step{Kind: Look}
}

// mayTake says whether nobody else can be within a valid term. A record of this instance itself is
// of a term that it has lost.
func (s *Seat) mayTake(at time.Time) bool {
	return s.seen.Record.Number == 0 || s.seen.Record.Over || s.seen.Record.ID == s.id ||
		!within(s.since, at, s.cfg.Take)
}

// Settle takes up what became of a write that was begun at sent; at is when that was known. For a
// write that was won, revision is the new one.
func (s *Seat) Settle(step Step, sent, at time.Time, outcome Outcome, revision uint64) {
	if step.Kind == Look {
		return
	}
	if outcome != Won {
		s.looked = false
		return
	}
	s.seen, s.since = Seen{Revision: revision, Record: step.Record}, at
	switch {
	case step.Kind == Renew && s.Term(at) == step.Record.Number:
		s.from = sent
	case step.Kind == Take && within(sent, at, s.cfg.Valid):
		s.term, s.from = step.Record.Number, sent
	}
}

// Release returns the write that ends the own term in order; false if there is none to end.
func (s *Seat) Release(at time.Time) (Step, bool) {
	if s.Term(at) == 0 || !s.looked {
		return Step{}, false
	}
	record := s.seen.Record
	record.Over = true
	return Step{Kind: Renew, Expect: s.seen.Revision, Record: record}, true
}

// Leave gives the own term up without a word.
func (s *Seat) Leave() { s.term = 0 }

// within says whether less than span has passed since begin. It takes the clock of the process,
// which a machine may stop while it sleeps, and the wall clock, and believes the one that says
// more.
func within(begin, at time.Time, span time.Duration) bool {
	return at.Sub(begin) < span && at.Round(0).Sub(begin.Round(0)) < span
}
