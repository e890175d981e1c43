package app

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/gavel-relay/gavel/internal/journal"
	"github.com/gavel-relay/gavel/internal/projection/projectiontest"
)

func TestMain(m *testing.M) { os.Exit(projectiontest.Main(m)) }

// An event stream does not start with a history that does not fit its journal or its version, and
// says what to do. The journal is another process', read by its URL.
func TestHistoryThatDoesNotFit(t *testing.T) {
	orders := 0
	projectiontest.RefusesWhatDoesNotFit(t, func(t *testing.T, dataDir, database, moved string) (*projectiontest.Running,
		error) {
		t.Helper()
		port := httptest.NewServer(http.NotFoundHandler()) // a port that is free when it is closed
		address := port.Listener.Addr().String()
		port.Close()
		writer, err := journal.Open(t.Context(), journal.Config{Dir: filepath.Join(dataDir, "journal"), Moved: moved,
			Listen: address})
		if err != nil {
			return nil, err
		}
		service, err := New(t.Context(), Config{Journal: journal.Config{URL: "nats://" + address}, Database: database})
		if err != nil {
			return nil, errors.Join(err, writer.Close(context.Background()))
		}
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		ended, alone := make(chan error, 1), sync.WaitGroup{}
		alone.Go(func() { ended <- service.Serve(ctx, listener) })
		return &projectiontest.Running{
			Ended: ended, Newest: writer.Last,
			Work: func() {
				orders++
				share(t, writer, swap(orders, stable))
			},
			Stop: func() error {
				cancel()
				alone.Wait()
				select {
				case err = <-ended:
				default: // taken
				}
				return errors.Join(err, service.Close(), writer.Close(context.Background()))
			},
		}, nil
	})
}
