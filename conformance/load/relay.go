// Package load loads services as a load test says, and hands what they answer to package bench.
//
//	world ─▶ slot ─▶ window ─┬─▶ blocks, built a few ahead ─▶ submissions ─┐
//	                         ├─▶ headers, data, registrations ────────────┼─▶ target ─▶ Sample, Auction
//	                         └─▶ at its end: one delivery ─────────────────┘
//
// A run sends requests while an auction is open: from the moment at which the world can build for a
// slot until the slot begins. Then the proposer asks for its payload, and the next auction opens.
package load

import (
	"cmp"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/conformance/bench"
	"github.com/gavel-relay/gavel/conformance/probe"
	"github.com/gavel-relay/gavel/conformance/world"
)

// RelayKinds are the kinds of requests to a relay that a mix can have. A delivery comes by itself,
// at the end of each auction.
var RelayKinds = []bench.Kind{bench.Registrations, bench.Submissions, bench.Headers, bench.Data}

// Setting is what a relay is loaded with.
type Setting struct {
	Mix bench.Mix
	// Builders is how many there are; Cancelling of them replace bids by lower ones.
	Builders, Cancelling int
	// SameBlock is how many builders submit the same block.
	SameBlock int
	// BlockKB are the sizes of blocks in kB of transactions, in turn. Blobs is how many each has.
	BlockKB []int
	Blobs   int
	Formats []Format
	// Batch is how many registrations a request has.
	Batch int
}

// Check returns an error if a value makes no sense.
func (s Setting) Check() error {
	switch {
	case s.Builders < 1 || s.Builders > 10_000:
		return fmt.Errorf("%d builders: give 1 to 10000", s.Builders)
	case s.Cancelling < 0 || s.Cancelling > s.Builders:
		return fmt.Errorf("%d builders who cancel: give 0 to %d", s.Cancelling, s.Builders)
	case s.SameBlock < 1 || s.SameBlock > s.Builders:
		return fmt.Errorf("%d builders with the same block: give 1 to %d", s.SameBlock, s.Builders)
	case s.Batch < 1 || s.Batch > 500:
		return fmt.Errorf("%d registrations a request: give 1 to 500", s.Batch)
	case s.Blobs < 0 || s.Blobs > 3:
		return fmt.Errorf("%d blobs: give 0 to 3", s.Blobs)
	case len(s.Formats) == 0 || len(s.BlockKB) == 0:
		return errors.New("no format or no size of blocks: give one of each at least")
	}
	for _, f := range s.Formats {
		if !slices.Contains(Formats, f) {
			return fmt.Errorf("format %s: give some of %v", f, Formats)
		}
	}
	for _, kB := range s.BlockKB {
		if kB < 0 || kB*1000 > world.MostBytes {
			return fmt.Errorf("blocks of %d kB: give 0 to %d", kB, world.MostBytes/1000)
		}
	}
	return nil
}

// Relay loads a relay that follows a world.
type Relay struct {
	// ProposerURL, BuilderURL and DataURL are the relay's addresses.
	ProposerURL, BuilderURL, DataURL string
	World                            *world.Client
	Setting                          Setting
	Phases                           []bench.Phase
	// Null says that the target does nothing: it is not waited for, and the world proposes in its
	// place.
	Null bool
	// Wait is how long the relay may take until it lists proposers; 0 is a minute.
	Wait time.Duration
	// Waiting is called once if the relay is not ready at the beginning, with the reason; it may be
	// nil.
	Waiting func(error)
	// Progress is called once in each slot; it may be nil.
	Progress func(phase string, loaded time.Duration, sent int)
}

// relayRun is a run of Relay.
type relayRun struct {
	Relay

	client        *client
	began         time.Time
	validators    []*probe.BLSKey
	builders      []*probe.BLSKey
	registrations *registrations
	cycle         []bench.Kind
	sent          atomic.Int64

	mu      sync.Mutex // guards what follows
	samples []bench.Sample
	found   []bench.Found
	waited  int // requests that waited for a block
	late    int // submissions that were refused since their slot had begun
	refusal string
	unsold  string
	broken  error
	checks  sync.WaitGroup
}

// pause is how long a run waits before it asks again.
const pause = 500 * time.Millisecond

// longestRun bounds a run, whatever its phases are.
const longestRun = time.Hour

// Run loads the relay. Its report has no machine.
func (r Relay) Run(ctx context.Context) (*bench.Report, error) {
	if err := r.Setting.Check(); err != nil {
		return nil, err
	}
	most, long := 1, time.Duration(0)
	for _, p := range r.Phases {
		most, long = max(most, p.Connections), long+p.For
	}
	ctx, cancel := context.WithTimeout(ctx, longestRun)
	defer cancel()
	run := &relayRun{Relay: r, client: newClient(most), began: time.Now(), cycle: r.Setting.Mix.Cycle()}
	defer run.client.close()
	for _, text := range r.World.Facts.ValidatorKeys {
		key, err := probe.ParseBLSKey(unhex(text))
		if err != nil {
			return nil, err
		}
		run.validators = append(run.validators, key)
	}
	for i := range r.Setting.Builders {
		run.builders = append(run.builders, probe.DeriveBLSKey(fmt.Sprintf("bench builder %d", i)))
	}
	if err := run.prepare(ctx, long); err != nil {
		return nil, err
	}
	report := &bench.Report{Schema: bench.Schema, Started: run.began.UTC(), Setting: run.about()}
	for _, p := range r.Phases {
		part, err := run.phase(ctx, p)
		if err != nil {
			return nil, err
		}
		report.Phases = append(report.Phases, part)
	}
	run.checks.Wait()
	report.Faults, report.Notes = run.found, run.notes()
	return report, nil
}

// about describes the setting for a report.
func (r *relayRun) about() bench.Setting {
	s, facts := r.Setting, r.World.Facts
	about := bench.Setting{
		Mix: s.Mix.String(), Fork: facts.Fork, SlotSeconds: facts.Slots(1).Seconds(), Builders: s.Builders,
		Cancelling: s.Cancelling, SameBlock: s.SameBlock, BlockKB: s.BlockKB, Blobs: s.Blobs,
		Validators: len(r.validators), Batch: s.Batch,
	}
	for _, f := range s.Formats {
		about.Formats = append(about.Formats, string(f))
	}
	return about
}

func (r *relayRun) notes() (notes []string) {
	for _, note := range []struct {
		n    int
		text string
	}{
		{r.late, "submissions were refused when their slot had begun, and are left out"},
		{r.waited, "submissions waited for the world to build their block, before they were sent"},
	} {
		if note.n > 0 {
			notes = append(notes, fmt.Sprintf("%d %s", note.n, note.text))
		}
	}
	if r.refusal != "" {
		notes = append(notes, "the first submission that was not taken: "+r.refusal)
	}
	if r.unsold != "" {
		notes = append(notes, "a proposer had no header to sign: "+r.unsold)
	}
	return notes
}

// prepare registers all validators, and waits until the relay lists proposers.
func (r *relayRun) prepare(ctx context.Context, long time.Duration) (err error) {
	if err := sleepUntil(ctx, time.Unix(r.World.Facts.GenesisTime, 0).Add(time.Second)); err != nil {
		return err
	}
	margin := r.World.Facts.Slots(4*len(r.Phases)) + time.Minute
	r.registrations, err = signRegistrations(r.validators, r.World.Facts, r.Setting.Batch, time.Now(), 2*long+margin)
	if err != nil {
		return err
	}
	if r.Null {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(r.Wait, time.Minute))
	defer cancel()
	for {
		why := r.register(ctx)
		if why == nil {
			return nil
		}
		if r.Waiting != nil {
			r.Waiting(why)
			r.Waiting = nil
		}
		if sleepUntil(ctx, time.Now().Add(pause)) != nil {
			return fmt.Errorf("the relay does not list the world's proposers; does it follow the world's beacon node at %s? %w",
				r.World.Facts.BeaconURL, why)
		}
	}
}

// register registers all validators, and returns why the relay does not list them as proposers.
func (r *relayRun) register(ctx context.Context) error {
	for _, body := range r.registrations.rounds[0] {
		answer := r.client.do(ctx, r.registration(body))
		if answer.status != http.StatusOK {
			return fmt.Errorf("register the validators: %s", answer)
		}
	}
	answer := r.client.do(ctx, request{method: http.MethodGet, url: r.BuilderURL + "/relay/v1/builder/validators"})
	var duties []struct {
		Slot string `json:"slot"`
	}
	if answer.status != http.StatusOK || json.Unmarshal(answer.body, &duties) != nil {
		return fmt.Errorf("list the proposers: %s", answer)
	}
	if len(duties) == 0 {
		return errors.New("list the proposers: the list is empty")
	}
	return nil
}

// phase runs a phase: auctions one after another, until they were open for long enough.
func (r *relayRun) phase(ctx context.Context, p bench.Phase) (part bench.Part, err error) {
	part.Phase = p
	began := time.Since(r.began)
	first := r.taken()
	for part.Loaded < p.For {
		w, err := r.open(ctx, p, p.For-part.Loaded)
		if err != nil {
			return part, err
		}
		w.run(ctx)
		if err := cmp.Or(ctx.Err(), r.broken); err != nil {
			return part, fmt.Errorf("load the relay: %w", err)
		}
		part.Loaded += max(w.closes.Sub(w.opened), 0)
		if r.Progress != nil {
			r.Progress(p.Name, part.Loaded, int(r.sent.Load()))
		}
	}
	samples := r.taken()[len(first):]
	part.Measures = bench.Account(append(slices.Clone(RelayKinds), bench.Deliveries), samples, began, time.Since(r.began),
		part.Loaded)
	for _, m := range part.Measures {
		if m.Kind != bench.Deliveries {
			part.PerSecond += m.PerSecond
		}
	}
	return part, nil
}

// taken returns all samples so far.
func (r *relayRun) taken() []bench.Sample {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.samples
}

// since is a time of the run, as package bench has it.
func (r *relayRun) since(at time.Time) time.Duration { return at.Sub(r.began) }

// builderDomain is the domain of the signatures of registrations and submissions.
func builderDomain(facts world.Facts) phase0.Domain {
	var version phase0.Version
	copy(version[:], unhex(facts.GenesisForkVersion))
	return probe.Domain(probe.DomainBuilder, version, phase0.Root{})
}

// unhex decodes hexadecimal text of the world. Text that is none decodes to nothing.
func unhex(text string) []byte {
	raw, err := hex.DecodeString(strings.TrimPrefix(text, "0x"))
	if err != nil {
		return nil
	}
	return raw
}

// sleepUntil waits until a time, and returns an error if the context ends before.
func sleepUntil(ctx context.Context, at time.Time) error {
	timer := time.NewTimer(time.Until(at))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait: %w", ctx.Err())
	}
}
