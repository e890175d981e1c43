package journal

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/gavel-relay/gavel/internal/run"
)

// networkState is the prefix of the subjects that say which network a journal belongs to.
const networkState = "network"

// ErrOtherNetwork says that a journal belongs to another network than the service's.
var ErrOtherNetwork = errors.New("the journal belongs to another network")

// KeepNetwork binds the journal to a network, or refuses the journal if another network has it. A
// network is known by several names and values, for example chain=1: services give those that they
// know, and each is compared with the value that was given first, by any service. Of two services
// that give different values at the same time one is refused. A service must call it before it
// writes anything else, because nothing else in the journal says of which network it is.
func (j *Journal) KeepNetwork(ctx context.Context, known map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(known)) {
		standing, err := j.bindTo(ctx, networkState+"."+Token(name), known[name])
		if err != nil {
			return fmt.Errorf("bind the journal to its network: %w", err)
		}
		if standing != known[name] {
			return fmt.Errorf("%w: its %s is %s, and this service's is %s. Give each network a journal of its own: "+
				"another --data-dir, or another cluster or account in --journal", ErrOtherNetwork, name, standing, known[name])
		}
	}
	return nil
}

// Network returns what KeepNetwork has bound the journal to.
func (j *Journal) Network(ctx context.Context) (known map[string]string, err error) {
	info, err := j.state.Info(ctx, jetstream.WithSubjectFilter(statePrefix+networkState+".>"))
	if err != nil {
		return nil, fmt.Errorf("ask for the journal's network: %w", err)
	}
	known = map[string]string{}
	for subject := range info.State.Subjects {
		value, err := last(ctx, j.state, subject)
		if err != nil {
			return nil, fmt.Errorf("ask for the journal's network: %w", err)
		}
		known[subject[len(statePrefix+networkState+"."):]] = string(value)
	}
	return known, nil
}

// bindTo is firstState that waits for a cluster as a start does: it may elect a leader just now.
func (j *Journal) bindTo(ctx context.Context, subject, value string) (standing string, err error) {
	if j.cfg.URL == "" {
		return j.firstState(ctx, subject, value)
	}
	err = j.patiently(ctx, "the journal's cluster to say of which network it is",
		func(ctx context.Context) (err error) {
			standing, err = j.firstState(ctx, subject, value)
			return err
		})
	return standing, err
}

// firstState returns the state of a subject, which it stores if there is none.
func (j *Journal) firstState(ctx context.Context, subject, value string) (standing string, err error) {
	for ; ; err = run.Pause(ctx, claimRetry) {
		if err != nil {
			return "", err
		}
		data, err := j.State(ctx, subject)
		if err == nil {
			return string(data), nil
		}
		if !errors.Is(err, ErrNotFound) {
			return "", err
		}
		_, won, err := j.SwapState(ctx, subject, 0, []byte(value))
		if err != nil {
			return "", err
		}
		if won {
			return value, nil
		}
	}
}
