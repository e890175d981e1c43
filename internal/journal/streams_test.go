package journal

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// hesitant is a cluster that has just begun: its first answers about streams are these errors.
type hesitant struct {
	jetstream.JetStream

	first []error
}

// Stream implements jetstream.JetStream.
func (h *hesitant) Stream(ctx context.Context, name string) (jetstream.Stream, error) {
	if len(h.first) > 0 {
		err := h.first[0]
		h.first = h.first[1:]
		return nil, err
	}
	return h.JetStream.Stream(ctx, name)
}

// A server that does not answer, or does not know yet what another one has made, is asked again
// while the start may wait, and once without such a wait.
func TestStreamsOfAClusterThatHasJustBegun(t *testing.T) {
	j := open(t, Config{})
	patient := Config{StartTimeout: time.Minute}
	for name, c := range map[string]struct {
		first  []error
		cfg    Config
		stream string
		exists bool
		found  bool
		err    error
	}{
		"it answers":         {nil, Config{}, factsName, false, true, nil},
		"there is none":      {nil, patient, "OTHER", false, false, nil},
		"no answer at first": {[]error{context.DeadlineExceeded}, patient, factsName, false, true, nil},
		"no answer, and no wait": {[]error{context.DeadlineExceeded}, Config{}, factsName, false, false,
			context.DeadlineExceeded},
		"another one has made it": {[]error{jetstream.ErrStreamNotFound}, patient, factsName, true, true, nil},
		"no answer, then no stream": {[]error{context.DeadlineExceeded, jetstream.ErrStreamNotFound}, patient, factsName,
			false, false, nil},
	} {
		t.Run(name, func(t *testing.T) {
			asked := &Journal{js: &hesitant{j.js, c.first}, log: j.log, cfg: c.cfg}
			found, err := asked.find(t.Context(), c.stream, c.exists)
			if !errors.Is(err, c.err) || (found != nil) != c.found {
				t.Errorf("found %t, %v", found != nil, err)
			}
		})
	}
}

// The instance that starts last changes nothing for the others: it is refused with what to do, or
// says that it changes streams for all.
func TestStreamsOfOthersAreNotChanged(t *testing.T) {
	cluster := startCluster(t, maxValue)
	cfg := Config{URL: cluster.ClientURL(), FactsFor: time.Hour, FactsBytes: testEscrow, EscrowBytes: testEscrow}
	first := open(t, cfg)
	for name, change := range map[string]func(*Config){
		"age": func(c *Config) { c.FactsFor = time.Minute }, "room": func(c *Config) { c.FactsBytes = -1 },
		"replicas": func(c *Config) { c.Replicas = 3 }, "escrow": func(c *Config) { c.EscrowBytes = testEscrow / 2 },
	} {
		other := cfg
		change(&other)
		if _, err := Open(t.Context(), other); err == nil || !strings.Contains(err.Error(), "--journal-change-streams") {
			t.Errorf("%s: %v, want a refusal that says what to do", name, err)
		}
	}
	info, err := first.facts.Info(t.Context())
	if err != nil || info.Config.MaxAge != time.Hour || info.Config.MaxBytes != testEscrow {
		t.Errorf("%+v, %v: want the stream as it was", info.Config, err)
	}
	open(t, Config{URL: cfg.URL, FactsBytes: testEscrow}) // what is not asked for is as it is
	changed := cfg
	changed.FactsFor, changed.ChangeStreams = time.Minute, true
	open(t, changed)
	if info, err = first.facts.Info(t.Context()); err != nil || info.Config.MaxAge != time.Minute {
		t.Errorf("%+v, %v: want the change", info.Config, err)
	}
}

// Rooms that nobody asked for fit the disk; those that somebody asked for fit, or the journal does
// not start.
func TestRoomsFitTheDisk(t *testing.T) {
	for _, c := range []struct {
		cfg  Config
		disk int64
		want quota
		err  string
	}{
		{Config{}, 1 << 40, quotaOnDisk, ""},
		{Config{}, 512 << 20, quota{}, ""},
		{Config{EscrowBytes: 1 << 30}, 512 << 20, quota{}, "--escrow-megabytes"},
		{Config{}, 64 << 20, quota{}, "64 MiB"},
	} {
		got, err := c.cfg.fit(c.cfg.wished(false), c.disk)
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%d bytes: %v, want %q", c.disk, err, c.err)
			}
			continue
		}
		total := got.facts + got.escrow + got.evidence
		if err != nil || total > c.disk*9/10 || c.disk > 1<<39 && got != c.want {
			t.Errorf("%d bytes: %+v, %v", c.disk, got, err)
		}
	}
}
