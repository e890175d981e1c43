package report

import (
	"fmt"

	"github.com/gavel-relay/gavel/conformance/clauses"
)

// SchemaOperation counts the answers of an operation that were compared with its schema (package
// schema), and has what was wrong with them.
type SchemaOperation struct {
	Interface  string            `json:"interface"`
	Operation  string            `json:"operation"`
	Answers    int               `json:"answers"`
	Violations []SchemaViolation `json:"violations,omitempty"`
}

// SchemaViolation is one way in which answers of an operation are not as its schema says.
type SchemaViolation struct {
	// Level is MUST where the public specification says so.
	Level clauses.Level `json:"level"`
	// Cause is what is wrong, and Example what the first such answer has.
	Cause   string `json:"cause"`
	Example string `json:"example,omitempty"`
	// Answers is how many answers have it, and Clause the clause whose spec saw it first.
	Answers int    `json:"answers"`
	Clause  string `json:"clause"`
}

// Compared says in words how many answers were compared with their schemas; empty if none were.
func (r *Report) Compared() string {
	answers, violations := 0, 0
	for _, op := range r.Schemas {
		answers += op.Answers
		violations += len(op.Violations)
	}
	if answers == 0 {
		return ""
	}
	return fmt.Sprintf("%d answers of %d operations compared with their schemas: %d violations", answers,
		len(r.Schemas), violations)
}

// Violated are the operations with violations.
func (r *Report) Violated() (list []SchemaOperation) {
	for _, op := range r.Schemas {
		if len(op.Violations) > 0 {
			list = append(list, op)
		}
	}
	return list
}
