package client

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	builderapi "github.com/attestantio/go-builder-client/api"
	"github.com/attestantio/go-builder-client/api/bellatrix"
	"github.com/attestantio/go-builder-client/api/capella"
	"github.com/attestantio/go-builder-client/api/deneb"
	"github.com/attestantio/go-builder-client/api/electra"
	builderv1 "github.com/attestantio/go-builder-client/api/v1"
	builderspec "github.com/attestantio/go-builder-client/spec"
	"github.com/attestantio/go-eth2-client/api"
	"github.com/attestantio/go-eth2-client/spec"
	"github.com/attestantio/go-eth2-client/spec/phase0"
)

// Status is nil while the relay is ready.
func (c *Client) Status(ctx context.Context) error {
	_, err := c.do(ctx, http.MethodGet, "/eth/v1/builder/status", nil, nil)
	return err
}

// RegisterValidators sends a batch; an *Error with Failures says which entries were refused, the others count.
func (c *Client) RegisterValidators(ctx context.Context, batch []*builderv1.SignedValidatorRegistration) error {
	var body []byte
	var err error
	header := http.Header{"Content-Type": {mediaJSON}}
	if c.json {
		body, err = json.Marshal(batch)
	} else {
		header.Set("Content-Type", mediaSSZ)
		for _, entry := range batch {
			if body, err = entry.MarshalSSZTo(body); err != nil {
				break
			}
		}
	}
	if err != nil {
		return fmt.Errorf("encode registrations: %w", err)
	}
	_, err = c.do(ctx, http.MethodPost, "/eth/v1/builder/validators", header, body)
	return err
}

// Header is the leading bid of an auction; nil without an error when there is none. The context's deadline is told to the relay.
func (c *Client) Header(
	ctx context.Context, slot phase0.Slot, parent phase0.Hash32, proposer phase0.BLSPubKey,
) (*builderspec.VersionedSignedBuilderBid, error) {
	now := time.Now()
	header := http.Header{"Accept": {c.accept()}, "Date-Milliseconds": {strconv.FormatInt(now.UnixMilli(), 10)}}
	if deadline, ok := ctx.Deadline(); ok {
		header.Set("X-Timeout-Ms", strconv.FormatInt(deadline.Sub(now).Milliseconds(), 10))
	}
	got, err := c.do(ctx, http.MethodGet, fmt.Sprintf("/eth/v1/builder/header/%d/%#x/%#x", slot, parent[:], proposer[:]), header, nil)
	if err != nil || got.status == http.StatusNoContent {
		return nil, err
	}
	bid := new(builderspec.VersionedSignedBuilderBid)
	if strings.HasPrefix(got.contentType, mediaSSZ) {
		err = decodeBid(got.version, got.body, bid)
	} else {
		err = json.Unmarshal(got.body, bid)
	}
	if err != nil {
		return nil, fmt.Errorf("decode bid: %w", err)
	}
	return bid, nil
}

// decodeBid reads a bid in SSZ; the fork is in the answer's header.
func decodeBid(version string, raw []byte, bid *builderspec.VersionedSignedBuilderBid) error {
	if err := json.Unmarshal([]byte(strconv.Quote(version)), &bid.Version); err != nil {
		return fmt.Errorf("version %q: %w", version, err)
	}
	switch bid.Version {
	case spec.DataVersionBellatrix:
		bid.Bellatrix = new(bellatrix.SignedBuilderBid)
		return bid.Bellatrix.UnmarshalSSZ(raw)
	case spec.DataVersionCapella:
		bid.Capella = new(capella.SignedBuilderBid)
		return bid.Capella.UnmarshalSSZ(raw)
	case spec.DataVersionDeneb:
		bid.Deneb = new(deneb.SignedBuilderBid)
		return bid.Deneb.UnmarshalSSZ(raw)
	case spec.DataVersionElectra:
		bid.Electra = new(electra.SignedBuilderBid)
		return bid.Electra.UnmarshalSSZ(raw)
	case spec.DataVersionFulu:
		bid.Fulu = new(electra.SignedBuilderBid)
		return bid.Fulu.UnmarshalSSZ(raw)
	default:
		return fmt.Errorf("version %q has no bids", version)
	}
}

// SubmitBlindedBlock hands a signed blinded block over for publication (v2): nil means that the relay has published it.
func (c *Client) SubmitBlindedBlock(ctx context.Context, block *api.VersionedSignedBlindedBeaconBlock) error {
	_, err := c.postBlinded(ctx, "/eth/v2/builder/blinded_blocks", block, "")
	return err
}

// UnblindBlock hands a signed blinded block over and asks for its payload (v1).
func (c *Client) UnblindBlock(
	ctx context.Context, block *api.VersionedSignedBlindedBeaconBlock,
) (*builderapi.VersionedSubmitBlindedBlockResponse, error) {
	got, err := c.postBlinded(ctx, "/eth/v1/builder/blinded_blocks", block, mediaJSON)
	if err != nil {
		return nil, err
	}
	payload := new(builderapi.VersionedSubmitBlindedBlockResponse)
	if err := json.Unmarshal(got.body, payload); err != nil {
		return nil, fmt.Errorf("decode payload: %w", err)
	}
	return payload, nil
}

func (c *Client) postBlinded(ctx context.Context, path string, block *api.VersionedSignedBlindedBeaconBlock, accept string) (*answer, error) {
	var value interface {
		MarshalSSZ() ([]byte, error)
		MarshalJSON() ([]byte, error)
	}
	switch block.Version {
	case spec.DataVersionBellatrix:
		value = block.Bellatrix
	case spec.DataVersionCapella:
		value = block.Capella
	case spec.DataVersionDeneb:
		value = block.Deneb
	case spec.DataVersionElectra:
		value = block.Electra
	case spec.DataVersionFulu:
		value = block.Fulu
	default:
		return nil, fmt.Errorf("no blinded blocks in %s", block.Version)
	}
	marshal, contentType := value.MarshalSSZ, mediaSSZ
	if c.json {
		marshal, contentType = value.MarshalJSON, mediaJSON
	}
	body, err := marshal()
	if err != nil {
		return nil, fmt.Errorf("encode blinded block: %w", err)
	}
	header := http.Header{"Content-Type": {contentType}, versionHeader: {block.Version.String()}}
	if accept != "" {
		header.Set("Accept", accept)
	}
	return c.do(ctx, http.MethodPost, path, header, body)
}
