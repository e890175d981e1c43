package builder

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/attestantio/go-eth2-client/spec/capella"
	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/eth"
)

// attributes are what a block for a slot on a parent must carry.
type attributes struct {
	Slot        phase0.Slot
	ParentHash  phase0.Hash32
	ParentRoot  phase0.Root
	PrevRandao  [32]byte
	Withdrawals []*capella.Withdrawal
}

// retryAfter is the wait before a stream that ended is opened again.
const retryAfter = 100 * time.Millisecond

// follow hands over attributes as they are announced, until the context ends; then it returns nil. A stream that ends is opened again.
func (b *Builder) follow(ctx context.Context, handle func(attributes)) error {
	for ctx.Err() == nil {
		if err := b.stream(ctx, handle); err != nil && ctx.Err() == nil {
			b.Log.Warn("beacon node's events ended", "builder", b.Name, "error", err)
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

func (b *Builder) stream(ctx context.Context, handle func(attributes)) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, b.BeaconURL+"/eth/v1/events?topics=payload_attributes", http.NoBody)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("events: status %d", response.StatusCode)
	}
	lines := bufio.NewScanner(response.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		raw, found := bytes.CutPrefix(lines.Bytes(), []byte("data:"))
		if !found {
			continue // the topic is the only one that was asked for
		}
		a, err := parseAttributes(raw)
		if err != nil {
			return fmt.Errorf("payload attributes: %w", err)
		}
		handle(a)
	}
	return lines.Err()
}

func parseAttributes(raw []byte) (a attributes, err error) {
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
		return a, err
	}
	slot, err := strconv.ParseUint(event.Data.Slot, 10, 64)
	if err != nil {
		return a, fmt.Errorf("slot %q", event.Data.Slot)
	}
	a.Slot, a.Withdrawals = phase0.Slot(slot), event.Data.Attributes.Withdrawals
	for _, field := range []struct {
		text string
		into []byte
	}{
		{event.Data.ParentHash, a.ParentHash[:]}, {event.Data.ParentRoot, a.ParentRoot[:]}, {event.Data.Attributes.PrevRandao, a.PrevRandao[:]},
	} {
		if err := eth.ParseHex(field.text, field.into); err != nil {
			return a, err
		}
	}
	return a, nil
}
