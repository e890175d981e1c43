package app

import (
	"cmp"
	"math"
	"time"

	"github.com/gavel-relay/gavel/conformance/target"
	"github.com/gavel-relay/gavel/conformance/world"
	"github.com/gavel-relay/gavel/internal/clock"
)

const (
	// ownSpeed is how many times as fast as the wall gavel's own services run at most. What they wait
	// for is over sooner then. A slot takes leastSlot of wall time at least, since journals write
	// meanwhile.
	ownSpeed  = 3
	leastSlot = 2 * time.Second / ownSpeed
	// builderSpeed is the speed at which our own builder is judged alone.
	builderSpeed = 16
	// ownTimeout bounds a spec in wall time, since the clock may stand for long.
	ownTimeout = 10 * time.Minute
)

// ByOwnClock has gavel's own services, their world and the specs run by one clock, which is faster
// than the wall and stands while this process has work to do. So a busy machine makes a run longer
// and changes no verdict. A target elsewhere goes by the wall; for it ByOwnClock does nothing.
//
// Journals sync and gather what they write by the wall, which the clock does not wait for. So the
// budgets of chain time grow by the clock's speed.
func ByOwnClock(s *Source, o *Options) {
	if !s.Local && (!s.startsBuilder() || !s.Target.Builder.Own) {
		return
	}
	speed := min(ownSpeed, float64(cmp.Or(s.World.Slot, world.UsualSlot))/float64(leastSlot))
	if !s.Local {
		speed = builderSpeed // a builder alone keeps no journal
	}
	paced := clock.NewPaced(time.Now().Truncate(time.Second), speed)
	s.World.Clock, o.Clock, o.Again = paced, paced, false
	o.Timeout = max(o.Timeout, ownTimeout)
	grown := int(math.Round(3000 * speed))
	s.Budgets = target.Budgets{AnswerMs: 30_000, HintMs: grown, SettleMs: grown}
}
