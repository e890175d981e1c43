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
	// formatKey is the version of the stream's contents, written by the program that made or last
	// opened the stream.
	formatKey = "gavel_format"
)

// formatVersion is the version of the streams' contents. This program reads versions up to it.
const formatVersion = "1"

// forEver is the engine's value for a stream without a bound in bytes.
const forEver = -1

// factsFor is how long facts are kept by default.
const factsFor = 30 * 24 * time.Hour

// replicasOfCluster is how many replicas a new stream gets by default in a cluster that has at
// least as many servers.
const replicasOfCluster = 3

// makeStreams finds or makes the streams. The stream of facts of a version without state is left as
// it is until Bound.
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

// waitForState finds out whether there are facts but no state. Such facts are of an earlier
// version, and hold what is state now. They must not be dropped before Bound.
func (j *Journal) waitForState(ctx context.Context, cfg Config, facts jetstream.StreamConfig) error {
	if state, err := j.find(ctx, stateName, false); err != nil || state != nil {
		return err
	}
	found, err := j.find(ctx, factsName, false)
	if err != nil || found == nil {
		return err
	}
	j.facts = found
	j.bound = func(ctx context.Context) error {
		_, err := j.makeStream(ctx, cfg, facts)
		return err
	}
	return nil
}

// find finds a stream, nil if there is none. A cluster that has just begun may give no answer, and
// one server may not know yet what another one has made: it is asked again, as long as a start may
// wait. exists says that there is such a stream, whatever the answer is.
func (j *Journal) find(ctx context.Context, name string, exists bool) (found jetstream.Stream, err error) {
	err = j.patiently(ctx, "the journal's cluster to answer for stream "+name, func(ctx context.Context) (err error) {
		found, err = j.js.Stream(ctx, name)
		if errors.Is(err, jetstream.ErrStreamNotFound) && !exists {
			return nil
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("find stream %s: %w", name, err)
	}
	return found, nil
}

// Bound sets the bounds of facts after an upgrade from a version without state. The service calls
// it when it has read its state from the facts and has put it. Otherwise it does nothing. If it is
// not called, the next Open sets the bounds.
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

// factsConfig is the configuration of the stream of facts: it drops facts that are too old, and the
// oldest if they are too many.
func (j *Journal) factsConfig(cfg Config, storage jetstream.StorageType) jetstream.StreamConfig {
	s := jetstream.StreamConfig{
		Name: factsName, Subjects: []string{factPrefix + ">"}, Storage: storage, Discard: jetstream.DiscardOld,
		MaxAge: cfg.FactsFor, MaxBytes: j.quota.facts, Metadata: map[string]string{idKey: rand.Text()},
	}
	switch {
	case s.MaxAge == 0:
		s.MaxAge = factsFor
	case s.MaxAge < 0:
		s.MaxAge = 0 // the engine's value for no bound
	}
	s.MaxBytes = max(s.MaxBytes, forEver)
	s.Duplicates = duplicates(s.MaxAge)
	return s
}

// makeStream finds a stream, or makes it. A stream of the embedded engine that differs from want is
// changed. In a cluster other instances use the stream, too, and the last one to start must not
// decide for all. So there it is changed only if the operator says so.
func (j *Journal) makeStream(ctx context.Context, cfg Config, want jetstream.StreamConfig) (jetstream.Stream, error) {
	want.Metadata = mergeMetadata(map[string]string{formatKey: formatVersion}, want.Metadata)
	want.Replicas = cfg.Replicas
	found, err := j.find(ctx, want.Name, false)
	if err != nil {
		return nil, err
	}
	if found == nil {
		if want.Replicas == 0 {
			want.Replicas = j.defaultReplicas()
		}
		// A direct get is cheaper, but any replica may answer it, also one that does not have an
		// acked value yet.
		want.AllowDirect = want.Name == escrowName && want.Replicas == 1
		made, err := j.create(ctx, cfg, want)
		if err == nil {
			j.made = true
			return made, nil
		}
		if !errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) {
			return nil, err
		}
		if found, err = j.find(ctx, want.Name, true); err != nil { // another instance was faster
			return nil, err
		}
	}
	return j.adopt(ctx, cfg, found, want)
}

// create makes a stream. If a cluster does not have the default room, and the operator has not set
// a size, the stream gets less.
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

// electionTries is how often a cluster that does not answer is asked to make a stream. While it
// elects a leader it answers no request; each try takes 5 s.
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

// adopt uses a stream that exists, and changes it if that is allowed and needed.
func (j *Journal) adopt(ctx context.Context, cfg Config, found jetstream.Stream,
	want jetstream.StreamConfig) (jetstream.Stream, error) {
	have := found.CachedInfo().Config
	if format := have.Metadata[formatKey]; len(format) > len(formatVersion) || len(format) == len(formatVersion) &&
		format > formatVersion {
		return nil, fmt.Errorf("stream %s is of format %s, this version of gavel reads formats up to %s: start the newer "+
			"version again", want.Name, format, formatVersion)
	}
	next := have
	next.Metadata = mergeMetadata(have.Metadata, map[string]string{formatKey: formatVersion})
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
		note(have.MaxBytes != translateBound(want.MaxBytes), "it keeps %d bytes, not %d (-1 is no bound)", have.MaxBytes,
			translateBound(want.MaxBytes))
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

// asks says whether the operator has set the age and the bytes that a stream keeps.
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

// translateBound returns a bound in bytes as the engine has it: -1 for none.
func translateBound(bytes int64) int64 {
	if bytes <= 0 {
		return forEver
	}
	return bytes
}

// defaultReplicas is 3 if the cluster has at least three servers, and else 1.
func (j *Journal) defaultReplicas() int {
	if j.server == nil && len(j.conn.Servers()) >= replicasOfCluster {
		return replicasOfCluster
	}
	return 1
}

// identityOf is the identity of a log of facts. A log of an earlier version has none yet. A hash of
// the time at which it was made takes its place, which is the same for every caller.
func identityOf(facts *jetstream.StreamInfo) string {
	if id := facts.Config.Metadata[idKey]; id != "" {
		return id
	}
	sum := sha256.Sum256([]byte(facts.Created.UTC().Format(time.RFC3339Nano)))
	return hex.EncodeToString(sum[:16])
}

// mergeMetadata merges two maps of metadata; values of the second win.
func mergeMetadata(a, b map[string]string) map[string]string {
	all := maps.Clone(a)
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, b)
	return all
}

// duplicates is how long the engine remembers message ids. The journal uses none, but the time must
// not be longer than the messages' age.
func duplicates(maxAge time.Duration) time.Duration {
	if maxAge == 0 {
		return time.Minute
	}
	return min(maxAge, time.Minute)
}
