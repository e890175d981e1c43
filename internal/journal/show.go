package journal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// Overview is what an operator is shown of a journal.
type Overview struct {
	Journal string // the identity of the log of facts
	Network map[string]string
	Streams []StreamOverview
}

// StreamOverview is what an operator is shown of a stream. Zero bounds are none.
type StreamOverview struct {
	Name            string
	Messages, Bytes uint64
	First, Last     uint64
	MaxAge          time.Duration
	MaxBytes        int64
	Replicas        int
	// Leader is the server that leads, empty in an embedded journal. Behind are the replicas that
	// do not have everything, or are away.
	Leader string
	Behind []string
}

// Show describes a journal.
func Show(ctx context.Context, cfg Config) (*Overview, error) {
	j, err := attachTo(ctx, cfg)
	if err != nil {
		return nil, err
	}
	o, err := j.show(ctx)
	return o, errors.Join(err, j.Close(ctx))
}

func (j *Journal) show(ctx context.Context) (*Overview, error) {
	known, err := j.Network(ctx)
	if err != nil {
		return nil, err
	}
	o := &Overview{Journal: j.id, Network: known}
	for _, name := range []string{factsName, stateName, evidenceName, escrowName, guardName} {
		stream, err := j.js.Stream(ctx, name)
		if errors.Is(err, jetstream.ErrStreamNotFound) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("find stream %s: %w", name, err)
		}
		info := stream.CachedInfo()
		s := StreamOverview{Name: name, Messages: info.State.Msgs, Bytes: info.State.Bytes, First: info.State.FirstSeq,
			Last: info.State.LastSeq, MaxAge: info.Config.MaxAge, MaxBytes: max(info.Config.MaxBytes, 0),
			Replicas: info.Config.Replicas}
		if info.Cluster != nil {
			s.Leader = info.Cluster.Leader
			for _, peer := range info.Cluster.Replicas {
				if !peer.Current || peer.Offline {
					s.Behind = append(s.Behind, peer.Name)
				}
			}
			slices.Sort(s.Behind)
		}
		o.Streams = append(o.Streams, s)
	}
	return o, nil
}

// Finding is what Check found in a part of a journal. Trouble is empty if the part is whole.
type Finding struct {
	Part    string
	Items   uint64
	Trouble string
}

// Check reads all of a journal and compares it with its checksums. Facts must be without gaps. It
// changes nothing, and an embedded journal must not be in use.
func Check(ctx context.Context, cfg Config) ([]Finding, error) {
	j, err := attachTo(ctx, cfg)
	if err != nil {
		return nil, err
	}
	var list []Finding
	for _, name := range []string{factsName, stateName, evidenceName} {
		list = append(list, j.checkStream(ctx, name))
	}
	for _, name := range []string{guardName, escrowName} {
		count, err := j.values(ctx, cfg, name, func(string, []byte) error { return nil })
		found := Finding{Part: name, Items: uint64(count)}
		if err != nil {
			found.Trouble = err.Error()
		}
		list = append(list, found)
	}
	return list, j.Close(ctx)
}

func (j *Journal) checkStream(ctx context.Context, name string) Finding {
	found := Finding{Part: name}
	about, err := j.copyStream(ctx, name, io.Discard)
	if err != nil {
		found.Trouble = err.Error()
		return found
	}
	var state stateOfCopy
	if err := json.Unmarshal(about.State, &state); err != nil {
		found.Trouble = err.Error()
		return found
	}
	found.Items = state.Messages
	read, err := j.countReadable(ctx, name)
	complaints := j.engineLog.of(name)
	switch {
	case err != nil:
		found.Trouble = err.Error()
	case len(complaints) > 0:
		found.Trouble = "the engine says: " + complaints[0]
	case read != state.Messages:
		found.Trouble = fmt.Sprintf("of %d messages %d can be read", state.Messages, read)
	case name == stateName && state.Messages == 0 && state.Last > 0:
		found.Trouble = fmt.Sprintf("all state is missing, up to %d", state.Last)
	case state.Lost != nil && len(state.Lost.Messages) > 0:
		found.Trouble = fmt.Sprintf("%d messages are lost, the first is %d", len(state.Lost.Messages), state.Lost.Messages[0])
	case name == factsName && state.Messages > 0 && state.Last-state.First+1 != state.Messages:
		found.Trouble = fmt.Sprintf("between %d and %d are %d facts: %d are missing", state.First, state.Last, state.Messages,
			state.Last-state.First+1-state.Messages)
	}
	return found
}

// countReadable reads all messages of a stream, which the engine compares with their checksums.
func (j *Journal) countReadable(ctx context.Context, name string) (read uint64, err error) {
	prefix := map[string]string{factsName: factPrefix, stateName: statePrefix, evidenceName: "evidence."}[name]
	err = j.past(ctx, name, prefix, fromPlace(1), []string{">"}, func(uint64, time.Time, string, []byte) error {
		read++
		return nil
	})
	return read, err
}
