package replay

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gavel-relay/gavel/internal/run"
	"github.com/gavel-relay/gavel/scenarios/backtest"
)

// Why the results of shards cannot be merged.
var (
	errNoReport    = errors.New("there is no report.json: the shard's replay has not ended")
	errOtherReplay = errors.New("it is of another replay: the data set has other inputs, or the flags were others")
	errShardTwice  = errors.New("it is the same shard as")
	errNotItsSlot  = errors.New("that slot is not in this shard")
	errNotItsSum   = errors.New("its rows do not add up to its report: the files are of two replays, or were changed")
)

// shard is a folder of results.
type shard struct {
	dir    string
	report Report
	// i of n; a whole run is 1 of 1.
	i, n int64
	rows *rows[backtest.Result]
	sums backtest.Summaries
}

// Merge writes the results of all shards of a replay into one folder. The files have the same bytes
// as if one machine had replayed all slots.
func Merge(dirs []string, into string) (_ *Report, err error) {
	var shards []*shard
	defer func() {
		for _, s := range shards {
			if s.rows != nil {
				err = errors.Join(err, s.rows.close())
			}
		}
	}()
	for _, dir := range dirs {
		if same(dir, into) {
			return nil, run.Usage(fmt.Errorf("the results would be written over the shard in %s: give another --into", dir))
		}
		s, err := openShard(dir)
		if err != nil {
			return nil, fmt.Errorf("open the shard in %s: %w", dir, err)
		}
		shards = append(shards, s)
	}
	if err := checkShards(shards); err != nil {
		return nil, err
	}
	report := shards[0].report
	report.Shard, report.Slots, report.Inferred = "", 0, map[string]int64{}
	for _, s := range shards {
		report.Slots += s.report.Slots
		for rule, n := range s.report.Inferred {
			report.Inferred[rule] += n
		}
	}
	out, err := newResults(into, report.Network)
	if err != nil {
		return nil, err
	}
	if report.Summaries, err = mergeRows(shards, out); err != nil {
		return nil, errors.Join(err, out.abandon())
	}
	return &report, out.finish(&report)
}

// same tells whether two paths are one folder. A folder that does not exist yet is no other one.
func same(a, b string) bool {
	first, err := os.Stat(a)
	if err != nil {
		return false
	}
	second, err := os.Stat(b)
	return err == nil && os.SameFile(first, second)
}

func openShard(dir string) (*shard, error) {
	raw, err := os.ReadFile(filepath.Join(dir, reportName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errNoReport
	}
	if err != nil {
		return nil, fmt.Errorf("read the report: %w", err)
	}
	s := &shard{dir: dir, i: 1, n: 1}
	if err := json.Unmarshal(raw, &s.report); err != nil {
		return nil, fmt.Errorf("read the report: %w", err)
	}
	if s.report.Shard != "" {
		if s.i, s.n, err = ParseShard(s.report.Shard); err != nil {
			return nil, fmt.Errorf("read the report: %w", err)
		}
	}
	s.rows, err = openRows(backtest.Results, s.report.Network, filepath.Join(dir, resultsName), nil)
	return s, err
}

// checkShards refuses shards that are not exactly those of one replay.
func checkShards(all []*shard) error {
	first := all[0]
	has := map[int64]*shard{}
	for _, s := range all {
		if s.report.Replay != first.report.Replay || s.n != first.n {
			return fmt.Errorf("merge the shard in %s with the one in %s: %w", s.dir, first.dir, errOtherReplay)
		}
		if other := has[s.i]; other != nil {
			return fmt.Errorf("merge the shard in %s: %w the one in %s", s.dir, errShardTwice, other.dir)
		}
		has[s.i] = s
	}
	var missing []string
	for i := int64(1); i <= first.n && len(missing) < 10; i++ {
		if has[i] == nil {
			missing = append(missing, fmt.Sprintf("%d/%d", i, first.n))
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("merge %d of %d shards: %s is missing", len(all), first.n, strings.Join(missing, ", "))
	}
	return nil
}

// mergeRows writes the rows of all shards in the order of their slots. All slots of a shard come
// before those of the next one.
func mergeRows(shards []*shard, out *results) ([]*backtest.Summary, error) {
	var sums backtest.Summaries
	last := int64(0) // the shard of the slot before
	for {
		next, slot, err := nextShard(shards)
		if err != nil {
			return nil, err
		}
		if next == nil {
			break
		}
		if next.i < last {
			return nil, fmt.Errorf("read the shard in %s: slot %d: %w", next.dir, slot, errNotItsSlot)
		}
		last = next.i
		found, err := next.rows.take(slot, func(*backtest.Result) bool { return true })
		if err != nil {
			return nil, err
		}
		all := make([]backtest.Result, len(found))
		for i, row := range found {
			all[i] = *row
			next.sums.Add(row)
			sums.Add(row)
		}
		if err := out.add(all); err != nil {
			return nil, err
		}
	}
	for _, s := range shards {
		if !slices.EqualFunc(s.sums.All, s.report.Summaries, equalSums) {
			return nil, fmt.Errorf("read the shard in %s: %w", s.dir, errNotItsSum)
		}
	}
	return sums.All, nil
}

// equalSums compares what has been through JSON with what has not.
func equalSums(a, b *backtest.Summary) bool {
	x, err := json.Marshal(a)
	if err != nil {
		return false
	}
	y, err := json.Marshal(b)
	return err == nil && bytes.Equal(x, y)
}

// nextShard is the shard with the lowest slot that comes next, nil at the end of all.
func nextShard(shards []*shard) (next *shard, slot int64, err error) {
	for _, s := range shards {
		row, err := s.rows.peek()
		if err != nil {
			return nil, 0, err
		}
		if row != nil && (next == nil || row.Slot.V < slot) {
			next, slot = s, row.Slot.V
		}
	}
	return next, slot, nil
}
