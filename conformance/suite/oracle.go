package suite

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/gavel-relay/gavel/conformance/clauses"
	"github.com/gavel-relay/gavel/conformance/probe"
	"github.com/gavel-relay/gavel/conformance/target"
)

// Oracle compares every exchange of a run with the documents of package schema, whatever the spec
// looks at that made it. It is safe for concurrent use.
type Oracle struct {
	documents Documents
	bases     []base

	mu      sync.Mutex
	answers map[operation]int
	binding map[operation]int // those of answers that were compared with something that binds
	faults  []*Fault          // in the order in which they were seen first
}

// base is an address of the target.
type base struct{ url, iface string }

// operation is an operation of an interface: a sidecar has those of a relay.
type operation struct{ iface, id string }

// Fault is one way in which answers of an operation are not as their schema says.
type Fault struct {
	Interface string
	Operation string
	Profile   string
	Level     clauses.Level
	// Cause is what is wrong, and Example what the first such answer has.
	Cause, Example string
	// Answers is how many answers have it.
	Answers int
	// Clause is the clause whose spec saw it first, in Exchange; an event has none.
	Clause   string
	Exchange *probe.Exchange
}

// NewOracle makes the oracle of a target. Its addresses are known to it, those of literal instances
// are not: these differ from what is described on purpose.
func NewOracle(documents Documents, t *target.Target) *Oracle {
	o := &Oracle{documents: documents, answers: map[operation]int{}, binding: map[operation]int{}}
	add := func(iface string, urls ...string) {
		for _, url := range urls {
			if url = strings.TrimRight(url, "/"); url != "" && !slices.Contains(o.bases, base{url, iface}) {
				o.bases = append(o.bases, base{url, iface})
			}
		}
	}
	if t.Relay != nil {
		add("relay", t.Relay.ProposerURL, t.Relay.BuilderURL, t.Relay.DataURL)
	}
	if t.Stream != nil {
		add("stream", t.Stream.URL)
	}
	if t.RPC != nil {
		add("rpc", t.RPC.URL)
	}
	if t.Sidecar != nil {
		add("sidecar", t.Sidecar.URL)
	}
	return o
}

// document is the document of an interface.
func (o *Oracle) document(iface string) *Document {
	if iface == "sidecar" {
		iface = "relay" // a sidecar serves the Proposer API
	}
	return o.documents[iface]
}

// Watcher returns what watches the exchanges of a spec of this clause.
func (o *Oracle) Watcher(clause string) probe.Watcher { return watcher{o, clause} }

// watcher watches the exchanges of one spec.
type watcher struct {
	*Oracle

	clause string
}

// Answered implements probe.Watcher.
func (w watcher) Answered(at string, e probe.Exchange, asked []byte, a *probe.Answer) {
	for _, b := range w.bases {
		if b.url != at {
			continue
		}
		path, _, _ := strings.Cut(strings.TrimPrefix(e.Asked.URL, shownBase(e.Asked.URL, at)), "?")
		judged := w.document(b.iface).Check(Answered{Method: e.Asked.Method, Path: path, Asked: asked,
			Status: a.Status,
			Header: a.Header, Body: a.Body})
		if judged.Operation != "" {
			w.note(b.iface, judged, w.clause, &e)
			return
		}
	}
}

// shownBase is how an address with a password, which reports do not show, begins in a report.
func shownBase(shown, at string) string {
	if strings.HasPrefix(shown, at) {
		return at
	}
	scheme, rest, _ := strings.Cut(at, "://")
	if user, host, found := strings.Cut(rest, "@"); found && user != "" {
		return scheme + "://redacted@" + host
	}
	return at
}

// Heard implements probe.Watcher.
func (w watcher) Heard(at, data string) {
	for _, b := range w.bases {
		if b.url == at && b.iface == "stream" {
			w.note(b.iface, w.document(b.iface).CheckEvent(data), w.clause, nil)
		}
	}
}

func (o *Oracle) note(iface string, judged Judgement, clause string, e *probe.Exchange) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.answers[operation{iface, judged.Operation}]++
	if judged.Binds {
		o.binding[operation{iface, judged.Operation}]++
	}
	for _, v := range judged.Violations {
		i := slices.IndexFunc(o.faults, func(f *Fault) bool {
			return f.Interface == iface && f.Operation == v.Operation && f.Level == v.Level && f.Cause == v.Cause
		})
		if i < 0 {
			i = len(o.faults)
			o.faults = append(o.faults, &Fault{Interface: iface, Operation: v.Operation, Profile: profileOf(iface, v),
				Level: v.Level, Cause: v.Cause, Example: v.Example, Clause: clause, Exchange: e})
		}
		o.faults[i].Answers++
	}
}

// profileOf is the profile of an operation in an interface.
func profileOf(iface string, v Violation) string {
	if iface != "sidecar" {
		return v.Profile
	}
	return sidecarProfile(v.Operation)
}

func sidecarProfile(operation string) string {
	if strings.HasPrefix(operation, "submitBlindedBlock") {
		return "sidecar-payload"
	}
	return "sidecar-header"
}

// Found is what an oracle found out about one operation.
type Found struct {
	Interface, Operation string
	// Answers is how many answers were compared.
	Answers int
	Faults  []Fault
}

// Found returns all operations that were seen, in the order of interfaces and names.
func (o *Oracle) Found() (list []Found) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for op, answers := range o.answers {
		found := Found{Interface: op.iface, Operation: op.id, Answers: answers}
		for _, f := range o.faults {
			if f.Interface == op.iface && f.Operation == op.id {
				found.Faults = append(found.Faults, *f)
			}
		}
		list = append(list, found)
	}
	slices.SortFunc(list, func(a, b Found) int {
		return cmp.Or(cmp.Compare(slices.Index(clauses.Interfaces, a.Interface),
			slices.Index(clauses.Interfaces, b.Interface)),
			strings.Compare(a.Operation, b.Operation))
	})
	return list
}

// faultsOf returns how many answers of an operation were compared with something of one level, and
// its faults of that level. Each answer has something of advice: its status.
func (o *Oracle) faultsOf(iface, id string, level clauses.Level) (answers int, faults []Fault) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, f := range o.faults {
		if f.Interface == iface && f.Operation == id && f.Level == level {
			faults = append(faults, *f)
		}
	}
	if level == clauses.Must {
		return o.binding[operation{iface, id}], faults
	}
	return o.answers[operation{iface, id}], faults
}

// Schemas adds, for each operation of an interface, the specs that judge what the oracle saw of it
// in the whole run: one for what binds, and one for what is advice. They run after all others.
// Tours has a function for each operation that has the target answer; so the clauses can be judged
// alone, too. It panics if a tour is missing or has no operation: that is a mistake in the suite.
func (s *Set) Schemas(iface string, document *Document, tours map[string]func(*T)) {
	add := func(op Operation, level clauses.Level) {
		profile := op.Profile
		if iface == "sidecar" {
			profile = sidecarProfile(op.ID)
		}
		for _, c := range s.catalogue.Clauses {
			if c.Interface() == iface && strings.HasSuffix(c.Operation(), "-SCH") && c.Profile == profile && c.Level == level {
				s.It(c.ID, op.ID, judgeSchema(iface, op.ID, level, s.tour(iface, op.ID, tours[op.ID])))
				s.Specs[len(s.Specs)-1].Last = true
				return
			}
		}
		panic(fmt.Sprintf("no clause is about schemas of %s in %s with %s", op.ID, profile, level))
	}
	operations := document.Operations
	if document.Iface == "rpc" {
		operations = append(slices.Clone(operations), TheEnvelope())
	}
	toured := 0
	for _, op := range operations {
		if op.Extension || iface == "sidecar" && op.Profile != "relay-proposer" {
			continue
		}
		if tours[op.ID] == nil {
			panic("no tour has the target answer " + op.ID)
		}
		toured++
		if op.Level == clauses.Must {
			add(op, clauses.Must)
		}
		if op.Level != clauses.Must || op.Method != "" || op.ID == Envelope {
			add(op, clauses.Should)
		}
	}
	if toured != len(tours) {
		panic("a tour is of no operation")
	}
}

// tour returns the tour of an operation, which is made once in a run.
func (s *Set) tour(iface, id string, tour func(*T)) func(*T) {
	if s.tours == nil {
		s.tours = map[operation]func(*T){}
	}
	key := operation{iface, id}
	if s.tours[key] == nil {
		var once sync.Once
		s.tours[key] = func(t *T) { once.Do(func() { tour(t) }) }
	}
	return s.tours[key]
}

// binding is what a schema says at each level.
var binding = map[clauses.Level]string{clauses.Must: "binds", clauses.Should: "is advice"}

// judgeSchema makes the spec of an operation and a level.
func judgeSchema(iface, id string, level clauses.Level, tour func(*T)) func(*T) {
	return func(t *T) {
		reason := t.runUntilEnd(tour)
		answers, faults := t.oracle.faultsOf(iface, id, level)
		if answers == 0 {
			t.NotRun("there was no answer of %s to compare with what %s; %s", id, binding[level], reason)
		}
		var words []string
		for _, f := range faults {
			words = append(words, fmt.Sprintf("%s (%s; in %d of %d answers, first at %s)", f.Cause, f.Example,
				f.Answers, answers,
				f.Clause))
			if f.Exchange != nil {
				t.recorder.Show(*f.Exchange)
			}
		}
		t.Check(len(faults) == 0, "answers of "+id+" as their schema says", strings.Join(words, "; "))
	}
}

// runUntilEnd runs a function that may end the spec, and returns why it would have. What has been
// seen until then is judged all the same.
func (t *T) runUntilEnd(do func(*T)) (reason string) {
	defer func() {
		switch end := recover().(type) {
		case nil:
		case ended:
			reason = end.message
		default:
			panic(end)
		}
	}()
	do(t.Preparing())
	return ""
}
