package journal

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// Names of the streams.
const (
	factsName    = "FACTS"
	stateName    = "STATE"
	escrowName   = "ESCROW"
	guardName    = "GUARD"
	evidenceName = "EVIDENCE"
)

// Names in a stream's metadata.
const (
	// idKey is the random identity of the log of facts, written when its stream is made.
	idKey = "gavel_journal_id"
	// formatKey is the version of what is kept in the stream, written by the version of this program
	// that made it.
	formatKey = "gavel_format"
)

// formatVersion is the version of the streams' contents. This program reads versions up to it.
const formatVersion = "1"

// forEver is the retention of facts without an end.
const forEver = -1

// factsFor is how long facts are kept, if nobody asks for another span.
const factsFor = 30 * 24 * time.Hour

// replicasOfCluster is how many replicas a stream gets by default in a cluster that has as many
// servers.
const replicasOfCluster = 3

// makeStreams finds or makes the streams. Facts of a version that kept no state are left as they
// are until Bound.
func (j *Journal) makeStreams(ctx context.Context, cfg Config) (err error) {
	storage := jetstream.FileStorage
	if cfg.URL == "" && cfg.Dir == "" {
		storage = jetstream.MemoryStorage
	}
	facts := j.factsConfig(cfg, storage)
	if err := j.waitForState(ctx, cfg, facts); err != nil {
		return err
	}
	if j.bound == nil {
		if j.facts, err = j.makeStream(ctx, cfg, facts); err != nil {
			return err
		}
	}
	j.id = identityOf(j.facts.CachedInfo())
	for _, s := range []struct {
		stream *jetstream.Stream
		config jetstream.StreamConfig
	}{
		{&j.state, jetstream.StreamConfig{Name: stateName, Subjects: []string{statePrefix + ">"}, Storage: storage,
			MaxMsgsPerSubject: 1}},
		{&j.evidence, jetstream.StreamConfig{
			Name: evidenceName, Subjects: []string{"evidence.>"}, Storage: storage, MaxMsgsPerSubject: 1,
			MaxBytes: j.quota.evidence,
		}},
	} {
		if *s.stream, err = j.makeStream(ctx, cfg, s.config); err != nil {
			return err
		}
	}
	return nil
}

// waitForState finds facts that are there while there is no state: those of an earlier version,
// which hold what is state now.
func (j *Journal) waitForState(ctx context.Context, cfg Config, facts jetstream.StreamConfig) error {
	_, err := j.js.Stream(ctx, stateName)
	if err == nil {
		return nil
	}
	if !errors.Is(err, jetstream.ErrStreamNotFound) {
		return fmt.Errorf("find stream %s: %w", stateName, err)
	}
	found, err := j.js.Stream(ctx, factsName)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("find stream %s: %w", factsName, err)
	}
	j.facts = found
	j.bound = func(ctx context.Context) error {
		_, err := j.makeStream(ctx, cfg, facts)
		return err
	}
	return nil
}

// Bound gives facts their bounds in the first life after an upgrade from a version that kept no
// state. Whoever has read what was state from facts and has put it calls it; it does nothing later.
// If nobody does, the bounds come with the next Open.
func (j *Journal) Bound(ctx context.Context) error {
	if j.bound == nil {
		return nil
	}
	if err := j.bound(ctx); err != nil {
		return err
	}
	j.bound = nil
	return nil
}

// factsConfig is the stream of facts: the oldest go when they are too old or too many. What must
// outlive them is state.
func (j *Journal) factsConfig(cfg Config, storage jetstream.StorageType) jetstream.StreamConfig {
	s := jetstream.StreamConfig{
		Name: factsName, Subjects: []string{factPrefix + ">"}, Storage: storage, Discard: jetstream.DiscardOld,
		MaxAge: cfg.FactsFor, MaxBytes: j.quota.facts, Metadata: map[string]string{idKey: rand.Text()},
	}
	switch {
	case s.MaxAge == 0:
		s.MaxAge = factsFor
	case s.MaxAge < 0:
		s.MaxAge = 0 // the engine's word for no bound
	}
	s.MaxBytes = max(s.MaxBytes, forEver)
	s.Duplicates = duplicates(s.MaxAge)
	return s
}

// makeStream finds a stream, or makes it as it is wanted. One that is there and differs is the
// embedded engine's own matter, and is changed; in a cluster it is others' as well, and is changed
// only if the operator says so: the last instance to start must not decide for all.
func (j *Journal) makeStream(ctx context.Context, cfg Config, want jetstream.StreamConfig) (jetstream.Stream, error) {
	want.Metadata = joined(map[string]string{formatKey: formatVersion}, want.Metadata)
	want.Replicas = cfg.Replicas
	found, err := j.js.Stream(ctx, want.Name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		if want.Replicas == 0 {
			want.Replicas = j.defaultReplicas()
		}
		// A direct get is cheaper, but any replica may answer it, also one that has not yet seen what was
		// acked.
		want.AllowDirect = want.Name == escrowName && want.Replicas == 1
		made, err := j.create(ctx, cfg, want)
		if err == nil {
			j.made = true
			return made, nil
		}
		if !errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) {
			return nil, err
		}
		found, err = j.js.Stream(ctx, want.Name) // another instance was faster
		if err != nil {
			return nil, fmt.Errorf("find stream %s: %w", want.Name, err)
		}
	} else if err != nil {
		return nil, fmt.Errorf("find stream %s: %w", want.Name, err)
	}
	return j.adopt(ctx, cfg, found, want)
}

// create makes a stream. In a cluster that has not the room which nobody has asked for, it gets
// less.
func (j *Journal) create(ctx context.Context, cfg Config, want jetstream.StreamConfig) (jetstream.Stream, error) {
	_, asked := cfg.asks(want.Name)
	for wanted := want.MaxBytes; ; want.MaxBytes /= 2 {
		made, err := j.createPatiently(ctx, want)
		switch {
		case err == nil && want.MaxBytes < wanted:
			j.log.Warn("the cluster has not the room that a stream has by default", "stream", want.Name, "bytes", want.MaxBytes,
				"by_default", wanted)
			return made, nil
		case err == nil:
			return made, nil
		case !exceedsQuota(err):
			return nil, fmt.Errorf("make stream %s: %w", want.Name, err)
		case asked || want.MaxBytes < 2*leastQuota:
			return nil, fmt.Errorf("the cluster has not the room for stream %s: it needs %s on each of %d servers, beside "+
				"what others have set aside: lower "+
				"--facts-megabytes, --escrow-megabytes, --evidence-megabytes or --journal-replicas, or raise the servers' "+
				"max_file_store: %w",
				want.Name, size(want.MaxBytes), want.Replicas, err)
		}
	}
}

// electionTries is how often a cluster is asked for a stream that does not answer: while it elects
// a leader it answers nobody, 5 s each time.
const electionTries = 4

func (j *Journal) createPatiently(ctx context.Context, want jetstream.StreamConfig) (jetstream.Stream, error) {
	for try := 1; ; try++ {
		made, err := j.js.CreateStream(ctx, want)
		if !errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil || try == electionTries {
			return made, err
		}
		j.log.Warn("the cluster does not answer when it is asked for a stream, and is asked again", "stream",
			want.Name, "try", try)
	}
}

// adopt takes a stream that is there already.
func (j *Journal) adopt(ctx context.Context, cfg Config, found jetstream.Stream,
	want jetstream.StreamConfig) (jetstream.Stream, error) {
	have := found.CachedInfo().Config
	if format := have.Metadata[formatKey]; len(format) > len(formatVersion) || len(format) == len(formatVersion) &&
		format > formatVersion {
		return nil, fmt.Errorf("stream %s is of format %s, this version of gavel reads formats up to %s: start the newer "+
			"version again", want.Name, format, formatVersion)
	}
	next := have
	next.Metadata = joined(have.Metadata, map[string]string{formatKey: formatVersion})
	if want.Name == factsName {
		next.Metadata[idKey] = identityOf(found.CachedInfo())
	}
	if want.Replicas == 0 {
		want.Replicas = have.Replicas
	}
	var differ []string
	note := func(differs bool, format string, args ...any) {
		if differs {
			differ = append(differ, fmt.Sprintf(format, args...))
		}
	}
	note(have.Replicas != want.Replicas, "it has %d replicas, not %d", have.Replicas, want.Replicas)
	age, bytes := cfg.asks(want.Name)
	own := cfg.URL == ""
	if own || age {
		note(have.MaxAge != want.MaxAge, "it keeps messages for %s, not %s (0s is for ever)", have.MaxAge, want.MaxAge)
		next.MaxAge, next.Duplicates = want.MaxAge, want.Duplicates
	}
	if own || bytes {
		note(have.MaxBytes != unlimited(want.MaxBytes), "it keeps %d bytes, not %d (-1 is no bound)", have.MaxBytes,
			unlimited(want.MaxBytes))
		next.MaxBytes = want.MaxBytes
	}
	if want.Name == factsName && next.MaxAge == 0 && next.MaxBytes <= 0 {
		j.log.Warn("the stream of facts has no bound and grows for ever: give --facts-for or --facts-megabytes, once with "+
			"--journal-change-streams",
			"stream", want.Name)
	}
	if len(differ) > 0 && cfg.URL != "" && !cfg.ChangeStreams {
		return nil, fmt.Errorf("stream %s in the cluster is not as it is asked for: %s. Other instances use it: "+
			"start with the flags that they have (journal-replicas, facts-for, facts-megabytes, escrow-megabytes), or once "+
			"with --journal-change-streams to change it for all",
			want.Name, strings.Join(differ, "; "))
	}
	next.Replicas = want.Replicas
	if len(differ) == 0 && maps.Equal(next.Metadata, have.Metadata) {
		return found, nil
	}
	if len(differ) > 0 {
		j.log.Info("a stream is changed", "stream", want.Name, "because", strings.Join(differ, "; "))
	}
	changed, err := j.js.UpdateStream(ctx, next)
	if err != nil {
		return nil, fmt.Errorf("change stream %s: %w", want.Name, err)
	}
	return changed, nil
}

// asks says whether the operator has said for how long, and how much of, a stream is to be kept.
func (c *Config) asks(stream string) (age, bytes bool) {
	switch stream {
	case factsName:
		return c.FactsFor != 0, c.FactsBytes != 0
	case escrowName:
		return c.EscrowFor != 0, c.EscrowBytes != 0
	case evidenceName:
		return false, c.EvidenceBytes != 0
	}
	return false, false
}

// unlimited is a bound in bytes in the engine's words, in which -1 is none.
func unlimited(bytes int64) int64 {
	if bytes <= 0 {
		return forEver
	}
	return bytes
}

// defaultReplicas are three if there are as many servers to keep them.
func (j *Journal) defaultReplicas() int {
	if j.server == nil && len(j.conn.Servers()) >= replicasOfCluster {
		return replicasOfCluster
	}
	return 1
}

// identityOf is the identity of a log of facts. One that was made by an earlier version has none
// yet: the moment it was made at stands in for it, which is the same for all who ask.
func identityOf(facts *jetstream.StreamInfo) string {
	if id := facts.Config.Metadata[idKey]; id != "" {
		return id
	}
	sum := sha256.Sum256([]byte(facts.Created.UTC().Format(time.RFC3339Nano)))
	return hex.EncodeToString(sum[:16])
}

// joined are two lots of metadata; the second rules.
func joined(a, b map[string]string) map[string]string {
	all := maps.Clone(a)
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, b)
	return all
}

// duplicates is how long the engine remembers message ids, which nobody here gives; it may not be
// longer than the messages live.
func duplicates(maxAge time.Duration) time.Duration {
	if maxAge == 0 {
		return time.Minute
	}
	return min(maxAge, time.Minute)
}
