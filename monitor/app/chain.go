package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/eth"
)

// block is what the monitor reads of a beacon block.
type block struct {
	slot     phase0.Slot
	hash     phase0.Hash32
	gasLimit uint64
}

// errNoBlock says that the chain has no such block, or none with a payload.
var errNoBlock = errors.New("no block")

// maxBlock bounds a block in JSON, in bytes.
const maxBlock = 64 << 20

// blockAt reads a block from the first beacon node that answers; id is a slot or "head".
func (m *Monitor) blockAt(ctx context.Context, id string) (block, error) {
	var errs []error
	for _, base := range m.cfg.BeaconURLs {
		found, err := m.blockOf(ctx, base, id)
		if err == nil || errors.Is(err, errNoBlock) {
			return found, err
		}
		errs = append(errs, err)
	}
	return block{}, errors.Join(errs...)
}

func (m *Monitor) blockOf(ctx context.Context, base, id string) (found block, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/eth/v2/beacon/blocks/"+id, http.NoBody)
	if err != nil {
		return found, fmt.Errorf("make request: %w", err)
	}
	request.Header.Set("Accept", "application/json")
	response, err := m.http.Do(request)
	if err != nil {
		return found, fmt.Errorf("ask beacon node: %w", err)
	}
	defer response.Body.Close()
	switch response.StatusCode {
	case http.StatusOK:
	case http.StatusNotFound:
		return found, errNoBlock
	default:
		return found, fmt.Errorf("ask beacon node: status %d", response.StatusCode)
	}
	var document struct {
		Data struct {
			Message struct {
				Slot string `json:"slot"`
				Body struct {
					Payload struct {
						Hash     string `json:"block_hash"`
						GasLimit string `json:"gas_limit"`
					} `json:"execution_payload"`
				} `json:"body"`
			} `json:"message"`
		} `json:"data"`
	}
	if err := json.NewDecoder(io.LimitReader(response.Body, maxBlock)).Decode(&document); err != nil {
		return found, fmt.Errorf("decode block: %w", err)
	}
	message := document.Data.Message
	slot, slotErr := strconv.ParseUint(message.Slot, 10, 64)
	limit, limitErr := strconv.ParseUint(message.Body.Payload.GasLimit, 10, 64)
	hashErr := eth.ParseHex(message.Body.Payload.Hash, found.hash[:])
	found.slot, found.gasLimit = phase0.Slot(slot), limit
	if err := errors.Join(slotErr, limitErr, hashErr); err != nil {
		return found, fmt.Errorf("decode block: %w", err)
	}
	return found, nil
}
