package builder

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"github.com/attestantio/go-eth2-client/spec/capella"
	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/eth"
)

// Attributes are what a block for a slot on a parent must carry.
type Attributes struct {
	Slot        phase0.Slot
	ParentHash  phase0.Hash32
	ParentRoot  phase0.Root
	PrevRandao  [32]byte
	Withdrawals []*capella.Withdrawal
}

// Same says whether two announcements are about the same block to build.
func (a Attributes) Same(other Attributes) bool {
	return a.Slot == other.Slot && a.ParentHash == other.ParentHash && a.ParentRoot == other.ParentRoot &&
		a.PrevRandao == other.PrevRandao
}

// retryAfter is the wait before a stream that ended is opened again.
const retryAfter = 100 * time.Millisecond

// Follow hands over attributes as a beacon node announces them, until the context ends; then it
// returns nil. A stream that ends is opened again, and that is logged, as is what cannot be read.
func Follow(ctx context.Context, beaconURL string, log *slog.Logger, handle func(Attributes)) error {
	for ctx.Err() == nil {
		if err := stream(ctx, beaconURL, log, handle); err != nil && ctx.Err() == nil {
			log.Warn("beacon node's events ended", "error", err)
		}
		timer := time.NewTimer(retryAfter)
		select {
		case <-ctx.Done():
		case <-timer.C:
		}
		timer.Stop()
	}
	return nil
}

func stream(ctx context.Context, beaconURL string, log *slog.Logger, handle func(Attributes)) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, beaconURL+"/eth/v1/events?topics=payload_attributes",
		http.NoBody)
	if err != nil {
		return fmt.Errorf("make request: %w", err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("follow events: %w", err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("follow events: status %d", response.StatusCode)
	}
	lines := bufio.NewScanner(response.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		raw, found := bytes.CutPrefix(lines.Bytes(), []byte("data:"))
		if !found {
			continue // the topic is the only one that was asked for
		}
		a, err := parse(raw)
		if err != nil {
			log.Warn("payload attributes are passed over", "error", err)
			continue
		}
		handle(a)
	}
	return lines.Err()
}

func parse(raw []byte) (a Attributes, err error) {
	var event struct {
		Data struct {
			Slot       string `json:"proposal_slot"`
			ParentHash string `json:"parent_block_hash"`
			ParentRoot string `json:"parent_block_root"`
			Attributes struct {
				PrevRandao  string                `json:"prev_randao"`
				Withdrawals []*capella.Withdrawal `json:"withdrawals"`
			} `json:"payload_attributes"`
		} `json:"data"`
	}
	if err := json.Unmarshal(raw, &event); err != nil {
		return a, fmt.Errorf("decode payload attributes: %w", err)
	}
	slot, err := strconv.ParseUint(event.Data.Slot, 10, 64)
	if err != nil {
		return a, fmt.Errorf("decode payload attributes: slot: %w", err)
	}
	a.Slot, a.Withdrawals = phase0.Slot(slot), event.Data.Attributes.Withdrawals
	for _, field := range []struct {
		name, text string
		into       []byte
	}{
		{"parent_block_hash", event.Data.ParentHash, a.ParentHash[:]}, {"parent_block_root", event.Data.ParentRoot,
			a.ParentRoot[:]},
		{"prev_randao", event.Data.Attributes.PrevRandao, a.PrevRandao[:]},
	} {
		if err := eth.ParseHex(field.text, field.into); err != nil {
			return a, fmt.Errorf("decode payload attributes: %s: %w", field.name, err)
		}
	}
	return a, nil
}
