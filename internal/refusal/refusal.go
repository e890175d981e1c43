// Package refusal is how a service says no. Each way of it has one name and one place, a catalogue;
// the answer, the metric, the log and the documents take it from there.
package refusal

import (
	"fmt"
	"strings"
)

// Refusal is one way of saying no, an entry of a product's catalogue. How it is answered, by which
// HTTP status or JSON-RPC code, is for the handlers to say.
type Refusal struct {
	// ID is the answer's X-Refusal header, the metric label, the log field, and the word that a
	// scenario expects: lower-case words with dashes.
	ID string
	// Short is the message in the answer: a phrase without a full stop, since a detail may follow.
	Short string
	// Long says in whole sentences what the caller should look at.
	Long string
	// Clauses are the ids of the conformance clauses that ask for this refusal, with commas between
	// them; empty where none does.
	Clauses string
}

// With refuses a request with a detail.
func (r Refusal) With(format string, args ...any) *Refused {
	return &Refused{Refusal: r, Detail: fmt.Sprintf(format, args...)}
}

// Of refuses something that has a name, which comes before the detail.
func (r Refusal) Of(name, format string, args ...any) *Refused {
	refused := r.With(format, args...)
	refused.Short += " " + name
	return refused
}

// Plain refuses a request without a detail.
func (r Refusal) Plain() *Refused { return &Refused{Refusal: r} }

// Refused is the refusal of one request, with what was seen. It is an error; every room that
// refuses returns it.
type Refused struct {
	Refusal
	// Detail follows the short text in the answer: what came and what was expected. It never holds
	// internals.
	Detail string
	// Data is what a program may read of it, nil for nothing: the data of a JSON-RPC error.
	Data any
}

// Error is the message of the answer.
func (r *Refused) Error() string {
	if r.Detail == "" {
		return r.Short
	}
	return r.Short + ": " + r.Detail
}

// RefusalID names the refusal on the wire, in metrics and in logs.
func (r *Refused) RefusalID() string { return r.ID }

// Catalogue is every way in which a product says no, in the order of its documents.
type Catalogue []Refusal

// Define adds a refusal to the catalogue, with the clauses that ask for it. It is called when a
// package is initialized, and by nobody else.
func (c *Catalogue) Define(id, short, long string, clauses ...string) Refusal {
	r := Refusal{ID: id, Short: short, Long: long, Clauses: strings.Join(clauses, ", ")}
	*c = append(*c, r)
	return r
}
