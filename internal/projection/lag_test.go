package projection

import (
	"context"
	"testing"
	"testing/synctest"
)

// progress answers with a number; a negative one is silent until the caller gives up.
type progress int

func (p progress) Last(ctx context.Context) (uint64, error) {
	if p < 0 {
		<-ctx.Done()
		return 0, ctx.Err()
	}
	return uint64(p), nil
}

func TestLag(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, c := range []struct {
			journal, projection progress
			want                float64
		}{
			{7, 7, 0}, {7, 4, 3}, {0, 0, 0}, {-1, 4, -1}, {7, -1, -1},
		} {
			if got := Lag(c.journal, c.projection); got != c.want {
				t.Errorf("journal at %d, projection at %d: lag %v, want %v", c.journal, c.projection, got, c.want)
			}
		}
	})
}

// busy is a journal and its projection, which both grow whenever one of them is asked.
type busy struct{ facts uint64 }

func (b *busy) Last(context.Context) (uint64, error) {
	b.facts += 10
	return b.facts, nil
}

// Facts that come while the two are asked are no facts that the journal has lost.
func TestLagWhileFactsCome(t *testing.T) {
	if both := new(busy); Lag(both, both) < 0 {
		t.Error("a projection seems to be ahead of its journal")
	}
}
