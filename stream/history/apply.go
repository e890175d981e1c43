package history

import (
	"context"
	"encoding/json"
	"fmt"
	"math"

	"github.com/ethereum/go-ethereum/common"

	"github.com/gavel-relay/gavel/internal/orderflow"
	"github.com/gavel-relay/gavel/internal/projection"
)

// decode reads a fact of the bundle RPC and projects it. What it returns has public data only.
func (h *History) decode(entry projection.Entry) (projection.Change, error) {
	if entry.Subject != orderflow.SharedSubject {
		return nil, nil
	}
	var shared orderflow.Shared
	if err := json.Unmarshal(entry.Data, &shared); err != nil {
		return nil, err
	}
	line, err := h.cfg.Project(&shared)
	if err != nil || line == nil {
		return nil, err
	}
	sec := shared.At.Unix()
	if sec < 0 || shared.Block > math.MaxInt64 {
		return nil, fmt.Errorf("order %s came at %v in block %d", shared.Hash, shared.At, shared.Block)
	}
	return announce(entry.Seq, shared.Hash, int64(shared.Block), sec, line), nil
}

// The statements that store an event. The first one that updates the counter locks its row until
// the transaction ends.
const (
	addAnnounced = `INSERT INTO announced (hash) VALUES (?) ON CONFLICT DO NOTHING`
	addID        = `UPDATE counter SET last = CASE WHEN last < ? THEN ? ELSE last + 1 END`
	addEvent     = `INSERT INTO events (id, block, at_s, json) VALUES ((SELECT last FROM counter), ?, ?, ?)`
	addToChunk   = `INSERT INTO chunks (chunk, events, min_block, max_block, min_at_s, max_at_s)
		VALUES ((SELECT (last - 1) / 1024 FROM counter), 1, ?, ?, ?, ?)
		ON CONFLICT (chunk) DO UPDATE SET events = chunks.events + 1,
			min_block = CASE WHEN excluded.min_block < chunks.min_block THEN excluded.min_block ELSE chunks.min_block END,
			max_block = CASE WHEN excluded.max_block > chunks.max_block THEN excluded.max_block ELSE chunks.max_block END,
			min_at_s = CASE WHEN excluded.min_at_s < chunks.min_at_s THEN excluded.min_at_s ELSE chunks.min_at_s END,
			max_at_s = CASE WHEN excluded.max_at_s > chunks.max_at_s THEN excluded.max_at_s ELSE chunks.max_at_s END`
)

// announce stores the event of an order, unless the order had one before. Its id is the number of
// its fact in the journal, so that it is the same in the database of every instance. Ids of an
// earlier version, which counted events, are below the numbers of all facts that come later.
func announce(seq uint64, order common.Hash, block, sec int64, line []byte) projection.Change {
	return func(ctx context.Context, tx projection.Tx) error {
		if fresh, err := tx.Exec(ctx, addAnnounced, order[:]); err != nil || fresh == 0 {
			return err
		}
		if _, err := tx.Exec(ctx, addID, int64(seq), int64(seq)); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, addEvent, block, sec, line); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, addToChunk, block, block, sec, sec)
		return err
	}
}
