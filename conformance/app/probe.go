package app

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/gavel-relay/gavel/conformance/clauses"
	"github.com/gavel-relay/gavel/conformance/suite"
	"github.com/gavel-relay/gavel/conformance/target"
)

// Probe finds out what the target's interfaces have, and prints it. A target of which no interface
// answers is unusable.
func Probe(ctx context.Context, out io.Writer, t *target.Target) error {
	if len(t.Containers) > 0 {
		return Mistake("the target is in containers, which run starts: its report has the features")
	}
	gone := suite.FindGone(ctx, t)
	var reasons []string
	for _, iface := range clauses.Interfaces {
		if reason, is := gone[iface]; is {
			reasons = append(reasons, reason)
		}
	}
	if !slices.ContainsFunc(clauses.Interfaces, func(iface string) bool { return t.Has(iface) && gone[iface] == "" }) {
		return Status{clauses.Unusable, strings.Join(reasons, "; ")}
	}
	for _, reason := range reasons {
		fmt.Fprintf(out, "# %s\n", reason)
	}
	return Capabilities(out, suite.Probe(ctx, t, gone))
}
