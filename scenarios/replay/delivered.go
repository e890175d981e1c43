package replay

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/gavel-relay/gavel/scenarios/dataset"
)

// payload is what a delivered payload is found by.
type payload struct {
	slot  int64
	block dataset.Hash
}

// deliveredOf returns what a data set knows of delivered payloads, an hour at a time. It is nil if
// there are none.
func deliveredOf(c *catalogue) (func(int64, dataset.Hash) ([]dataset.Wei, error), error) {
	files, err := filesOf(c.dir, dataset.Deliveries.Name)
	if err != nil || len(files) == 0 {
		return nil, err
	}
	hours := map[dataset.Part]map[payload][]dataset.Wei{}
	return func(slot int64, block dataset.Hash) ([]dataset.Wei, error) {
		part := dataset.Deliveries.Part(c.Network, &dataset.Delivery{
			SlotStart: dataset.Time{Micros: (c.Network.GenesisTime + slot*c.Network.SlotSeconds) * 1e6, Known: true},
		})
		hour, read := hours[part]
		if !read {
			var err error
			if hour, err = deliveredIn(c, part); err != nil {
				return nil, fmt.Errorf("read what was delivered: %w", err)
			}
			hours[part] = hour
		}
		return hour[payload{slot, block}], nil
	}, nil
}

func deliveredIn(c *catalogue, part dataset.Part) (_ map[payload][]dataset.Wei, err error) {
	name := filepath.Join(c.dir, dataset.Deliveries.Name, filepath.FromSlash(part.Path()))
	file, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	in, err := dataset.NewReader(dataset.Deliveries, c.Network, file, "slot", "block_hash", "value_wei")
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	all := map[payload][]dataset.Wei{}
	for {
		row, err := in.Next()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		key := payload{row.Slot.V, row.BlockHash}
		all[key] = append(all[key], row.ValueWei)
	}
}
