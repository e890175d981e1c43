package journal

import (
	"strings"
	"testing"
	"time"
)

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
