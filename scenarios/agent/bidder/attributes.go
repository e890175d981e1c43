package bidder

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"

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

// same says whether two announcements are about the same block to build.
func (a attributes) same(other attributes) bool {
	return a.Slot == other.Slot && a.ParentHash == other.ParentHash && a.ParentRoot == other.ParentRoot && a.PrevRandao == other.PrevRandao
}

// follow hands over attributes as they are announced, until the context ends; then it returns nil. A stream that ends is opened again.
func (b *Bidder) follow(ctx context.Context, handle func(attributes)) error {
	for ctx.Err() == nil {
		if err := b.stream(ctx, handle); err != nil && ctx.Err() == nil {
			b.Log.Warn("beacon node's events ended", "builder", b.Name, "error", err)
		}
		pause(ctx, reopen)
	}
	return nil
}

func (b *Bidder) stream(ctx context.Context, handle func(attributes)) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, b.BeaconURL+"/eth/v1/events?topics=payload_attributes", http.NoBody)
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
		a, err := parseAttributes(raw)
		if err != nil {
			b.Log.Warn("payload attributes are passed over", "builder", b.Name, "error", err)
			continue
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
		{"parent_block_hash", event.Data.ParentHash, a.ParentHash[:]}, {"parent_block_root", event.Data.ParentRoot, a.ParentRoot[:]},
		{"prev_randao", event.Data.Attributes.PrevRandao, a.PrevRandao[:]},
	} {
		if err := eth.ParseHex(field.text, field.into); err != nil {
			return a, fmt.Errorf("decode payload attributes: %s: %w", field.name, err)
		}
	}
	return a, nil
}
