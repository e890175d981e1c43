// Package defect makes our services wrong, in one way each, so that it can be shown that the conformance suite notices. A proxy before a service
// cannot make it tell what it keeps to itself, or skip a check; a line at the place can. Such a line stands in the services themselves, and is there
// only in programs that are built for it:
//
//	place in a service ── On(id) ──┬─ go build               false, a constant: the compiler leaves out the line, and the name with it
//	                               └─ go build -tags mutants  whether Switch was told the id: gavel-lab conformance run --devnet --defect ID
//
// All is what there is, as data: what each does wrong, and which clauses must notice.
package defect

import "fmt"

// ID names a defect, in lower case with hyphens and its service in front. It is a constant wherever it is used.
type ID string

// Defect is one way in which a service can be wrong.
type Defect struct {
	ID ID
	// Iface is the interface whose clauses must notice: relay, rpc or stream.
	Iface string
	// What the service does wrong, in words.
	What string
	// MustKill are the ids of the clauses whose specs must fail.
	MustKill []string
}

// Find is a defect by its id. The error is the caller's mistake.
func Find(id ID) (Defect, error) {
	for _, d := range All {
		if d.ID == id {
			return d, nil
		}
	}
	return Defect{}, fmt.Errorf("there is no defect %s", id)
}
