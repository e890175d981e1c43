package beacon

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/relay"
)

// Head reads the chain's head (beacon-APIs, getBlockHeader). It lacks the roots that duties depend
// on, which only events have.
func (n *Nodes) Head(ctx context.Context) (relay.Head, error) {
	var document struct {
		Data struct {
			Root   string `json:"root"`
			Header struct {
				Message struct {
					Slot string `json:"slot"`
				} `json:"message"`
			} `json:"header"`
		} `json:"data"`
	}
	var head relay.Head
	if err := n.get(ctx, "/eth/v1/beacon/headers/head", &document); err != nil {
		return head, err
	}
	slot, err := strconv.ParseUint(document.Data.Header.Message.Slot, 10, 64)
	if err != nil {
		return head, fmt.Errorf("slot of the head: %w", err)
	}
	head.Slot = phase0.Slot(slot)
	if err := eth.ParseHex(document.Data.Root, head.Root[:]); err != nil {
		return head, fmt.Errorf("root of the head: %w", err)
	}
	return head, nil
}

// identitySize is a validator identity in SSZ: index, public key, activation epoch.
const identitySize = 64

// Validators reads the validator table: in SSZ if a node can, which is cheap (beacon-APIs,
// postStateValidatorIdentities), otherwise in JSON (getStateValidators, active and pending).
func (n *Nodes) Validators(ctx context.Context) ([]relay.Validator, error) {
	got, err := n.ask(ctx, question{
		method: http.MethodPost, path: "/eth/v1/beacon/states/head/validator_identities", body: []byte("[]"),
		header: http.Header{"Accept": {"application/octet-stream"}, "Content-Type": {"application/json"}},
	})
	if err == nil && strings.HasPrefix(got.contentType, "application/octet-stream") && len(got.body)%identitySize == 0 {
		table := make([]relay.Validator, 0, len(got.body)/identitySize)
		for raw := got.body; len(raw) > 0; raw = raw[identitySize:] {
			table = append(table, relay.Validator{
				Index: phase0.ValidatorIndex(binary.LittleEndian.Uint64(raw)), Pubkey: phase0.BLSPubKey(raw[8:56]),
			})
		}
		return table, nil
	}
	return n.validatorsInJSON(ctx, err)
}

func (n *Nodes) validatorsInJSON(ctx context.Context, before error) ([]relay.Validator, error) {
	var document struct {
		Data []struct {
			Index     string `json:"index"`
			Validator struct {
				Pubkey string `json:"pubkey"`
			} `json:"validator"`
		} `json:"data"`
	}
	if err := n.get(ctx, "/eth/v1/beacon/states/head/validators?status=active,pending", &document); err != nil {
		return nil, errors.Join(before, err)
	}
	table := make([]relay.Validator, len(document.Data))
	for i, row := range document.Data {
		index, err := strconv.ParseUint(row.Index, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("validator %d: index %q", i, row.Index)
		}
		table[i].Index = phase0.ValidatorIndex(index)
		if err := eth.ParseHex(row.Validator.Pubkey, table[i].Pubkey[:]); err != nil {
			return nil, fmt.Errorf("validator %d: public key: %w", i, err)
		}
	}
	return table, nil
}

// Duties reads who proposes in an epoch, and the root that this depends on (beacon-APIs,
// getProposerDutiesV2; V1 if no node answers V2).
func (n *Nodes) Duties(ctx context.Context, epoch phase0.Epoch) ([]relay.Duty, phase0.Root, error) {
	var document struct {
		Dependent string            `json:"dependent_root"`
		Data      []json.RawMessage `json:"data"`
	}
	path := "validator/duties/proposer/" + strconv.FormatUint(uint64(epoch), 10)
	if err := n.get(ctx, "/eth/v2/"+path, &document); err != nil {
		if err1 := n.get(ctx, "/eth/v1/"+path, &document); err1 != nil {
			return nil, phase0.Root{}, errors.Join(err, err1)
		}
	}
	var dependent phase0.Root
	if err := eth.ParseHex(document.Dependent, dependent[:]); err != nil {
		return nil, dependent, fmt.Errorf("dependent root: %w", err)
	}
	duties := make([]relay.Duty, len(document.Data))
	for i, raw := range document.Data {
		duty, err := parseDuty(raw)
		if err != nil {
			return nil, dependent, fmt.Errorf("duty %d: %w", i, err)
		}
		duties[i] = duty
	}
	return duties, dependent, nil
}

func parseDuty(raw []byte) (duty relay.Duty, err error) {
	var entry struct {
		Pubkey string `json:"pubkey"`
		Index  string `json:"validator_index"`
		Slot   string `json:"slot"`
	}
	if err := json.Unmarshal(raw, &entry); err != nil {
		return duty, err
	}
	slot, err := strconv.ParseUint(entry.Slot, 10, 64)
	if err != nil {
		return duty, fmt.Errorf("slot %q", entry.Slot)
	}
	index, err := strconv.ParseUint(entry.Index, 10, 64)
	if err != nil {
		return duty, fmt.Errorf("validator index %q", entry.Index)
	}
	duty.Slot, duty.Index = phase0.Slot(slot), phase0.ValidatorIndex(index)
	return duty, eth.ParseHex(entry.Pubkey, duty.Proposer[:])
}
