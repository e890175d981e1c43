package beacon

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/eth"
)

// farFuture is the epoch of a fork that is not scheduled.
const farFuture = 1<<64 - 1

// Spec reads the network that the nodes are on (beacon-APIs, getGenesis and getSpec).
func (n *Nodes) Spec(ctx context.Context) (*eth.Spec, error) {
	var genesis struct {
		Data struct {
			Time        string `json:"genesis_time"`
			Root        string `json:"genesis_validators_root"`
			ForkVersion string `json:"genesis_fork_version"`
		} `json:"data"`
	}
	if err := n.get(ctx, "/eth/v1/beacon/genesis", &genesis); err != nil {
		return nil, fmt.Errorf("fetch genesis: %w", err)
	}
	var config struct {
		Data map[string]json.RawMessage `json:"data"`
	}
	if err := n.get(ctx, "/eth/v1/config/spec", &config); err != nil {
		return nil, fmt.Errorf("fetch spec: %w", err)
	}
	spec := &eth.Spec{}
	seconds, err := strconv.ParseInt(genesis.Data.Time, 10, 64)
	if err != nil {
		return nil, fmt.Errorf("genesis time: %w", err)
	}
	spec.GenesisTime = time.Unix(seconds, 0)
	if err := eth.ParseHex(genesis.Data.Root, spec.GenesisValidatorsRoot[:]); err != nil {
		return nil, fmt.Errorf("genesis validators root: %w", err)
	}
	if err := eth.ParseHex(genesis.Data.ForkVersion, spec.GenesisForkVersion[:]); err != nil {
		return nil, fmt.Errorf("genesis fork version: %w", err)
	}
	if err := fillSpec(spec, config.Data); err != nil {
		return nil, fmt.Errorf("read spec: %w", err)
	}
	return spec, spec.Validate()
}

// table is the node's configuration. Values are strings, or lists, which are decoded where they are
// used.
type table map[string]json.RawMessage

func (t table) text(name string) string {
	var text string
	if json.Unmarshal(t[name], &text) != nil {
		return "" // a list, or missing
	}
	return text
}

func (t table) number(name string) (uint64, error) {
	n, err := strconv.ParseUint(t.text(name), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%s is %q: want a number", name, t.text(name))
	}
	return n, nil
}

func fillSpec(spec *eth.Spec, config map[string]json.RawMessage) error {
	t := table(config)
	// New nodes have milliseconds, old ones seconds.
	if ms, err := t.number("SLOT_DURATION_MS"); err == nil {
		spec.SlotDuration = time.Duration(ms) * time.Millisecond
	} else if seconds, err := t.number("SECONDS_PER_SLOT"); err == nil {
		spec.SlotDuration = time.Duration(seconds) * time.Second
	} else {
		return err
	}
	if id, err := t.number("DEPOSIT_CHAIN_ID"); err == nil {
		spec.DepositChainID = id
	}
	var err error
	if spec.SlotsPerEpoch, err = t.number("SLOTS_PER_EPOCH"); err != nil {
		return err
	}
	for _, fork := range eth.KnownForks() {
		name := strings.ToUpper(fork.String())
		epoch, err := t.number(name + "_FORK_EPOCH")
		if err != nil || epoch == farFuture {
			continue
		}
		point := eth.ForkPoint{Fork: fork, Epoch: phase0.Epoch(epoch)}
		if err := eth.ParseHex(t.text(name+"_FORK_VERSION"), point.Version[:]); err != nil {
			return fmt.Errorf("%s_FORK_VERSION: %w", name, err)
		}
		// If several forks begin in the same epoch, only the last of them is ever active.
		if last := len(spec.Forks) - 1; last >= 0 && spec.Forks[last].Epoch == point.Epoch {
			spec.Forks[last] = point
			continue
		}
		spec.Forks = append(spec.Forks, point)
	}
	return fillBlobs(spec, t)
}

func fillBlobs(spec *eth.Spec, t table) error {
	var schedule []map[string]string
	if raw := t["BLOB_SCHEDULE"]; raw != nil {
		if err := json.Unmarshal(raw, &schedule); err != nil {
			return fmt.Errorf("BLOB_SCHEDULE: %w", err)
		}
	}
	for _, entry := range schedule {
		epoch, err := strconv.ParseUint(entry["EPOCH"], 10, 64)
		if err != nil {
			return fmt.Errorf("BLOB_SCHEDULE: epoch %q", entry["EPOCH"])
		}
		limit, err := strconv.ParseUint(entry["MAX_BLOBS_PER_BLOCK"], 10, 64)
		if err != nil {
			return fmt.Errorf("BLOB_SCHEDULE: limit %q", entry["MAX_BLOBS_PER_BLOCK"])
		}
		spec.Blobs = append(spec.Blobs, eth.BlobLimit{Epoch: phase0.Epoch(epoch), MaxBlobs: limit})
	}
	slices.SortFunc(spec.Blobs, func(a, b eth.BlobLimit) int { return int(int64(a.Epoch) - int64(b.Epoch)) })
	return nil
}
