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
	"github.com/gavel-relay/gavel/rpc/pool"
	"github.com/gavel-relay/gavel/rpc/reputation"
)

// snapshotState is where what a start needs of the facts is kept: facts, and signers under a
// subject that no fact has.
const (
	snapshotState = subjectPrefix + "snapshot"
	signerItem    = subjectPrefix + "signer"
)

// When a snapshot is taken. All spans are wall time.
const (
	// leastFacts is after how many facts: never sooner, and not before there are twice as many as the
	// last one has. So a start reads at most three times what lives, and the writing costs each fact
	// no more than its share.
	leastFacts = 20_000
	// snapshotEvery is how old it becomes, if there are facts.
	snapshotEvery = 10 * time.Minute
	// lookEvery is how often the journal is asked what it has forgotten.
	lookEvery = time.Second
	// snapshotPause is how long the next try waits after one that failed, snapshotPatience how long
	// one may take.
	snapshotPause    = 5 * time.Second
	snapshotPatience = time.Minute
	// gathered is how many facts wait for the snapshot's projection of them before it is woken.
	gathered = 1024
)

// snapshots keep what a start needs in the journal's state, so that the journal may forget its
// facts, and a start reads little:
//
//	facts  ── ─ ── ─── ── StateKept ── ─ ── ─      a start: the snapshot, then the facts behind its StateKept
//	                          ▲
//	snapshot ── the facts before it that are needed (pool.Needed), and the signers' sums (reputation.Projection)
//
// It has projections of its own, which are told the facts in the order of the journal and belong to
// the goroutine of keep alone: who puts a fact waits for nothing.
type snapshots struct {
	journal *journal.Journal
	facts   *facts
	log     *slog.Logger
	list    paged
	// bounds are the log's.
	bounds journal.LogInfo

	needed *pool.Needed
	users  *reputation.Projection
	count  uint64 // of facts that the projections were told
	// wanted is the number of the snapshot that is being taken, frozen what it holds, once its
	// StateKept has come.
	wanted uint64
	frozen *frozen
	last   lastSnapshot
	// crowded: so many facts came, whoever's, that the journal will forget those behind the snapshot
	// soon. retry is when the next one may be tried.
	crowded bool
	retry   time.Time

	// least is leastFacts.
	least int

	mu     sync.Mutex // guards what follows
	coming []rpc.Fact
	// covered are the bytes of facts of this life that the last snapshot holds, told those after which
	// renew was last woken.
	covered, told int64
	done          chan struct{} // closed with the next snapshot
	wake          chan struct{}
}

// lastSnapshot is what is known of the last one.
type lastSnapshot struct {
	note  snapshotNote
	at    time.Time
	count uint64 // as the count of facts was
	items int
}

// snapshotNote is kept with a snapshot.
type snapshotNote struct {
	Number uint64 `json:"number"`
	// Journal is the log's identity, Place that of the snapshot's StateKept in it.
	Journal string `json:"journal"`
	Place   uint64 `json:"place"`
}

// frozen is what a snapshot holds.
type frozen struct {
	facts   []rpc.Fact
	signers []reputation.Saved
	count   uint64
	bytes   int64
}

func newSnapshots(j *journal.Journal, to *facts, log *slog.Logger, maxOrders int) *snapshots {
	return &snapshots{
		journal: j, facts: to, log: log, list: newPaged(j, snapshotState), wake: make(chan struct{}, 1),
		done: make(chan struct{}), last: lastSnapshot{at: time.Now()},
		least: leastFacts,
		// Of orders that have ended it keeps those that a block may bring back. What others were is told
		// by the ledger.
		needed: pool.NewNeeded(pool.Config{MaxOrders: maxOrders, KeepFinal: 2}), users: reputation.New(reputation.Config{}),
	}
}

// observe is told each fact of this life, in the order of the journal.
func (s *snapshots) observe(fact rpc.Fact) {
	_, mark := fact.(rpc.StateKept)
	bytes := s.facts.bytes.Load()
	s.mu.Lock()
	s.coming = append(s.coming, fact)
	full := s.bounds.MaxBytes > 0 && bytes-max(s.told, s.covered) >= s.bounds.MaxBytes/4
	if full {
		s.told = bytes
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

// safe waits while so much was written since the last snapshot that the journal could forget what
// is behind it: nobody is promised anything meanwhile. The error is the context's.
func (s *snapshots) safe(ctx context.Context) error {
	for {
		s.mu.Lock()
		open := s.bounds.MaxBytes > 0 && s.facts.bytes.Load()-s.covered >= s.bounds.MaxBytes/2
		done := s.done
		s.mu.Unlock()
		if !open {
			return nil
		}
		select {
		case <-done:
		case <-ctx.Done():
			return fmt.Errorf("wait for a snapshot: %w", ctx.Err())
		}
	}
}

// drain has the projections take what came.
func (s *snapshots) drain() {
	s.mu.Lock()
	batch := s.coming
	s.coming = nil
	s.mu.Unlock()
	for _, fact := range batch {
		s.apply(fact)
	}
}

func (s *snapshots) apply(fact rpc.Fact) {
	s.count++
	s.needed.Apply(fact)
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

// try takes a snapshot if one is due. One that fails is tried again: nothing is lost as long as the
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

// checkJournal asks whether the journal is about to forget facts behind the last snapshot.
func (s *snapshots) checkJournal(ctx context.Context) {
	extent, err := s.journal.LogInfo(ctx)
	if err != nil {
		return // a journal that is away is told by all who need it
	}
	s.crowded = extent.First > 1 && extent.Last > s.last.note.Place &&
		s.last.note.Place < extent.First+(extent.Last-extent.First)/2
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

// take takes a snapshot: everything that was told before its StateKept came.
func (s *snapshots) take(ctx context.Context) error {
	s.wanted, s.frozen = s.last.note.Number+1, nil
	defer func() { s.wanted, s.frozen = 0, nil }()
	receipt := s.facts.PutAcked(rpc.StateKept{At: time.Now(), Number: s.wanted})
	if err := receipt.Wait(ctx); err != nil {
		return fmt.Errorf("mark the place of a snapshot: %w", err)
	}
	for s.drain(); s.frozen == nil; s.drain() { // the ack may come before the queue tells of what it has written
		select {
		case <-s.wake:
		case <-ctx.Done():
			return fmt.Errorf("take a snapshot: %w", ctx.Err())
		}
	}
	place, err := s.placeOf(ctx, s.wanted)
	if err != nil {
		return err
	}
	note := snapshotNote{Number: s.wanted, Journal: s.journal.ID(), Place: place}
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

// placeOf is where the StateKept of a number is.
func (s *snapshots) placeOf(ctx context.Context, number uint64) (uint64, error) {
	place, data, err := s.journal.LastWithSeq(ctx, subjectPrefix+rpc.StateKept{}.Subject())
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
	return place, nil
}

// items are those of the list, each with its subject.
func (f *frozen) items() iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		var encoder encoder
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

// item is a named, written without reflection.
func item(subject string, data []byte) []byte {
	text := append(make([]byte, 0, len(subject)+len(data)+24), `{"subject":"`...)
	text = append(append(text, subject...), `","fact":`...)
	return append(append(text, data...), '}')
}

// restore tells what the last snapshot holds, and returns the place after which the facts go on, 0
// when there is none.
func (s *snapshots) restore(ctx context.Context, fact func(rpc.Fact),
	signer func(reputation.Saved)) (place uint64, err error) {
	var note snapshotNote
	items := 0
	err = s.list.read(ctx, &note, func(data []byte) error {
		var n named
		if err := json.Unmarshal(data, &n); err != nil {
			return err
		}
		items++
		if n.Subject != signerItem {
			return decodeFacts(n.Subject, n.Fact, func(f rpc.Fact) {
				s.needed.Apply(f)
				fact(f)
			})
		}
		var saved reputation.Saved
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
	return note.Place, nil
}

// checkPlace makes sure after a restart that the snapshot's place is one of this log. If the log is
// behind it, after a power cut, or is another one, later facts would be taken for those that the
// snapshot has: it is taken anew.
func (s *snapshots) checkPlace(ctx context.Context, place uint64) (from uint64, err error) {
	extent, err := s.journal.LogInfo(ctx)
	if err != nil {
		return 0, err
	}
	s.mu.Lock()
	s.bounds = extent
	s.mu.Unlock()
	switch {
	case place == 0:
		return 1, nil
	case s.last.note.Journal != s.journal.ID():
		s.crowded = true
		return 1, nil
	case place > extent.Last:
		s.crowded = true
		return extent.Last + 1, nil
	case extent.First > place+1:
		s.log.Error("the journal has forgotten facts that came after the last snapshot: orders and cancels that were "+
			"answered last may be lost; give it more "+
			"room or time (--facts-megabytes, --facts-for)", "facts", extent.First-place-1)
	}
	return place + 1, nil
}
