package app_test

import (
	"context"
	"sync"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/exec"
)

// gate is the validator, which tests can make wait at single blocks.
type gate struct {
	exec.Validator

	mu     sync.Mutex // guards closed
	closed map[phase0.Hash32]*held
}

// held is a block whose validation waits: arrived is closed when it has come, open lets it go on.
type held struct{ arrived, open chan struct{} }

// hold makes the validation of a block wait.
func (g *gate) hold(hash phase0.Hash32) *held {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed == nil {
		g.closed = map[phase0.Hash32]*held{}
	}
	g.closed[hash] = &held{make(chan struct{}), make(chan struct{})}
	return g.closed[hash]
}

// Validate implements exec.Validator.
func (g *gate) Validate(ctx context.Context, block *exec.Block) exec.Verdict {
	g.mu.Lock()
	at := g.closed[block.Payload.BlockHash]
	g.mu.Unlock()
	if at != nil {
		close(at.arrived)
		<-at.open
	}
	return g.Validator.Validate(ctx, block)
}
