package app

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/gavel-relay/gavel/rpc"
)

// restore tells the rooms what happened in earlier lives of the process, and returns the newest block of them.
func (a *App) restore(ctx context.Context) (last rpc.Head, err error) {
	subjects := slices.Sorted(maps.Keys(decoders))
	err = a.journal.Past(ctx, 1, subjects, func(_ time.Time, subject string, data []byte) error {
		fact, err := decodeFact(subject, data)
		if err != nil {
			return fmt.Errorf("decode %s: %w", subject, err)
		}
		a.desk.Apply(fact)
		a.settler.Apply(fact)
		a.users.Apply(fact)
		switch f := fact.(type) {
		case rpc.BlockIndexed:
			last = f.Head
		case rpc.BlockReverted:
			if f.Hash == last.Hash {
				last = rpc.Head{} // the next indexed one says it
			}
		}
		return nil
	})
	if err != nil {
		return last, fmt.Errorf("restore: %w", err)
	}
	return last, nil
}
