package report

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/gavel-relay/gavel/conformance/clauses"
)

// Finding is one cause, and the clauses that do not pass because of it.
type Finding struct {
	// Why is what the clauses say, or how many different things they say.
	Why     string
	Verdict clauses.Verdict
	Clauses []Clause
}

// Findings groups what somebody should look at by its cause: clauses of one interface that end in
// the same verdict with the same words, but for numbers and hashes, have one. The worst come first,
// and of them those of most clauses.
func (r *Report) Findings() (list []Finding) {
	places := map[string]int{}
	for _, c := range r.Failures() {
		key := string(c.Verdict) + c.Interface() + digits.ReplaceAllString(c.Why, "#")
		at, known := places[key]
		if !known {
			at = len(list)
			places[key] = at
			list = append(list, Finding{Why: c.Why, Verdict: c.Verdict})
		}
		list[at].Clauses = append(list[at].Clauses, c)
	}
	slices.SortStableFunc(list, func(a, b Finding) int {
		if a.Verdict != b.Verdict {
			return 0
		}
		return len(b.Clauses) - len(a.Clauses)
	})
	return list
}

// digits matches what differs between two clauses that fail for the same cause.
var digits = regexp.MustCompile(`0x[0-9a-fA-F]+|[0-9]+`)

// IDs are the clauses of the finding; of many, the first ones.
func (f Finding) IDs() string {
	const most = 4
	var ids []string
	for _, c := range f.Clauses[:min(most, len(f.Clauses))] {
		ids = append(ids, c.ID)
	}
	if len(f.Clauses) > most {
		ids = append(ids, "…")
	}
	return strings.Join(ids, " ")
}

// isInPart says whether an interface could not be judged, and another one was.
func (r *Report) isInPart() bool {
	return len(r.Unusable) > 0 && slices.ContainsFunc(r.Clauses, func(c Clause) bool {
		_, is := r.Unusable[c.Interface()]
		return len(c.Specs) > 0 && !is
	})
}

// Meaning says in one sentence what the result does and does not mean.
func (r *Report) Meaning() string {
	interfaces := map[string]bool{}
	for _, c := range r.Clauses {
		if len(c.Specs) > 0 {
			interfaces[c.Interface()] = true
		}
	}
	var judged []string
	for _, iface := range clauses.Interfaces {
		if interfaces[iface] {
			judged = append(judged, iface)
		}
	}
	about := strings.Join(judged, ", ") + " in " + r.Mode + " mode"
	switch r.Exit {
	case clauses.Conformant:
		return "Every chosen MUST that was judged (" + about +
			") holds in what the specs tried; this says nothing of what is listed as " +
			"not judged, of other forks, of load and time, or of a fault that no spec looks for."
	case clauses.Unusable:
		if r.isInPart() {
			return "The " + strings.Join(slices.Sorted(maps.Keys(r.Unusable)), " and the ") +
				" could not be judged, so this says nothing of what was asked for."
		}
		return "Nothing was judged, so this says neither that the target is right nor that it is wrong."
	case clauses.SuiteFault:
		return "The suite itself failed, so this says nothing about the target."
	default:
		return "At least one chosen rule (" + about +
			") is broken, could not be judged, or ended otherwise than expected; the others " +
			"stand as they are listed."
	}
}

// LeftOut are the clauses that were not judged because they are heavy.
func (r *Report) LeftOut() (ids []string) {
	for _, c := range r.Clauses {
		if c.Heavy != "" && c.Verdict == clauses.NotRun && len(c.Specs) > 0 {
			ids = append(ids, c.ID)
		}
	}
	return ids
}
