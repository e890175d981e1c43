package proposer

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/attestantio/go-eth2-client/spec/bellatrix"
	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/internal/eth"
)

// beaconNode is the validators' own beacon node.
type beaconNode struct{ base string }

const (
	// maxAnswer bounds an answer in bytes.
	maxAnswer = 64 << 20
	// beaconTimeout bounds a request, in wall time.
	beaconTimeout = 10 * time.Second
)

// statusError is an answer with a status other than 200.
type statusError struct {
	status int
	body   []byte
}

func (e *statusError) Error() string {
	return fmt.Sprintf("beacon node answers %d: %.200s", e.status, e.body)
}

// do sends a request. A status other than 200 is an error. That includes 202, which means that a
// block was broadcast but not imported.
func (n *beaconNode) do(ctx context.Context, method, path string, header http.Header,
	body []byte) (http.Header, []byte, error) {
	ctx, cancel := context.WithTimeout(ctx, beaconTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, n.base+path, bytes.NewReader(body))
	if err != nil {
		return nil, nil, fmt.Errorf("make request: %w", err)
	}
	request.Header = header
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, nil, fmt.Errorf("ask beacon node: %w", err)
	}
	defer response.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	if err != nil {
		return nil, nil, fmt.Errorf("read answer: %w", err)
	}
	if len(raw) > maxAnswer {
		return nil, nil, fmt.Errorf("read answer: more than %d bytes", maxAnswer)
	}
	if response.StatusCode != http.StatusOK {
		return nil, nil, &statusError{response.StatusCode, raw}
	}
	return response.Header, raw, nil
}

// prepare sends the fee recipients for local blocks.
func (n *beaconNode) prepare(
	ctx context.Context, indices []phase0.ValidatorIndex, recipient func(phase0.ValidatorIndex) bellatrix.ExecutionAddress,
) error {
	type entry struct {
		Index     string `json:"validator_index"`
		Recipient string `json:"fee_recipient"`
	}
	var list []entry
	for _, index := range indices {
		address := recipient(index)
		list = append(list, entry{strconv.FormatUint(uint64(index), 10), fmt.Sprintf("%#x", address[:])})
	}
	body, err := json.Marshal(list)
	if err != nil {
		return fmt.Errorf("encode fee recipients: %w", err)
	}
	header := http.Header{"Content-Type": {"application/json"}}
	_, _, err = n.do(ctx, http.MethodPost, "/eth/v1/validator/prepare_beacon_proposer", header, body)
	return err
}

// duties returns an epoch's proposers by slot.
func (n *beaconNode) duties(ctx context.Context, epoch phase0.Epoch) (map[phase0.Slot]phase0.ValidatorIndex, error) {
	_, raw, err := n.do(ctx, http.MethodGet, fmt.Sprintf("/eth/v1/validator/duties/proposer/%d", epoch),
		http.Header{}, nil)
	if err != nil {
		return nil, err
	}
	return readDuties(raw)
}

// readDuties reads a list of proposers.
func readDuties(raw []byte) (map[phase0.Slot]phase0.ValidatorIndex, error) {
	var document struct {
		Data []struct {
			Index string `json:"validator_index"`
			Slot  string `json:"slot"`
		} `json:"data"`
	}
	if err := json.Unmarshal(raw, &document); err != nil {
		return nil, fmt.Errorf("decode duties: %w", err)
	}
	duties := map[phase0.Slot]phase0.ValidatorIndex{}
	for _, entry := range document.Data {
		index, err := strconv.ParseUint(entry.Index, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("decode duties: %w", err)
		}
		slot, err := strconv.ParseUint(entry.Slot, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("decode duties: %w", err)
		}
		duties[phase0.Slot(slot)] = phase0.ValidatorIndex(index)
	}
	return duties, nil
}

// localBlock fetches an unsigned block that the beacon node has built.
func (n *beaconNode) localBlock(ctx context.Context, slot phase0.Slot,
	reveal phase0.BLSSignature) (*localBlock, error) {
	path := fmt.Sprintf("/eth/v3/validator/blocks/%d?randao_reveal=%#x", slot, reveal[:])
	header, raw, err := n.do(ctx, http.MethodGet, path, http.Header{"Accept": {"application/octet-stream"}}, nil)
	if err != nil {
		return nil, err
	}
	fork, err := eth.ParseFork(header.Get("Eth-Consensus-Version"))
	if err != nil {
		return nil, fmt.Errorf("version of the local block: %w", err)
	}
	value, err := uint256.FromDecimal(header.Get("Eth-Execution-Payload-Value"))
	if err != nil {
		return nil, fmt.Errorf("value of the local block: %w", err)
	}
	return decodeLocal(fork, value, raw)
}

// publish sends a signed block to the beacon node.
func (n *beaconNode) publish(ctx context.Context, fork eth.Fork, contents []byte) error {
	header := http.Header{"Content-Type": {"application/octet-stream"}, "Eth-Consensus-Version": {fork.String()}}
	_, _, err := n.do(ctx, http.MethodPost, "/eth/v2/beacon/blocks?broadcast_validation=consensus_and_equivocation",
		header, contents)
	return err
}
