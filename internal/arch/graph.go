package arch

import (
	"fmt"
	"slices"
	"strings"
)

// Package is a package of this module. Path is relative to the module; Imports are written as in
// patterns: own ones relative, the standard library's with "std:" in front, all others with "mod:".
type Package struct {
	Path    string
	Imports []string
}

// Graph holds the packages of the module by path.
type Graph map[string]Package

// Breach is one chain of imports by which a package breaks a rule.
type Breach struct {
	// Way lists the imports that lead from the package to what it may not import.
	Way  []string
	Rule Rule
}

// String shows the chain of imports and the reason of the rule.
func (b Breach) String() string {
	return fmt.Sprintf("%s\n\tis against the import law, because %s", strings.Join(b.Way, " → "), b.Rule.Because)
}

// Check returns the breaches of a rule: one for each package and banned import, with the shortest
// chain of imports.
func (g Graph) Check(rule Rule) []Breach {
	var breaches []Breach
	for _, pkg := range g.paths() {
		if matchAny(rule.Packages, pkg) && !matchAny(rule.Except, pkg) {
			for _, way := range g.ways(pkg, rule) {
				breaches = append(breaches, Breach{way, rule})
			}
		}
	}
	return breaches
}

// ways walks the imports of a package, nearest first. It follows packages of this module only. It
// follows neither packages that the rule bans nor packages that it allows by name.
func (g Graph) ways(pkg string, rule Rule) [][]string {
	var found [][]string
	seen := map[string]bool{pkg: true}
	for queue := [][]string{{pkg}}; len(queue) > 0; queue = queue[1:] {
		way := queue[0]
		for _, imported := range g[way[len(way)-1]].Imports {
			if seen[imported] || matchAny(rule.Allowed, imported) {
				continue
			}
			seen[imported] = true
			longer := append(slices.Clone(way), imported)
			if matchAny(rule.Banned, imported) {
				found = append(found, longer)
			} else if _, own := g[imported]; own {
				queue = append(queue, longer)
			}
		}
	}
	return found
}

// Unmatched returns the patterns that no package matches: the package was renamed or removed, so
// the rule guards nothing. Patterns below a future package are left out.
func (g Graph) Unmatched(patterns []string, future []string) []string {
	var lost []string
	for _, pattern := range patterns {
		if !isBelowAny(future, pattern) && !slices.ContainsFunc(g.paths(), func(path string) bool {
			return match(pattern, path)
		}) {
			lost = append(lost, pattern)
		}
	}
	return lost
}

// Arrived returns the packages of the list of future ones that exist.
func (g Graph) Arrived(future []string) []string {
	var here []string
	for _, pkg := range future {
		if slices.ContainsFunc(g.paths(), func(path string) bool { return match(pkg+"/...", path) }) {
			here = append(here, pkg)
		}
	}
	return here
}

func (g Graph) paths() []string {
	paths := make([]string, 0, len(g))
	for path := range g {
		paths = append(paths, path)
	}
	slices.Sort(paths)
	return paths
}

func isBelowAny(packages []string, pattern string) bool {
	return slices.ContainsFunc(packages, func(pkg string) bool {
		return pattern == pkg || strings.HasPrefix(pattern, pkg+"/")
	})
}

func matchAny(patterns []string, path string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool { return match(pattern, path) })
}

// match compares element by element; see Rule for the patterns. "..." matches packages of this
// module only, unless std: or mod: stands in front of it.
func match(pattern, path string) bool {
	kind, rest := cutKind(pattern)
	pathKind, path := cutKind(path)
	if kind != pathKind {
		return false
	}
	wanted, got := strings.Split(rest, "/"), strings.Split(path, "/")
	for i, element := range wanted {
		if element == "..." {
			return true
		}
		if i >= len(got) || element != "*" && element != got[i] {
			return false
		}
	}
	return len(wanted) == len(got)
}

func cutKind(path string) (kind, rest string) {
	for _, kind := range []string{"std:", "mod:"} {
		if rest, found := strings.CutPrefix(path, kind); found {
			return kind, rest
		}
	}
	return "", path
}
