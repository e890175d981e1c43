package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/gavel-relay/gavel/internal/journal"
	"github.com/gavel-relay/gavel/rpc"
	"github.com/gavel-relay/gavel/rpc/ledger"
	"github.com/gavel-relay/gavel/rpc/pool"
)

// The snapshot has what a start needs of the facts: facts, and signers under a subject that no fact
// has.
const (
	snapshotState = subjectPrefix + "snapshot"
	signerItem    = subjectPrefix + "signer"
)

// When a snapshot is taken. All durations are wall time.
const (
	// leastFacts is how many new facts a snapshot needs at least; it also needs twice as many as
	// the last snapshot has. So a start reads at most three times what is alive, and the cost of
	// writing snapshots is proportional to the number of facts.
	leastFacts = 20_000
	// snapshotEvery is how old a snapshot becomes, if there are new facts.
	snapshotEvery = 10 * time.Minute
	// lookEvery is how often the journal is asked which facts it has forgotten.
	lookEvery = time.Second
	// snapshotPause is the wait after a failed snapshot; snapshotPatience is how long taking one
	// may last.
	snapshotPause    = 5 * time.Second
	snapshotPatience = time.Minute
	// gathered is how many facts wait for the snapshot's projections before keep is woken.
	gathered = 1024
)

// snapshots store what a start needs in the journal's state, so that the journal may forget its
// facts, and a start reads little:
//
//	facts  ── ─ ── ─── ── StateKept ── ─ ── ─      a start: the snapshot, then the facts behind its StateKept
//	                          ▲
//	snapshot ── the facts before it that are needed (pool.Compaction), and the signers' sums (reputation.Projection)
//
// It has projections of its own, which get the facts in the order of the journal. Only the
// goroutine of keep uses them, so recording a fact never waits for them.
type snapshots struct {
	journal *journal.Journal
	facts   *facts
	log     *slog.Logger
	list    paged
	// bounds are those of the journal's log.
	bounds journal.LogInfo

	needed *pool.Compaction
	users  *ledger.Reputation
	count  uint64 // of facts that were applied to the projections
	// wanted is the number of the snapshot that is being taken. frozen is its content, once its
	// StateKept has come.
	wanted uint64
	frozen *frozen
	last   lastSnapshot
	// crowded says that so many facts came, of any kind, that the journal will soon forget those
	// after the snapshot. retry is when the next snapshot may be tried.
	crowded bool
	retry   time.Time

	// least is leastFacts, or less in tests.
	least int

	mu     sync.Mutex // guards what follows
	coming []rpc.Fact
	// covered are the bytes of this run's facts up to the last snapshot; reported are the bytes at
	// which keep was last woken.
	covered, reported int64
	done              chan struct{} // closed with the next snapshot
	wake              chan struct{}
}

// lastSnapshot is what is known of the last one.
type lastSnapshot struct {
	note  snapshotNote
	at    time.Time
	count uint64 // the count of facts at that time
	items int
}

// snapshotNote is stored with a snapshot.
type snapshotNote struct {
	Number uint64 `json:"number"`
	// Journal is the log's identity; Sequence is the number of the snapshot's StateKept in
	// it.
	Journal  string `json:"journal"`
	Sequence uint64 `json:"place"`
}

// frozen is the content of a snapshot.
type frozen struct {
	facts   []rpc.Fact
	signers []ledger.SavedReputation
	count   uint64
	bytes   int64
}

func newSnapshots(j *journal.Journal, state stateStore, to *facts, log *slog.Logger, maxOrders int) *snapshots {
	return &snapshots{
		journal: j, facts: to, log: log, list: newPaged(state, snapshotState), wake: make(chan struct{}, 1),
		done: make(chan struct{}), last: lastSnapshot{at: time.Now()},
		least: leastFacts,
		// Of ended orders it keeps only those that a reorganisation may bring back. The ledger
		// reports the status of others.
		needed: pool.NewCompaction(pool.Config{MaxOrders: maxOrders, KeepFinal: 2}),
		users:  ledger.NewReputation(ledger.ReputationConfig{}),
	}
}

// observe gets each fact of this run, in the order of the journal.
func (s *snapshots) observe(fact rpc.Fact) {
	_, mark := fact.(rpc.StateKept)
	bytes := s.facts.bytes.Load()
	s.mu.Lock()
	s.coming = append(s.coming, fact)
	full := s.bounds.MaxBytes > 0 && bytes-max(s.reported, s.covered) >= s.bounds.MaxBytes/4
	if full {
		s.reported = bytes
	}
	wake := mark || full || len(s.coming) == gathered
	s.mu.Unlock()
	if wake {
		select {
		case s.wake <- struct{}{}:
		default:
		}
	}
}

// safe waits while so much was written since the last snapshot that the journal could forget facts
// after it, at most so long (wall time). So no answer promises anything that could be forgotten.
func (s *snapshots) safe(patience time.Duration) error {
	var late <-chan time.Time // without a timer unless there is something to wait for
	for {
		s.mu.Lock()
		open := s.bounds.MaxBytes > 0 && s.facts.bytes.Load()-s.covered >= s.bounds.MaxBytes/2
		done := s.done
		s.mu.Unlock()
		if !open {
			return nil
		}
		if late == nil {
			timer := time.NewTimer(patience)
			defer timer.Stop()
			late = timer.C
		}
		select {
		case <-done:
		case <-late:
			return fmt.Errorf("wait for a snapshot: %w", context.DeadlineExceeded)
		}
	}
}

// drain applies the facts that came to the projections.
func (s *snapshots) drain() {
	s.mu.Lock()
	batch := s.coming
	s.coming = nil
	s.mu.Unlock()
	for _, fact := range batch {
		s.apply(fact, fact)
	}
}

// apply applies a fact; kept is what the snapshot has of it.
func (s *snapshots) apply(fact, kept rpc.Fact) {
	s.count++
	s.needed.Apply(kept)
	s.users.Apply(fact)
	if mark, ok := fact.(rpc.StateKept); ok && mark.Number == s.wanted {
		s.frozen = &frozen{facts: s.needed.Facts(), signers: slices.Collect(s.users.Save()), count: s.count,
			bytes: s.facts.bytes.Load()}
	}
}

// keep takes snapshots until the context ends, and then a last one.
func (s *snapshots) keep(ctx context.Context) error {
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for {
		select {
		case <-s.wake:
		case <-look.C:
			s.checkJournal(ctx)
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), ackPatience)
			defer cancel()
			s.try(last, func() bool { return s.count > s.last.count })
			return nil
		}
		s.try(ctx, s.due)
	}
}

// try takes a snapshot if one is due. A failed one is tried again; nothing is lost as long as the
// journal has the facts.
func (s *snapshots) try(ctx context.Context, due func() bool) {
	s.drain()
	if time.Now().Before(s.retry) || !due() {
		return
	}
	timed, cancel := context.WithTimeout(ctx, snapshotPatience)
	defer cancel()
	if err := s.take(timed); err != nil && !errors.Is(err, context.Canceled) {
		s.retry = time.Now().Add(snapshotPause)
		s.log.Error("what a start needs was not kept as state; the facts have it", "error", err)
	}
}

// checkJournal finds out whether the journal will soon forget facts after the last snapshot.
func (s *snapshots) checkJournal(ctx context.Context) {
	extent, err := s.journal.LogInfo(ctx)
	if err != nil {
		return // other parts report a journal that is unavailable
	}
	s.crowded = extent.First > 1 && extent.Last > s.last.note.Sequence &&
		s.last.note.Sequence < extent.First+(extent.Last-extent.First)/2
}

func (s *snapshots) due() bool {
	since := s.count - s.last.count
	room := s.bounds.MaxBytes
	s.mu.Lock()
	fresh := s.facts.bytes.Load() - s.covered
	s.mu.Unlock()
	every := snapshotEvery
	if age := s.bounds.MaxAge; age > 0 {
		every = min(every, age/4)
	}
	return since >= uint64(max(s.least, 2*s.last.items)) || room > 0 && fresh >= room/4 ||
		since > 0 && time.Since(s.last.at) >= every || s.crowded
}

// take takes a snapshot of everything that was recorded before its StateKept.
func (s *snapshots) take(ctx context.Context) error {
	s.wanted, s.frozen = s.last.note.Number+1, nil
	defer func() { s.wanted, s.frozen = 0, nil }()
	receipt := s.facts.PutAcked(rpc.StateKept{At: time.Now(), Number: s.wanted})
	if err := receipt.Wait(ctx); err != nil {
		return fmt.Errorf("mark the state of a snapshot: %w", err)
	}
	for s.drain(); s.frozen == nil; s.drain() { // the ack may come before the queue has passed the fact to observe
		select {
		case <-s.wake:
		case <-ctx.Done():
			return fmt.Errorf("take a snapshot: %w", ctx.Err())
		}
	}
	sequence, err := s.sequenceOf(ctx, s.wanted)
	if err != nil {
		return err
	}
	note := snapshotNote{Number: s.wanted, Journal: s.journal.ID(), Sequence: sequence}
	items, held := 0, s.frozen
	err = s.list.put(ctx, note, func(yield func([]byte, error) bool) {
		for item, err := range held.items() {
			if items++; items%gathered == 0 {
				s.drain()
			}
			if !yield(item, err) {
				return
			}
		}
	})
	if err != nil {
		return fmt.Errorf("keep a snapshot: %w", err)
	}
	s.last = lastSnapshot{note: note, at: time.Now(), count: held.count, items: items}
	s.crowded = false
	s.mu.Lock()
	defer s.mu.Unlock()
	s.covered = held.bytes
	close(s.done)
	s.done = make(chan struct{})
	return nil
}

// sequenceOf is the sequence number of the StateKept with a number.
func (s *snapshots) sequenceOf(ctx context.Context, number uint64) (uint64, error) {
	sequence, data, err := s.journal.LastWithSeq(ctx, subjectPrefix+rpc.StateKept{}.Subject())
	if err != nil {
		return 0, err
	}
	var mark rpc.StateKept
	if err := json.Unmarshal(data, &mark); err != nil {
		return 0, fmt.Errorf("decode the mark of a snapshot: %w", err)
	}
	if mark.Number != number {
		return 0, fmt.Errorf("the newest snapshot is %d, not %d", mark.Number, number)
	}
	return sequence, nil
}

// items returns the items of the list, each with its subject. An item is valid until the next one.
func (f *frozen) items() iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		var encoder encoder
		var room []byte
		item := func(subject string, data []byte) []byte {
			room = appendItem(room[:0], subject, data)
			return room
		}
		for _, fact := range f.facts {
			subject, data, err := encoder.encode(fact)
			if !yield(item(subject, data), err) {
				return
			}
		}
		for _, signer := range f.signers {
			data, err := json.Marshal(signer)
			if !yield(item(signerItem, data), err) {
				return
			}
		}
	}
}

// appendItem encodes a named, without reflection.
func appendItem(to []byte, subject string, data []byte) []byte {
	to = append(append(to, `{"subject":"`...), subject...)
	to = append(append(to, `","fact":`...), data...)
	return append(to, '}')
}

// restore passes on the content of the last snapshot. It returns the sequence number after which
// the facts continue, 0 if there is no snapshot.
func (s *snapshots) restore(ctx context.Context, fact func(rpc.Fact),
	signer func(ledger.SavedReputation)) (sequence uint64, err error) {
	var note snapshotNote
	items := 0
	err = s.list.read(ctx, &note, func(data []byte) error {
		var n named
		if err := json.Unmarshal(data, &n); err != nil {
			return err
		}
		items++
		if n.Subject != signerItem {
			return decodeFacts(n.Subject, n.Fact, func(f, kept rpc.Fact) {
				s.needed.Apply(kept)
				fact(f)
			})
		}
		var saved ledger.SavedReputation
		if err := json.Unmarshal(n.Fact, &saved); err != nil {
			return err
		}
		s.users.Restore(saved)
		signer(saved)
		return nil
	})
	if errors.Is(err, journal.ErrNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("read the snapshot: %w", err)
	}
	s.last = lastSnapshot{note: note, at: time.Now(), items: items}
	return note.Sequence, nil
}

// checkSequence makes sure after a restart that the snapshot's sequence is one of this log. The log
// may end before it, after a power cut, or be another log. Then later facts would be mistaken for
// facts that the snapshot has, so a new snapshot is taken.
func (s *snapshots) checkSequence(ctx context.Context, sequence uint64) (from uint64, err error) {
	extent, err := s.journal.LogInfo(ctx)
	if err != nil {
		return 0, err
	}
	s.mu.Lock()
	s.bounds = extent
	s.mu.Unlock()
	switch {
	case sequence == 0:
		return 1, nil
	case s.last.note.Journal != s.journal.ID():
		s.crowded = true
		return 1, nil
	case sequence > extent.Last:
		s.crowded = true
		return extent.Last + 1, nil
	case extent.First > sequence+1:
		s.log.Error("the journal has forgotten facts that came after the last snapshot: orders and cancels that were "+
			"answered last may be lost; give it more "+
			"room or time (--facts-megabytes, --facts-for)", "facts", extent.First-sequence-1)
	}
	return sequence + 1, nil
}
