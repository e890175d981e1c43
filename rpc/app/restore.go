package app

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"
)

// restore tells the rooms what happened in earlier lives of the process.
func (a *App) restore(ctx context.Context) error {
	subjects := slices.Sorted(maps.Keys(decoders))
	err := a.journal.Past(ctx, 1, subjects, func(_ time.Time, subject string, data []byte) error {
		fact, err := decodeFact(subject, data)
		if err != nil {
			return fmt.Errorf("decode %s: %w", subject, err)
		}
		a.desk.Apply(fact)
		a.settler.Apply(fact)
		a.users.Apply(fact)
		return nil
	})
	if err != nil {
		return fmt.Errorf("restore: %w", err)
	}
	return nil
}
