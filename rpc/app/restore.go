package app

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/gavel-relay/gavel/rpc"
)

// restore tells the rooms what happened in earlier lives of the process.
func (a *App) restore(ctx context.Context) error {
	if err := a.state.restore(ctx, a.settler.Apply); err != nil {
		return fmt.Errorf("restore: %w", err)
	}
	subjects := slices.Sorted(maps.Keys(decoders))
	err := a.journal.Past(ctx, 1, subjects, func(_ time.Time, subject string, data []byte) error {
		if err := decodeFacts(subject, data, a.remember); err != nil {
			return fmt.Errorf("decode %s: %w", subject, err)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("restore: %w", err)
	}
	return nil
}

func (a *App) remember(fact rpc.Fact) {
	a.desk.Apply(fact)
	a.settler.Apply(fact)
	a.users.Apply(fact)
}
