package dataset

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Network is the chain that a data set is of. A data set is of one network only, because slots of
// two networks have the same numbers.
type Network struct {
	Name string `json:"name"`
	// GenesisTime is when slot 0 began, in seconds since 1970.
	GenesisTime int64 `json:"genesis_time"`
	SlotSeconds int64 `json:"slot_seconds"`
}

// Networks are the public networks, as their genesis states say (eth-clients on GitHub).
var Networks = []Network{
	{"mainnet", 1606824023, 12},
	{"sepolia", 1655733600, 12},
	{"holesky", 1695902400, 12},
	{"hoodi", 1742213400, 12},
}

// NetworkNamed returns a public network.
func NetworkNamed(name string) (Network, error) {
	at := slices.IndexFunc(Networks, func(n Network) bool { return n.Name == name })
	if at < 0 {
		var names []string
		for _, n := range Networks {
			names = append(names, n.Name)
		}
		return Network{}, fmt.Errorf("network %q is not known: choose one of %s", name, strings.Join(names, ", "))
	}
	return Networks[at], nil
}

// maxSlot keeps the arithmetic of times far from overflow: the year is beyond 30,000.
const maxSlot = 1 << 36

// startMicros is when a slot begins, in microseconds since 1970.
func (n Network) startMicros(slot int64) int64 { return (n.GenesisTime + slot*n.SlotSeconds) * 1e6 }

// farMicros is how far from its slot's start a relay can have received a bid, or a collector have
// seen one. Bids come some seconds before the slot; collectors poll for minutes after it. What is
// further away has a wrong unit or is of another network.
const farMicros = int64(24 * time.Hour / time.Microsecond)

// checkTime refuses a time that is more than a day away from its slot.
func (n Network) checkTime(name string, slot int64, t Time) error {
	if !t.Known {
		return nil
	}
	away := t.Micros - n.startMicros(slot)
	if away < -farMicros || away > farMicros {
		return fmt.Errorf("%s is more than a day away from the start of slot %d on %s: another network, or another unit "+
			"of time",
			name, slot, n.Name)
	}
	return nil
}

var errFarMoment = errors.New("more than a day away from its slot")

// momentIn is a moment so many milliseconds after a slot began.
func (n Network) momentIn(slot, ms int64) (Time, error) {
	if slot < 0 || slot >= maxSlot || ms < -farMicros/1000 || ms > farMicros/1000 {
		return Time{}, errFarMoment
	}
	return Time{n.startMicros(slot) + ms*1000, true}, nil
}

// Part names the file of a table that a row belongs to: the day and the hour (UTC) in which its
// slot begins, or for what has no slot the moment that it is about.
type Part struct {
	// Day is 2024-06-12, Hour 00 to 23.
	Day  string
	Hour int
}

// Path is the part's place below the folder of its table. Readers of Hive-style folders (DuckDB,
// Spark, ClickHouse, pyarrow) take day as a column.
func (p Part) Path() string { return fmt.Sprintf("day=%s/%02d.parquet", p.Day, p.Hour) }

// ComparePart orders parts by time.
func ComparePart(a, b Part) int {
	return cmp.Or(cmp.Compare(a.Day, b.Day), cmp.Compare(a.Hour, b.Hour))
}

func partOf(micros int64) Part {
	at := time.UnixMicro(micros).UTC()
	return Part{at.Format(time.DateOnly), at.Hour()}
}
