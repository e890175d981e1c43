package replay

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// A shard is a stretch of the data set's hours, which are counted one after the other whether or
// not there are hours between them. So a machine reads about the n-th part of the files: the hours
// at both ends of its stretch may be its neighbours', too.
//
//	hours        |  21:00  |  22:00  |  11:00  |
//	shards of 2  |  1           |  2           |

// stretch is a time that is from (in seconds since 1970) on and before to.
type stretch struct{ from, to int64 }

const hourSeconds = 3600

// shardOf returns the hours that the shard i of n needs, and what of each is its own.
func shardOf(hours []hour, i, n int64) (own []hour, parts []stretch, err error) {
	all := int64(len(hours)) * hourSeconds
	first, end := (i-1)*all/n, i*all/n
	for at, h := range hours {
		begins, err := h.begins()
		if err != nil {
			return nil, nil, err
		}
		from, to := first-int64(at)*hourSeconds, end-int64(at)*hourSeconds
		if from, to = max(from, 0), min(to, hourSeconds); from < to {
			own, parts = append(own, h), append(parts, stretch{begins + from, begins + to})
		}
	}
	return own, parts, nil
}

// begins is when an hour begins, as the name of its files says.
func (h hour) begins() (seconds int64, err error) {
	day, file := filepath.Split(h.at)
	date, err := time.Parse("day="+time.DateOnly, filepath.Clean(day))
	if err != nil {
		return 0, fmt.Errorf("read the day of %s: %w", h.at, err)
	}
	n, err := strconv.Atoi(strings.TrimSuffix(file, ".parquet"))
	if err != nil || n < 0 || n > 23 {
		return 0, fmt.Errorf("%s is no hour of a day: it is not of this data set", h.at)
	}
	return date.Unix() + int64(n)*hourSeconds, nil
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
