package journal

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/gavel-relay/gavel/internal/run"
)

// Facts that a deposed owner still sends come late: they wait in its connection while that is cut,
// or in a process that stands still. They must not count, because the next owner has not read them.
// So the order of the log decides. A term begins with a mark in the log, and each fact has the
// number of its writer's term. Whoever reads leaves out a fact behind the mark of a later term:
//
//	fact 4 ─ fact 4 ─ mark 5 ─ fact 5 ─ fact 4 (left out) ─ fact 5
const (
	// termHeader has the number of a message's term.
	termHeader = "Gavel-Term"
	// termSubject is the prefix of marks, below factPrefix: fact.term.rpc is for facts fact.rpc.>.
	termSubject = "term."
)

// term is the term in which this journal's facts are written.
type term struct {
	header nats.Header
	number uint64
	mark   uint64 // its place in the log
}

// BeginTerm marks in the log that a term begins for the facts of a scope, which is the first word
// of their subjects. From now on the facts that this journal appends are of that term, and those of
// terms before it are left out by all who read, if they come behind the mark. It must be called
// before the first fact is appended. It refuses a term that is not newer than all before.
func (j *Journal) BeginTerm(ctx context.Context, scope string, number uint64) error {
	last, err := j.LastTerm(ctx, scope)
	if err != nil {
		return err
	}
	if last >= number {
		return fmt.Errorf("begin term %d of %s: term %d has begun already", number, scope, last)
	}
	t := term{header: nats.Header{termHeader: {strconv.FormatUint(number, 10)}}, number: number}
	ack, err := j.js.PublishMsg(ctx, &nats.Msg{Subject: factPrefix + termSubject + scope, Header: t.header})
	if err != nil {
		return fmt.Errorf("begin term %d of %s: %w", number, scope, err)
	}
	t.mark = ack.Sequence
	j.term = t
	return nil
}

// LastTerm is the number of the newest term of a scope; 0 if the log has no mark of one.
func (j *Journal) LastTerm(ctx context.Context, scope string) (uint64, error) {
	marks, err := j.fencesOf(ctx, factsName)
	if err != nil || len(marks[scope]) == 0 {
		return 0, err
	}
	return marks[scope][len(marks[scope])-1].number, nil
}

// fact is a message with a fact.
func (j *Journal) fact(subject string, data []byte) *nats.Msg {
	return &nats.Msg{Subject: factPrefix + subject, Data: data, Header: j.term.header}
}

func termOf(message nats.Header) uint64 {
	number, err := strconv.ParseUint(message.Get(termHeader), 10, 64)
	if err != nil {
		return 0 // written without terms
	}
	return number
}

// fences are the marks of a log, by scope. Numbers and places ascend.
type fences map[string][]fence

type fence struct{ place, number uint64 }

// mark adds a mark. One that came behind the mark of a later term marks nothing.
func (f fences) mark(scope string, place, number uint64) {
	if list := f[scope]; len(list) == 0 || number > list[len(list)-1].number {
		f[scope] = append(list, fence{place, number})
	}
}

// leavesOut says whether a message is of a term that was over at its place.
func (f fences) leavesOut(subject string, place, number uint64) bool {
	if number == 0 || len(f) == 0 {
		return false
	}
	scope, _, _ := strings.Cut(subject, ".")
	for _, mark := range f[scope] {
		if mark.place < place && mark.number > number {
			return true
		}
	}
	return false
}

// takes says whether a message of the log of facts is for its reader: not a mark, and not left out.
func (f fences) takes(message jetstream.Msg, place uint64) bool {
	subject := strings.TrimPrefix(message.Subject(), factPrefix)
	number := termOf(message.Headers())
	if scope, isMark := strings.CutPrefix(subject, termSubject); isMark {
		f.mark(scope, place, number)
		return false
	}
	return !f.leavesOut(subject, place, number)
}

// fencesOf reads the marks that a log has; nil for another stream.
func (j *Journal) fencesOf(ctx context.Context, stream string) (fences, error) {
	if stream != factsName {
		return nil, nil
	}
	marks := fences{}
	found, err := j.facts.Info(ctx, jetstream.WithSubjectFilter(factPrefix+termSubject+">"))
	if err != nil {
		return nil, fmt.Errorf("find the marks of terms: %w", err)
	}
	for subject := range found.State.Subjects {
		for place := uint64(1); ; place++ {
			message, err := j.facts.GetMsg(ctx, place, jetstream.WithGetMsgSubject(subject))
			if errors.Is(err, jetstream.ErrMsgNotFound) {
				break
			}
			if err != nil {
				return nil, fmt.Errorf("read the marks of terms: %w", err)
			}
			place = message.Sequence
			marks.mark(strings.TrimPrefix(subject, factPrefix+termSubject), place, termOf(message.Header))
		}
	}
	return marks, nil
}

// markPause is how often a reader asks again that has not come to the mark of its own term (wall
// time). The server that it reads from may be a little behind the one that stored it.
const markPause = 20 * time.Millisecond

// behindOwnMark says whether a reader that has come to a place, and finds no more, has not come to
// the mark of the own term, and waits a little.
func (j *Journal) behindOwnMark(ctx context.Context, stream string, place uint64) (bool, error) {
	if stream != factsName || j.term.mark == 0 || place >= j.term.mark {
		return false, nil
	}
	return true, run.Pause(ctx, markPause)
}
