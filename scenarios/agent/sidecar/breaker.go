package sidecar

import (
	"context"
	"fmt"
	"net/http"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/devnet/plan"
)

// broken says whether the circuit breaker is open. It looks at the slots before the one that is proposed for; once open it stays so.
func (s *Sidecar) broken(ctx context.Context, slot phase0.Slot) bool {
	b := s.Breaker
	if b == (plan.Breaker{}) {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open {
		return true
	}
	missed := s.missedBefore(ctx, slot, max(b.MissedInRow, b.Window))
	s.open = opens(b, missed)
	if s.open {
		s.Tell(plan.Record{Actor: plan.ProposersName, Subject: plan.BreakerOpened, Slot: int(slot)}) //nolint:gosec // few slots
	}
	return s.open
}

// opens is the breaker's rule. missed says of the slots before, the last one first, which have no block.
func opens(b plan.Breaker, missed []bool) bool {
	inRow, ofWindow, row := 0, 0, true
	for i, gone := range missed {
		row = row && gone
		if row {
			inRow++
		}
		if gone && i < b.Window {
			ofWindow++
		}
	}
	return b.MissedInRow > 0 && inRow >= b.MissedInRow || b.MissedOf > 0 && ofWindow >= b.MissedOf
}

// missedBefore asks the validators' own beacon node. A slot that it says nothing of counts as one with a block.
func (s *Sidecar) missedBefore(ctx context.Context, slot phase0.Slot, count int) []bool {
	var missed []bool
	for before := slot - 1; before > 0 && before < slot && len(missed) < count; before-- {
		status, err := s.ask(ctx, fmt.Sprintf("/eth/v1/beacon/headers/%d", before))
		if err != nil {
			s.Log.Warn("circuit breaker: ask beacon node", "slot", before, "error", err)
		}
		missed = append(missed, err == nil && status == http.StatusNotFound)
	}
	return missed
}

func (s *Sidecar) ask(ctx context.Context, path string) (status int, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.BeaconURL+path, http.NoBody)
	if err != nil {
		return 0, fmt.Errorf("make request: %w", err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, fmt.Errorf("ask beacon node: %w", err)
	}
	return response.StatusCode, response.Body.Close()
}
