package registry

import (
	"context"
	"sync"
	"time"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/bls"
	"github.com/gavel-relay/gavel/relay"
)

// verify verifies the signatures of count entries, in chunks, on as many processors as
// registrations may use. It calls verdict for each entry, from several goroutines at a time. When
// the context ends, it begins no further chunk.
func (r *Registry) verify(ctx context.Context, count int, entry func(int) *relay.SignedRegistration,
	verdict func(int, error)) {
	chunks := make(chan int)
	var workers sync.WaitGroup
	for range min(cap(r.processors), (count+judgedTogether-1)/judgedTogether) {
		workers.Go(func() {
			for from := range chunks {
				r.verifyChunk(from, min(from+judgedTogether, count), entry, verdict)
				<-r.processors
			}
		})
	}
	for from := 0; from < count; from += judgedTogether {
		if !r.takeProcessor(ctx) {
			break
		}
		chunks <- from
	}
	close(chunks)
	workers.Wait()
}

// takeProcessor waits for one of the processors that registrations may use. It returns false if the
// context ends first.
func (r *Registry) takeProcessor(ctx context.Context) bool {
	if ctx.Err() != nil {
		return false
	}
	select {
	case r.processors <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

func (r *Registry) verifyChunk(from, to int, entry func(int) *relay.SignedRegistration, verdict func(int, error)) {
	domain := r.spec.BuilderDomain()
	triples, checked := make([]bls.Triple, 0, to-from), make([]int, 0, to-from)
	for i := from; i < to; i++ {
		e := entry(i)
		root, err := e.Message.HashTreeRoot()
		if err != nil {
			verdict(i, err)
			continue
		}
		checked = append(checked, i)
		triples = append(triples, bls.Triple{Key: e.Message.Pubkey, Root: eth.SigningRoot(root, domain),
			Signature: e.Signature})
	}
	verdicts := r.verifyBatch(triples)
	for i, which := range checked {
		if verdicts == nil {
			verdict(which, nil)
			continue
		}
		verdict(which, verdicts[i])
	}
}

// keep stores an entry whose signature is valid, unless a newer one has come meanwhile or the
// validator has exited meanwhile.
func (r *Registry) keep(at time.Time, entry *relay.SignedRegistration) {
	fact, difference := r.store(at, entry)
	if difference == changed && r.subscriber != nil {
		r.subscriber(entry.Message)
	}
	switch {
	case fact != nil:
		r.facts.Record(*fact)
	case difference != nothing && r.tell != nil:
		r.tell(entry)
	}
}

// store returns the fact that is due now, nil if there is none, and what the entry has changed.
func (r *Registry) store(at time.Time, entry *relay.SignedRegistration) (*relay.RegistrationStored, difference) {
	r.mu.Lock()
	defer r.mu.Unlock()
	rowIndex, known := r.table.byKey[entry.Message.Pubkey]
	if !known || !r.table.at(rowIndex).known {
		return nil, nothing
	}
	row := r.table.at(rowIndex)
	difference := row.compare(entry)
	if difference != renewed && difference != changed {
		return nil, nothing
	}
	r.table.put(row, entry)
	r.touch(entry.Message.Pubkey)
	return r.record(at, rowIndex, difference), difference
}
