// Package refusal has the type of a service's refusals. Each refusal is defined once, in a
// catalogue. The answer, the metric, the log and the documents take its name and text from there.
package refusal

import (
	"fmt"
	"strings"
)

// Refusal is one reason to refuse a request, an entry of a service's catalogue. The handlers decide
// its HTTP status or JSON-RPC code.
type Refusal struct {
	// ID is the X-Refusal header of the answer, the label of the metric, the field of the log, and
	// the name in scenarios' expectations: lower-case words with dashes.
	ID string
	// Short is the message in the answer: a phrase without a full stop, because a detail may
	// follow.
	Short string
	// Long says in whole sentences what the caller should check.
	Long string
	// Clauses are the ids of the conformance clauses that require this refusal, separated by
	// commas; empty if there are none.
	Clauses string
}

// With makes the refusal of a request, with a detail.
func (r Refusal) With(format string, args ...any) *Refused {
	return &Refused{Refusal: r, Detail: fmt.Sprintf(format, args...)}
}

// Of makes the refusal of something that has a name. The name comes before the detail.
func (r Refusal) Of(name, format string, args ...any) *Refused {
	refused := r.With(format, args...)
	refused.Short += " " + name
	return refused
}

// Plain makes the refusal of a request, without a detail.
func (r Refusal) Plain() *Refused { return &Refused{Refusal: r} }

// Refused is the refusal of one request, with what was wrong with it. It is an error, which every
// package that refuses requests returns.
type Refused struct {
	Refusal
	// Detail follows the short text in the answer: what came and what was expected. It must not
	// contain internals.
	Detail string
	// Data is the data of a JSON-RPC error, for programs to read; nil for none.
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

// Catalogue lists all refusals of a service, in the order of its documents.
type Catalogue []Refusal

// Define adds a refusal to the catalogue, with the clauses that require it. It must be called only
// while packages are initialized.
func (c *Catalogue) Define(id, short, long string, clauses ...string) Refusal {
	r := Refusal{ID: id, Short: short, Long: long, Clauses: strings.Join(clauses, ", ")}
	*c = append(*c, r)
	return r
}
