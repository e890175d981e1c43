package replay

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/gavel-relay/gavel/internal/run"
	"github.com/gavel-relay/gavel/scenarios"
	"github.com/gavel-relay/gavel/scenarios/backtest"
	"github.com/gavel-relay/gavel/scenarios/dataset"
	"github.com/gavel-relay/gavel/scenarios/figures"
)

// RunOptions say what to replay.
type RunOptions struct {
	// Dir is the folder of the data set, Out that for the results; empty: none are kept.
	Dir, Out string
	How      backtest.Inference
	Variants []backtest.Variant
	// Relay is the only relay that is replayed; empty: all.
	Relay string
	// Shard is which of Shards parts of the slots is replayed, from 1.
	Shard, Shards int64

	// part begins what the figures of some slots need; nil: there are no figures.
	part func() *figures.Part
}

// Report is what came of a replay.
type Report struct {
	Network dataset.Network `json:"network"`
	// Replay is the same in all shards of a replay: a hash of the data set's inputs and of what was
	// asked of it.
	Replay string `json:"replay"`
	// Shard is i/n if only a part of the slots was replayed.
	Shard    string           `json:"shard,omitempty"`
	Slots    int64            `json:"slots"`
	Rules    []string         `json:"rules"`
	Inferred map[string]int64 `json:"inferred"`
	// Models say for variants by name what in them is a model, and no replay.
	Models    map[string][]string `json:"models,omitempty"`
	Summaries []*backtest.Summary `json:"variants"`
}

// Run replays the auctions of a data set. Several hours are read at a time; the results are in the
// order of the slots.
func Run(ctx context.Context, o RunOptions) (*Report, error) {
	report, _, err := replayed(ctx, o)
	return report, err
}

// replayed replays, and also returns what figures need, if they are wanted.
func replayed(ctx context.Context, o RunOptions) (*Report, *figures.Part, error) {
	set, err := readCatalogue(o.Dir)
	if err != nil {
		return nil, nil, err
	}
	network := set.Network
	hours, err := hoursOf(o.Dir)
	if err != nil {
		return nil, nil, err
	}
	report, err := newReport(set, hours, o)
	if err != nil {
		return nil, nil, err
	}
	out, err := newResults(o.Out, network)
	if err != nil {
		return nil, nil, err
	}
	var sums backtest.Summaries
	var whole *figures.Part
	if o.part != nil {
		whole = o.part()
	}
	// A window of hours is replayed at a time, so that results wait for few others.
	for window := range slices.Chunk(hours, runtime.GOMAXPROCS(0)) {
		done := make([]hourly, len(window))
		group, ctx := errgroup.WithContext(ctx)
		for i, hour := range window {
			group.Go(func() (err error) {
				done[i], err = replayHour(ctx, network, hour, o)
				return err
			})
		}
		if err := group.Wait(); err != nil {
			return nil, nil, errors.Join(err, out.abandon())
		}
		for _, d := range done {
			if whole != nil {
				whole.Merge(d.part)
			}
			report.Slots += d.slots
			for rule, n := range d.inferred {
				report.Inferred[rule] += n
			}
			for i := range d.results {
				sums.Add(&d.results[i])
			}
			if err := out.add(d.results); err != nil {
				return nil, nil, errors.Join(err, out.abandon())
			}
		}
	}
	report.Summaries = sums.All
	return report, whole, out.finish(report)
}

func newReport(set *catalogue, hours []hour, o RunOptions) (*Report, error) {
	report := &Report{
		Network: set.Network, Rules: o.How.Sentences(), Inferred: map[string]int64{}, Models: map[string][]string{},
	}
	if o.Shards > 1 {
		report.Shard = fmt.Sprintf("%d/%d", o.Shard, o.Shards)
	}
	for _, v := range o.Variants {
		if models := v.Models(); len(models) > 0 {
			report.Models[v.Name] = models
		}
	}
	var err error
	report.Replay, err = set.replayOf(hours, o)
	return report, err
}

// replayOf is a hash of what a replay follows from, whichever slots it plays. The order in which
// inputs were imported changes nothing.
func (c *catalogue) replayOf(hours []hour, o RunOptions) (string, error) {
	var inputs []string
	for _, in := range c.Inputs {
		inputs = append(inputs, fmt.Sprintf("%q %q %d", in.ID, in.Relay, in.At))
	}
	slices.Sort(inputs)
	var files []string // a part of a data set's hours may have been copied
	for _, h := range hours {
		files = append(files, fmt.Sprintf("%s %t %t", filepath.ToSlash(h.at), h.bids != "", h.deliveries != ""))
	}
	var asked []scenarios.WhatIf
	for _, v := range o.Variants {
		asked = append(asked, v.WhatIf)
	}
	raw, err := json.Marshal([]any{c.SchemaVersion, c.Network, inputs, files, o.How.Sentences(), asked, o.Relay})
	if err != nil {
		return "", fmt.Errorf("name the replay: %w", err)
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:8]), nil
}

// networkOf reads of which network a data set is.
func networkOf(dir string) (dataset.Network, error) {
	set, err := readCatalogue(dir)
	if err != nil {
		return dataset.Network{}, err
	}
	return set.Network, nil
}

// readCatalogue reads what a data set is of.
func readCatalogue(dir string) (*catalogue, error) {
	raw, err := os.ReadFile(filepath.Join(dir, catalogueName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, run.Usage(fmt.Errorf("%s is no data set: make one with replay import", dir))
	}
	if err != nil {
		return nil, fmt.Errorf("read the data set's catalogue: %w", err)
	}
	var c catalogue
	if err := json.Unmarshal(raw, &c); err != nil {
		return nil, fmt.Errorf("read the data set's catalogue: %w", err)
	}
	if c.SchemaVersion != dataset.Version {
		return nil, fmt.Errorf("the data set has version %d of the schema, and this program has version %d: "+
			"import into a new folder", c.SchemaVersion, dataset.Version)
	}
	return &c, nil
}

// hour is the files of one hour and their place below their tables; either file may be missing.
type hour struct{ at, bids, deliveries string }

// filesOf lists the files of a table in the order of their hours.
func filesOf(dir, table string) ([]string, error) {
	files, err := filepath.Glob(filepath.Join(dir, table, "day=*", "*.parquet"))
	if err != nil {
		return nil, fmt.Errorf("list the files of a data set: %w", err)
	}
	return files, nil
}

// hoursOf lists the hours of a data set in order.
func hoursOf(dir string) ([]hour, error) {
	found := map[string]hour{}
	for _, table := range []string{dataset.Bids.Name, dataset.Deliveries.Name} {
		files, err := filesOf(dir, table)
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			at, err := filepath.Rel(filepath.Join(dir, table), file)
			if err != nil {
				return nil, fmt.Errorf("list the files of a data set: %w", err)
			}
			h := found[at]
			h.at = at
			if table == dataset.Bids.Name {
				h.bids = file
			} else {
				h.deliveries = file
			}
			found[at] = h
		}
	}
	var all []hour
	for _, at := range slices.Sorted(maps.Keys(found)) {
		all = append(all, found[at])
	}
	return all, nil
}

// hourly is what came of one hour.
type hourly struct {
	slots    int64
	results  []backtest.Result
	inferred map[string]int64
	part     *figures.Part
}

// columns that a replay looks at.
var (
	bidColumns = []string{
		"slot", "slot_start", "received_at", "observed_at", "source", "kind", "relay", "value_wei", "block_hash",
		"parent_hash",
		"builder_pubkey", "proposer_pubkey", "gas_used", "num_tx", "optimistic", "eligible_at", "verified", "cancellable",
		"sequence", "refusal",
	}
	deliveryColumns = []string{"slot", "slot_start", "relay", "value_wei", "paid_wei", "block_hash", "builder_pubkey"}
)

func replayHour(ctx context.Context, network dataset.Network, h hour, o RunOptions) (done hourly, err error) {
	done.inferred = map[string]int64{}
	if o.part != nil {
		done.part = o.part()
	}
	return done, eachSlot(ctx, network, h, o, func(number int64, slot backtest.Slot) error {
		if number%o.Shards == o.Shard-1 {
			done.slots++
			done.add(slot, o)
		}
		return nil
	})
}

// eachSlot reads an hour slot by slot: the wanted relay's bids, and the deliveries of all relays.
func eachSlot(ctx context.Context, network dataset.Network, h hour, o RunOptions,
	each func(number int64, slot backtest.Slot) error) (err error) {
	columns := bidColumns
	if o.part != nil {
		columns = append(slices.Clone(columns), "worth_wei") // which only figures look at
	}
	bids, err := openRows(dataset.Bids, network, h.bids, columns)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, bids.close()) }()
	deliveries, err := openRows(dataset.Deliveries, network, h.deliveries, deliveryColumns)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, deliveries.close()) }()
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		number, err := nextSlot(bids, deliveries)
		if err != nil || number < 0 {
			return err
		}
		var slot backtest.Slot
		if slot.Bids, err = bids.take(number, func(b *dataset.Bid) bool { return o.wants(b.Relay) }); err != nil {
			return err
		}
		if slot.Deliveries, err = deliveries.take(number, func(*dataset.Delivery) bool { return true }); err != nil {
			return err
		}
		if err := each(number, slot); err != nil {
			return err
		}
	}
}

// add replays a slot.
func (h *hourly) add(slot backtest.Slot, o RunOptions) {
	results, courses := backtest.Replay(slot, o.How, o.Variants, h.inferred)
	results = slices.DeleteFunc(results, func(r backtest.Result) bool { return !o.wants(r.Relay) })
	h.results = append(h.results, results...)
	if h.part != nil {
		courses = slices.DeleteFunc(courses, func(c backtest.Course) bool { return !o.wants(c.Relay) })
		h.part.Add(courses, results)
		h.part.AddBids(slot.Bids)
	}
}

func (o RunOptions) wants(relay dataset.Text) bool { return o.Relay == "" || o.Relay == string(relay) }

// nextSlot is the lesser of the slots that come next, -1 at the end of both.
func nextSlot(bids *rows[dataset.Bid], deliveries *rows[dataset.Delivery]) (int64, error) {
	b, err := bids.peek()
	if err != nil {
		return 0, err
	}
	d, err := deliveries.peek()
	if err != nil {
		return 0, err
	}
	switch {
	case b == nil && d == nil:
		return -1, nil
	case b == nil:
		return d.Slot.V, nil
	case d == nil:
		return b.Slot.V, nil
	}
	return min(b.Slot.V, d.Slot.V), nil
}

// rows reads the rows of a file slot by slot.
type rows[R any] struct {
	name string
	file *os.File
	in   *dataset.Reader[R]
	slot func(*R) int64
	next *R
	last int64
}

// openRows opens a file of a table. Without a name it has no rows.
func openRows[R any](table *dataset.Table[R], network dataset.Network, name string,
	columns []string) (*rows[R], error) {
	r := &rows[R]{name: name, last: -1, slot: func(row *R) int64 { return table.Columns[0].Cell(row).(*dataset.Int).V }}
	if name == "" {
		return r, nil
	}
	file, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("open a file of the data set: %w", err)
	}
	if r.in, err = dataset.NewReader(table, network, file, columns...); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", name, err), file.Close())
	}
	r.file = file
	return r, nil
}

func (r *rows[R]) close() error {
	if r.file == nil {
		return nil
	}
	return r.file.Close()
}

// peek returns the next row, nil at the end.
func (r *rows[R]) peek() (*R, error) {
	if r.next != nil || r.in == nil {
		return r.next, nil
	}
	row, err := r.in.Next()
	switch {
	case errors.Is(err, io.EOF):
		r.in = nil
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read %s: %w", r.name, err)
	case r.slot(row) < r.last:
		return nil, fmt.Errorf("read %s: slot %d comes after slot %d: the file is not sorted", r.name, r.slot(row), r.last)
	}
	r.next, r.last = row, r.slot(row)
	return row, nil
}

// pop returns the next row, nil at the end, and goes on.
func (r *rows[R]) pop() (*R, error) {
	row, err := r.peek()
	r.next = nil
	return row, err
}

// take returns the rows of a slot that are wanted.
func (r *rows[R]) take(slot int64, wanted func(*R) bool) (all []*R, err error) {
	for {
		row, err := r.peek()
		if err != nil || row == nil || r.slot(row) != slot {
			return all, err
		}
		r.next = nil
		if wanted(row) {
			all = append(all, row)
		}
	}
}

// ParseShard reads i/n.
func ParseShard(text string) (i, n int64, err error) {
	first, second, found := strings.Cut(text, "/")
	i, err1 := strconv.ParseInt(first, 10, 32)
	n, err2 := strconv.ParseInt(second, 10, 32)
	if !found || err1 != nil || err2 != nil || i < 1 || i > n {
		return 0, 0, fmt.Errorf("shard %q: write it as i/n, such as 1/4 to 4/4", text)
	}
	return i, n, nil
}
