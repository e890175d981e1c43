package suite

import (
	"context"
	"slices"
	"time"

	"github.com/gavel-relay/gavel/conformance/clauses"
)

// Sane sets the check of an interface that comes before its specs: whether the target lives in the
// world of the run at all. The check ends as inconclusive with the reason if it does not. Then the
// reason is told first, and no clause of the interface is judged, since one cause would look like
// many broken rules. The check must be sure of the reason: what a wrong target could cause as well
// is for the specs.
func (s *Set) Sane(iface string, check func(*T)) { s.sane[iface] = check }

// tellUnusable adds the interfaces whose targets do not live in the world to cfg.Gone, and tells of
// all that are there.
func (s *Set) tellUnusable(ctx context.Context, cfg Config, chosen []Spec) {
	for _, iface := range clauses.Interfaces {
		if !slices.ContainsFunc(chosen, func(spec Spec) bool { return spec.Clause.Interface() == iface }) {
			continue
		}
		if cfg.Gone[iface] == "" {
			if reason := s.WhyUnusable(ctx, cfg, iface); reason != "" {
				cfg.Gone[iface] = reason
			}
		}
		if reason := cfg.Gone[iface]; reason != "" && cfg.Unusable != nil {
			cfg.Unusable(iface, reason)
		}
	}
}

// leastPatience is how long the check of an interface may take at least.
const leastPatience = time.Minute

// WhyUnusable runs the check of an interface, and returns the reason why its target cannot be
// judged in this world; empty if it can.
func (s *Set) WhyUnusable(ctx context.Context, cfg Config, iface string) (reason string) {
	check := s.sane[iface]
	if check == nil {
		return ""
	}
	i := slices.IndexFunc(s.Specs, func(spec Spec) bool { return spec.Clause.Interface() == iface })
	patience := max(cfg.Timeout, leastPatience)
	if cfg.World != nil {
		patience = max(patience, cfg.World.Facts.Patience())
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	about := Spec{Clause: clauses.Clause{ID: s.Specs[i].Clause.ID}, Title: "the target lives in the world"}
	defer func() {
		switch end := recover().(type) {
		case ended:
			if end.outcome == clauses.Inconclusive && ctx.Err() == nil {
				reason = end.message
			}
		case nil:
		default:
			panic(end)
		}
	}()
	check(newT(ctx, cfg, about, 1))
	return ""
}
