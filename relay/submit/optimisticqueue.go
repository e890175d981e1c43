package submit

import (
	"sync"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/relay/slots"
)

// optimisticQueue holds the bids whose blocks are still to be executed. Each bid has a job of its
// own, because each value that a block was offered at is a promise of its own. Delivered blocks
// come first, then bids above what their block is known to pay, then the newest, since the top bid
// is among them.
type optimisticQueue struct {
	slots *slots.Slots  // knows which blocks were delivered
	wake  chan struct{} // filled when there may be something to do

	mu   sync.Mutex // guards jobs, and what is in them
	jobs map[bidID]*optimisticJob
}

func (q *optimisticQueue) add(job *optimisticJob) {
	q.mu.Lock()
	defer q.mu.Unlock()
	id := job.id()
	if known := q.jobs[id]; known == nil || known.backup && !known.running && !job.backup {
		q.jobs[id] = job
	}
	q.wakeUp()
}

func (q *optimisticQueue) wakeUp() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// next returns the job to do now; or, if there is none, how long to wait until one may be tried
// again. 0 means to wait until woken.
func (q *optimisticQueue) next(now time.Time) (*optimisticJob, time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	var best *optimisticJob
	var wait time.Duration
	for _, job := range q.jobs {
		q.look(job)
		switch pause := job.notBefore.Sub(now); {
		case job.running:
		case pause > 0:
			if wait == 0 || pause < wait {
				wait = pause
			}
		case best == nil, job.before(best):
			best = job
		}
	}
	if best != nil {
		best.running = true
		q.wakeUp() // there may be more
	}
	return best, wait
}

// before says whether a job runs before another.
func (j *optimisticJob) before(other *optimisticJob) bool {
	switch {
	case j.delivered != other.delivered:
		return j.delivered
	case j.abovePaid != other.abovePaid:
		return j.abovePaid
	default:
		return j.since.After(other.since)
	}
}

// retry puts a job back for another try.
func (q *optimisticQueue) retry(job *optimisticJob, now time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	job.tries++
	job.running, job.notBefore = false, now.Add(pauses.After(job.tries))
	q.wakeUp()
}

// remove forgets a job and says whether its block was delivered meanwhile.
func (q *optimisticQueue) remove(job *optimisticJob) (delivered bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.jobs, job.id())
	q.look(job)
	return job.delivered
}

// isDelivered says whether the job's block was delivered.
func (q *optimisticQueue) isDelivered(job *optimisticJob) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.look(job)
	return job.delivered
}

// holds says whether a payload is still to be executed.
func (q *optimisticQueue) holds(payload relay.PayloadID) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	for id := range q.jobs {
		if id.block == payload.BlockHash && id.builder == payload.Builder {
			return true
		}
	}
	return false
}

// look notes whether a job's block was delivered. Such a job comes first, and is not dropped when
// its slot ends. The caller holds mu.
func (q *optimisticQueue) look(job *optimisticJob) {
	job.delivered = job.delivered || q.slots.IsDelivered(job.hash())
}

// close drops the jobs of slots before one, except those whose block was delivered or is being
// executed.
func (q *optimisticQueue) close(before phase0.Slot) (dropped []*optimisticJob) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for id, job := range q.jobs {
		q.look(job)
		if job.slot() < before && !job.delivered && !job.running {
			delete(q.jobs, id)
			dropped = append(dropped, job)
		}
	}
	return dropped
}

// holdsSlot says whether a job of the slot is left.
func (q *optimisticQueue) holdsSlot(slot phase0.Slot) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, job := range q.jobs {
		if job.slot() == slot {
			return true
		}
	}
	return false
}
