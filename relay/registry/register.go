package registry

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/gavel-relay/gavel/relay"
)

// maxAhead is how far a registration's timestamp may be ahead of the relay's clock (builder-specs,
// "Registration").
const maxAhead = 10 * time.Second

// judgedTogether is how many entries are checked, or verified, before other requests get a turn.
const judgedTogether = 128

// Register decides on each registration by itself: valid ones are stored, refused ones are returned
// with their index and reason.
//
//	unknown validator, timestamp before genesis or more than 10 s ahead   refused
//	what is held, byte for byte                                           accepted: nothing changes
//	older than what is held                                               ignored, no failure
//	what is held, signed later                                            the signature decides; of many in a request, see below
//	new or changed, not older                                             the signature decides
//
// If a request has several entries of one validator, the newest counts; if several are equally new,
// the last of them. The others are ignored, or refused if that one has a wrong signature. So a
// request costs at most one verification for each known validator in it.
//
// Signatures are verified on at most half of the processors, however many requests wait. When the
// context ends, the rest of the entries is left. If a request has more than promptRenewals entries
// that only renew what is held, these are accepted at once, and Run verifies them before they are
// stored or shown. Register does not keep entries after it returns.
func (r *Registry) Register(ctx context.Context, at time.Time,
	entries []relay.SignedRegistration) relay.RegistrationFailures {
	b := batch{registry: r, at: at, entries: entries}
	for from := 0; from < len(entries); from += judgedTogether {
		b.judge(from, min(from+judgedTogether, len(entries)))
	}
	b.verify(ctx, b.prompt())
	b.refuseRepeated()
	return b.failures.RegistrationFailures
}

// batch is the entries of one request while Register works on them.
type batch struct {
	registry *Registry
	at       time.Time
	entries  []relay.SignedRegistration
	failures failures
	deciding []candidate // entries whose signatures decide; prompt sorts them and leaves one for each validator
	others   []candidate // entries of the same validators
}

// candidate is an entry whose signature decides. Candidates sort by validator, and those of one in
// the order of the request.
type candidate uint64

func candidateOf(rowIndex uint32, i int, d difference) candidate {
	c := candidate(rowIndex)<<32 | candidate(i)<<1 // i is below 2^31, since a body has no room for more entries
	if d == renewed {
		c |= 1
	}
	return c
}

func (c candidate) row() uint32  { return uint32(c >> 32) }
func (c candidate) entry() int   { return int(c & (1<<32 - 1) >> 1) }
func (c candidate) renews() bool { return c&1 != 0 }

// judge applies to some entries all rules but that of the signature.
func (b *batch) judge(from, to int) {
	r := b.registry
	r.mu.RLock()
	defer r.mu.RUnlock()
	genesis, latest := r.spec.GenesisTime.Unix(), b.at.Add(maxAhead)
	for i := from; i < to; i++ {
		message := b.entries[i].Message
		seconds := message.Timestamp.Unix()
		switch {
		case seconds < genesis:
			b.failures.add(i, func() *relay.Refused { return relay.RegistrationTooEarly.With("%d", seconds) })
			continue
		case message.Timestamp.After(latest):
			b.failures.add(i, func() *relay.Refused {
				return relay.RegistrationTooLate.With("%d, it is %d here", seconds, b.at.Unix())
			})
			continue
		}
		rowIndex, known := r.table.byKey[message.Pubkey]
		if !known || !r.table.at(rowIndex).known {
			b.failures.add(i, func() *relay.Refused { return relay.RegistrationUnknownValidator.With("%#x", message.Pubkey[:]) })
			continue
		}
		switch d := r.table.at(rowIndex).compare(&b.entries[i]); d {
		case forged:
			b.failures.add(i, func() *relay.Refused {
				return relay.RegistrationSignature.With("it is not the one that is held")
			})
		case renewed, changed:
			if b.deciding == nil {
				b.deciding = make([]candidate, 0, len(b.entries)-i)
			}
			b.deciding = append(b.deciding, candidateOf(rowIndex, i, d))
		}
	}
}

// prompt returns the entries whose signatures are verified before the answer. The others are left
// to Run.
func (b *batch) prompt() []int32 {
	b.keepNewest()
	renewals := 0
	for _, c := range b.deciding {
		if c.renews() {
			renewals++
		}
	}
	now := b.deciding
	if renewals > promptRenewals {
		now = b.registry.queueRenewals(b.at, b.entries, b.deciding)
	}
	prompt := make([]int32, len(now))
	for i, c := range now {
		prompt[i] = int32(c.entry()) // a body has no room for more
	}
	slices.Sort(prompt)
	return prompt
}

// keepNewest keeps the newest entry of each validator apart from the others.
func (b *batch) keepNewest() {
	slices.Sort(b.deciding)
	newest := b.deciding[:0]
	for _, c := range b.deciding {
		last := len(newest) - 1
		switch {
		case last < 0 || newest[last].row() != c.row():
			newest = append(newest, c)
		case b.timestamp(c).Before(b.timestamp(newest[last])):
			b.others = append(b.others, c)
		default:
			b.others = append(b.others, newest[last])
			newest[last] = c
		}
	}
	b.deciding = newest
}

func (b *batch) timestamp(c candidate) time.Time { return b.entries[c.entry()].Message.Timestamp }

// verify verifies the signatures of some entries and stores the valid ones.
func (b *batch) verify(ctx context.Context, indices []int32) {
	b.registry.verify(ctx, len(indices), func(i int) *relay.SignedRegistration {
		return &b.entries[indices[i]]
	}, func(i int, err error) {
		at := int(indices[i])
		if err != nil {
			b.failures.add(at, func() *relay.Refused { return relay.RegistrationSignature.With("%v", err) })
			return
		}
		b.registry.keep(b.at, &b.entries[at])
	})
}

// refuseRepeated refuses entries that were left out because of a newer entry whose signature is
// wrong. They may be valid, so they must not be ignored silently.
func (b *batch) refuseRepeated() {
	if len(b.others) == 0 || b.failures.Count == 0 {
		return
	}
	for _, c := range b.others {
		at, _ := slices.BinarySearchFunc(b.deciding, c.row(), func(c candidate, rowIndex uint32) int {
			return cmp.Compare(c.row(), rowIndex)
		})
		newest := b.deciding[at].entry()
		if b.failures.has(newest) {
			b.failures.add(c.entry(), func() *relay.Refused {
				return relay.RegistrationSignature.With("of entry %d, the newest of this validator: send this one alone", newest)
			})
		}
	}
}

// failures are safe for concurrent use. Reasons are made only for failures that are listed.
type failures struct {
	mu sync.Mutex
	relay.RegistrationFailures
	wrong []uint64 // a bit for each entry that was refused
}

func (f *failures) add(i int, why func() *relay.Refused) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.Count++
	if missing := i/64 + 1 - len(f.wrong); missing > 0 {
		f.wrong = append(f.wrong, make([]uint64, missing)...)
	}
	f.wrong[i/64] |= 1 << (i % 64)
	at, _ := slices.BinarySearchFunc(f.First, i, func(x relay.RegistrationFailure, i int) int {
		return cmp.Compare(x.Index, i)
	})
	if at == relay.MaxListedFailures {
		return
	}
	f.First = slices.Insert(f.First, at, relay.RegistrationFailure{Index: i, Refused: why()})
	f.First = f.First[:min(len(f.First), relay.MaxListedFailures)]
}

func (f *failures) has(i int) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return i/64 < len(f.wrong) && f.wrong[i/64]&(1<<(i%64)) != 0
}
