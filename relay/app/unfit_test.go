package app_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"testing"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/projection/projectiontest"
	"github.com/gavel-relay/gavel/relay/app"
)

// A relay does not start with an archive that does not fit its journal or its version, and says
// what to do.
func TestArchiveThatDoesNotFit(t *testing.T) {
	h := newRelay(t, eth.Capella, relayOptions{configure: func(c *app.Config) { c.AdminToken = operatorToken }})
	projectiontest.RefusesWhatDoesNotFit(t, func(t *testing.T, dataDir, database, moved string) (*projectiontest.Running,
		error) {
		t.Helper()
		cfg := h.cfg
		cfg.DataDir, cfg.Database, cfg.Journal.Moved = dataDir, database, moved
		relay, err := app.New(t.Context(), cfg)
		if err != nil {
			return nil, err
		}
		listener := listen(t)
		ctx, cancel := context.WithCancel(context.Background())
		ended, alone := make(chan error, 1), sync.WaitGroup{}
		alone.Go(func() { ended <- relay.Serve(ctx, listener) })
		return &projectiontest.Running{
			Ended: ended, Newest: relay.NewestFact,
			Work: func() {
				h.app = relay
				for _, on := range []bool{true, false} { // one of them is a change, whatever the journal has
					h.admin(t, "PUT /admin/v1/kill-switch", fmt.Sprintf(`{"on":%t,"why":"a test"}`, on)).wantStatus(t, http.StatusOK)
				}
			},
			Stop: func() error {
				cancel()
				alone.Wait()
				return errors.Join(drained(ended), relay.Close())
			},
		}, nil
	})
}

// drained is what is in a channel, if there is something.
func drained(ended <-chan error) error {
	select {
	case err := <-ended:
		return err
	default:
		return nil
	}
}
