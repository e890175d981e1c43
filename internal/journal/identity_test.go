package journal

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/nats-io/nats.go/jetstream"
)

// A log of facts is known by its identity, to all who use it and for as long as it exists.
func TestIdentityStaysWithTheLog(t *testing.T) {
	cluster := startCluster(t, maxValue)
	for name, cfg := range map[string]Config{"file": {Dir: filepath.Join(t.TempDir(), "journal")},
		"cluster": {URL: cluster.ClientURL()}} {
		t.Run(name, func(t *testing.T) {
			first, err := Open(t.Context(), withTestQuota(cfg))
			if err != nil {
				t.Fatal(err)
			}
			id := first.ID()
			if len(id) < 20 {
				t.Errorf("identity %q", id)
			}
			shut(t, first)
			again := open(t, cfg)
			if again.ID() != id {
				t.Errorf("%q after a restart, was %q", again.ID(), id)
			}
			if cfg.URL != "" {
				if reader := open(t, Config{URL: cfg.URL, ReadOnly: true}); reader.ID() != id {
					t.Errorf("a reader sees %q, want %q", reader.ID(), id)
				}
			}
		})
	}
}

func TestAnotherLogHasAnotherIdentity(t *testing.T) {
	cfg := withTestQuota(Config{Dir: filepath.Join(t.TempDir(), "journal")})
	first, err := Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	shut(t, first)
	if err := os.RemoveAll(cfg.Dir); err != nil {
		t.Fatal(err)
	}
	if second := open(t, cfg); second.ID() == first.ID() {
		t.Errorf("a new log has the identity of the one that was removed: %q", first.ID())
	}
}

// A log that an earlier version made has no identity: all instances give it the same, and it keeps
// that.
func TestLogOfAnEarlierVersionIsGivenAnIdentity(t *testing.T) {
	cluster := startCluster(t, maxValue)
	old := open(t, Config{URL: cluster.ClientURL()})
	if err := old.js.DeleteStream(t.Context(), factsName); err != nil {
		t.Fatal(err)
	}
	_, err := old.js.CreateStream(t.Context(), jetstream.StreamConfig{Name: factsName, Subjects: []string{"fact.>"}})
	if err != nil {
		t.Fatal(err)
	}
	reader := open(t, Config{URL: cluster.ClientURL(), ReadOnly: true})
	as := Config{URL: cluster.ClientURL(), FactsBytes: -1}
	a, b := open(t, as), open(t, as)
	if a.ID() == "" || a.ID() != b.ID() || a.ID() != reader.ID() {
		t.Errorf("identities %q, %q, and %q for a reader: want one", a.ID(), b.ID(), reader.ID())
	}
	info, err := b.facts.Info(t.Context())
	if err != nil || info.Config.Metadata[idKey] != a.ID() || info.Config.MaxAge != 0 {
		t.Errorf("%v, %v: want the identity written, and the retention left alone", info.Config, err)
	}
}
