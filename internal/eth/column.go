package eth

import "fmt"

// Column is what a room has for each fork: its own column of the table, for values whose type
// differs from fork to fork. A test of internal/arch wants an entry for each row of the table.
type Column[T any] map[Fork]T

// Of returns a fork's entry. The error wraps ErrFork and names what is not there in the fork.
func (c Column[T]) Of(f Fork, what string) (T, error) {
	entry, has := c[f]
	if !has {
		return entry, fmt.Errorf("no %s in %s: %w", what, f, ErrFork)
	}
	return entry, nil
}
