package eth

import "fmt"

// Column is what a package has for each fork, as if it were one more column of Table. It is for
// values whose type differs between forks. A test of internal/arch requires an entry for each of
// Forks.
type Column[T any] map[Fork]T

// Of returns a fork's entry. The error wraps ErrFork and names what the fork lacks.
func (c Column[T]) Of(f Fork, what string) (T, error) {
	entry, has := c[f]
	if !has {
		return entry, fmt.Errorf("no %s in %s: %w", what, f, ErrFork)
	}
	return entry, nil
}
