package proposer

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

var errRefused = errors.New("refused")

// The first relay that does what is asked is enough, and the others go on until their time is over,
// also if the caller has gone. All errors are told if none does.
func TestFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		relays := connect(t, &relay{name: "refuses"}, &relay{name: "hangs"}, &relay{name: "takes"})
		ctx, leave := context.WithCancel(t.Context())
		began := time.Now()
		ended := make(chan time.Duration, 1)
		got, err := first(ctx, 4*time.Second, relays, func(ctx context.Context, r Relay) (string, error) {
			switch r.Client.URL() {
			case "http://refuses":
				return "", errRefused
			case "http://hangs":
				<-ctx.Done()
				ended <- time.Since(began)
				return "", ctx.Err()
			default:
				time.Sleep(time.Second)
				return "taken", nil
			}
		})
		if leave(); err != nil || got != "taken" || time.Since(began) != time.Second {
			t.Errorf("got %q, %v after %v", got, err, time.Since(began))
		}
		if took := <-ended; took != 4*time.Second {
			t.Errorf("the relay that hangs was left after %v", took)
		}
		if _, err := first(t.Context(), time.Second, relays[:1], func(context.Context, Relay) (int, error) {
			return 0, errRefused
		}); !errors.Is(err, errRefused) {
			t.Errorf("got %v when no relay does", err)
		}
	})
}
