package app

import (
	"context"
	"errors"
	"net"
	"sync"
	"testing"

	"github.com/ethereum/go-ethereum/common"

	"github.com/gavel-relay/gavel/internal/projection/projectiontest"
)

// A bundle RPC does not start with a ledger that does not fit its journal or its version, and says
// what to do.
func TestLedgerThatDoesNotFit(t *testing.T) {
	h, wishes := openChain(t), 0
	projectiontest.RefusesWhatDoesNotFit(t, func(t *testing.T, dataDir, database, moved string) (*projectiontest.Running,
		error) {
		t.Helper()
		service, err := New(t.Context(), h.config(func(cfg *Config) {
			cfg.DataDir, cfg.Database, cfg.Journal.Moved = dataDir, database, moved
		}))
		if err != nil {
			return nil, err
		}
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		ended, alone := make(chan error, 1), sync.WaitGroup{}
		alone.Go(func() { ended <- service.Serve(ctx, listener) })
		return &projectiontest.Running{
			Ended: ended, Newest: service.Journal().Last,
			Work: func() {
				wishes++
				h.url = "http://" + listener.Addr().String()
				h.want(new(any), accountKey(100), "flashbots_setFeeRefundRecipient", addressOf(accountKey(100)),
					common.Address{byte(wishes)})
			},
			Stop: func() error {
				cancel()
				alone.Wait()
				select {
				case err = <-ended:
				default: // taken
				}
				return errors.Join(err, service.Close())
			},
		}, nil
	})
}
