package beacon

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/eth/gloas"
	"github.com/gavel-relay/gavel/internal/sse"
	"github.com/gavel-relay/gavel/relay"
)

// Events are the functions that are called for what the nodes announce. They are called one at a
// time and must not block. If several nodes announce the same, that is one call.
type Events struct {
	Head       func(relay.Head)
	Attributes func(relay.Attributes)
	// Preferences, if not nil, is called for what proposers ask of builders from gloas on. Then the
	// events of the fork are asked for.
	Preferences func(*gloas.SignedProposerPreferences)
	// Block is called for each block that a node has imported, whether it becomes the head or not: two
	// of a slot are an equivocation. It is needed with Preferences.
	Block func(phase0.Slot, phase0.Root)
	// Lacks, if not nil, is called each time that a node is asked for the events of gloas, with its
	// URL without a password: with an error if it refuses them, and is followed without them; with
	// nil if it has them.
	Lacks func(node string, err error)
	// Silence is how long a node may announce no head before it counts as stuck, even if it sends
	// other events (wall time); 0 means 2 min.
	Silence time.Duration
	// Stuck, if not nil, is called each time that a node was silent for so long, with its URL without
	// a password.
	Stuck func(node string, err error)
}

// Waits between attempts to open a node's stream.
const (
	firstWait   = 50 * time.Millisecond
	longestWait = 5 * time.Second
)

// Follow reads events from all nodes until the context ends, and returns its error. If a node
// cannot be reached, or its stream ends, it is tried again after a wait that doubles.
func (n *Nodes) Follow(ctx context.Context, events Events) error {
	if events.Silence == 0 {
		events.Silence = longestSilence * 2
	}
	merged := &merger{events: events, heard: n.heads.noteHead}
	var group sync.WaitGroup
	for _, base := range n.urls {
		group.Go(func() { n.followNode(ctx, base, merged) })
	}
	group.Wait()
	return ctx.Err()
}

func (n *Nodes) followNode(ctx context.Context, base string, merged *merger) {
	wait := firstWait
	for ctx.Err() == nil {
		got, err := n.stream(ctx, base, merged)
		n.heads.forget(base)
		if got {
			wait = firstWait
		}
		if ctx.Err() != nil {
			return
		}
		n.log.Warn("a beacon node's events ended; trying again", "node", redactPassword(base), "wait", wait, "error", err)
		if stuck := merged.events.Stuck; stuck != nil && errors.Is(err, errStuck) {
			stuck(redactPassword(base), errStuck)
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
		case <-timer.C:
		}
		timer.Stop()
		wait = min(2*wait, longestWait)
	}
}

// maxEvent bounds one event in bytes.
const maxEvent = 1 << 20

// longestSilence is how long a stream may send nothing, not even a comment, before it counts as
// dead. It is needed because a connection does not always end when the other side is gone. Nodes
// send a head every slot and comments in between.
const longestSilence = time.Minute

// Reasons to leave a stream that has not ended: it is dead, or its node no longer follows the
// chain.
var (
	errSilence = errors.New("no event and no comment for a minute")
	errStuck   = errors.New("the node announces no heads")
)

// stream reads one node's events until they end; got says whether there was any.
func (n *Nodes) stream(ctx context.Context, base string, merged *merger) (got bool, err error) {
	ctx, leave := context.WithCancelCause(ctx)
	defer leave(nil)
	watchdog := sse.NewWatch(longestSilence, func() { leave(errSilence) })
	defer watchdog.Stop()
	patience := time.AfterFunc(merged.events.Silence, func() { leave(errStuck) })
	defer patience.Stop()

	response, err := n.openEvents(ctx, base, &merged.events)
	if err != nil {
		return false, errors.Join(err, context.Cause(ctx))
	}
	defer response.Body.Close()
	events := sse.NewReader(watchdog.Reader(response.Body), maxEvent)
	for {
		event, err := events.Next()
		if err != nil {
			return got, errors.Join(context.Cause(ctx), fmt.Errorf("the stream ended: %w", err))
		}
		got = true
		if err := merged.take(base, event.Type, event.Data); err != nil {
			n.log.Warn("an event cannot be read", "node", redactPassword(base), "topic", event.Type, "error", err)
		} else if event.Type == headTopic {
			patience.Reset(merged.events.Silence)
		}
	}
}

// openEvents asks a node for its events: for those of gloas too, if they are wanted and the node
// has them.
func (n *Nodes) openEvents(ctx context.Context, base string, events *Events) (*http.Response, error) {
	topics := headTopic + "," + attributesTopic
	if events.Preferences != nil {
		topics += "," + blockTopic
		response, err := n.askEvents(ctx, base, topics+","+headV2Topic+","+preferencesTopic)
		refused := errors.Is(err, errTopics)
		if events.Lacks != nil && (err == nil || refused) {
			events.Lacks(redactPassword(base), err)
		}
		if !refused {
			return response, err
		}
	}
	return n.askEvents(ctx, base, topics)
}

// errTopics means that a node does not know all topics.
var errTopics = errors.New("the node does not have these events")

func (n *Nodes) askEvents(ctx context.Context, base, topics string) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/eth/v1/events?topics="+topics, http.NoBody)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", "text/event-stream")
	response, err := n.http.Do(request)
	if err != nil {
		return nil, err
	}
	switch response.StatusCode {
	case http.StatusOK:
		return response, nil
	case http.StatusBadRequest:
		err = fmt.Errorf("events %s: status 400: %w", topics, errTopics)
	default:
		err = fmt.Errorf("events: status %d", response.StatusCode)
	}
	return nil, errors.Join(err, response.Body.Close())
}
