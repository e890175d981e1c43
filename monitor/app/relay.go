package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	builderv1 "github.com/attestantio/go-builder-client/api/v1"
	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/monitor"
	"github.com/gavel-relay/gavel/relay/client"
)

// watched is a relay, and the headers that it served in slots that are not judged yet.
type watched struct {
	name    string
	key     phase0.BLSPubKey
	address string
	client  *client.Client
	http    *http.Client
	// served has values by slot and block hash. Only the goroutine of Run uses it, and in
	// Monitor.each the relay's goroutine.
	served map[phase0.Slot]map[phase0.Hash32]*uint256.Int
}

// isFault says whether an error is the relay's fault: no answer, or a status of 500 and above. A
// refusal is no fault.
func isFault(err error) bool {
	refused := (*client.Error)(nil)
	return err != nil && (!errors.As(err, &refused) || refused.Status >= http.StatusInternalServerError)
}

// header asks for one header.
func (r *watched) header(ctx context.Context, asked monitor.HeaderRequest) monitor.Answer {
	began := time.Now()
	bid, err := r.client.Header(ctx, asked.Slot, asked.Parent, asked.Proposer)
	answer := monitor.Answer{Took: time.Since(began), Bid: bid}
	if err != nil {
		answer.Refused = !isFault(err)
		answer.Err = err
	}
	if bid == nil || err != nil {
		return answer
	}
	hash, hashErr := bid.BlockHash()
	value, valueErr := bid.Value()
	if hashErr == nil && valueErr == nil {
		if r.served[asked.Slot] == nil {
			r.served[asked.Slot] = map[phase0.Hash32]*uint256.Int{}
		}
		r.served[asked.Slot][hash] = value
	}
	return answer
}

// askDelivered asks which payloads the relay lists as delivered in a slot.
func (r *watched) askDelivered(ctx context.Context, slot phase0.Slot) ([]monitor.Delivered, error) {
	traces, err := r.client.Delivered(ctx, url.Values{"slot": {strconv.FormatUint(uint64(slot), 10)}})
	if err != nil {
		if !isFault(err) {
			err = nil
		}
		return nil, err
	}
	var list []monitor.Delivered
	for _, trace := range traces {
		one := monitor.Delivered{}
		if err := eth.ParseHex(trace.BlockHash, one.BlockHash[:]); err != nil {
			return nil, fmt.Errorf("block hash: %w", err)
		}
		if one.ValueWei, err = uint256.FromDecimal(trace.Value); err != nil {
			return nil, fmt.Errorf("value %q: %w", trace.Value, err)
		}
		list = append(list, one)
	}
	return list, nil
}

// maxRegistration bounds an answer in bytes.
const maxRegistration = 64 << 10

// registration asks for a proposer's registration; nil without an error means that the relay
// answers that it has none.
func (r *watched) registration(ctx context.Context,
	pubkey phase0.BLSPubKey) (*builderv1.SignedValidatorRegistration, error) {
	address := fmt.Sprintf("%s/relay/v1/data/validator_registration?pubkey=%#x", r.address, pubkey[:])
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return nil, fmt.Errorf("make request: %w", err)
	}
	response, err := r.http.Do(request)
	if err != nil {
		return nil, fmt.Errorf("ask relay: %w", err)
	}
	defer response.Body.Close()
	switch {
	case response.StatusCode >= http.StatusInternalServerError:
		return nil, fmt.Errorf("relay answers %d", response.StatusCode)
	case response.StatusCode != http.StatusOK:
		return nil, nil
	}
	raw, err := io.ReadAll(io.LimitReader(response.Body, maxRegistration))
	if err != nil {
		return nil, fmt.Errorf("read registration: %w", err)
	}
	registration := new(builderv1.SignedValidatorRegistration)
	if err := json.Unmarshal(raw, registration); err != nil {
		return nil, fmt.Errorf("decode registration: %w", err)
	}
	return registration, nil
}
