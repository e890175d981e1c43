package client

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	builderapi "github.com/attestantio/go-builder-client/api"
	builderv1 "github.com/attestantio/go-builder-client/api/v1"
	builderspec "github.com/attestantio/go-builder-client/spec"
	"github.com/attestantio/go-eth2-client/api"
	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/eth/payload"
)

// Status returns nil if the relay is ready.
func (c *Client) Status(ctx context.Context) error {
	_, err := c.do(ctx, http.MethodGet, "/eth/v1/builder/status", nil, nil)
	return err
}

// RegisterValidators sends a batch of registrations. An *Error with Failures says which entries
// were refused; the others were stored.
func (c *Client) RegisterValidators(ctx context.Context, batch []*builderv1.SignedValidatorRegistration) error {
	encode, media := registrationsSSZ, mediaSSZ
	if c.json {
		encode, media = registrationsJSON, mediaJSON
	}
	body, err := encode(batch)
	if err != nil {
		return fmt.Errorf("encode registrations: %w", err)
	}
	_, err = c.do(ctx, http.MethodPost, "/eth/v1/builder/validators", http.Header{"Content-Type": {media}}, body)
	return err
}

func registrationsJSON(batch []*builderv1.SignedValidatorRegistration) ([]byte, error) {
	if len(batch) == 0 {
		return []byte("[]"), nil // a nil list would be encoded as null
	}
	return json.Marshal(batch)
}

// registrationsSSZ encodes the list: containers of fixed size, one after the other.
func registrationsSSZ(batch []*builderv1.SignedValidatorRegistration) (body []byte, err error) {
	for _, entry := range batch {
		if body, err = entry.MarshalSSZTo(body); err != nil {
			return nil, err
		}
	}
	return body, nil
}

// Header returns the top bid of an auction; nil without an error if there is none. It sends the
// context's deadline to the relay.
func (c *Client) Header(
	ctx context.Context, slot phase0.Slot, parent phase0.Hash32, proposer phase0.BLSPubKey,
) (*builderspec.VersionedSignedBuilderBid, error) {
	now := time.Now()
	header := http.Header{"Accept": {c.accept()}, "Date-Milliseconds": {strconv.FormatInt(now.UnixMilli(), 10)}}
	if deadline, ok := ctx.Deadline(); ok {
		header.Set("X-Timeout-Ms", strconv.FormatInt(deadline.Sub(now).Milliseconds(), 10))
	}
	got, err := c.do(ctx, http.MethodGet, fmt.Sprintf("/eth/v1/builder/header/%d/%#x/%#x", slot, parent[:], proposer[:]),
		header, nil)
	if err != nil || got.status == http.StatusNoContent {
		return nil, err
	}
	bid := new(builderspec.VersionedSignedBuilderBid)
	if err := got.decode(bid); err != nil {
		return nil, fmt.Errorf("decode bid: %w", err)
	}
	return bid, nil
}

// SubmitBlindedBlock sends a signed blinded block for publication (v2). nil means that the relay
// has published it.
func (c *Client) SubmitBlindedBlock(ctx context.Context, block *api.VersionedSignedBlindedBeaconBlock) error {
	_, err := c.postBlinded(ctx, "/eth/v2/builder/blinded_blocks", block, http.Header{})
	return err
}

// UnblindBlock sends a signed blinded block for publication and returns its payload (v1, deprecated
// from fulu on).
func (c *Client) UnblindBlock(
	ctx context.Context, block *api.VersionedSignedBlindedBeaconBlock,
) (*builderapi.VersionedSubmitBlindedBlockResponse, error) {
	got, err := c.postBlinded(ctx, "/eth/v1/builder/blinded_blocks", block, http.Header{"Accept": {c.accept()}})
	if err != nil {
		return nil, err
	}
	payload := new(builderapi.VersionedSubmitBlindedBlockResponse)
	if err := got.decode(payload); err != nil {
		return nil, fmt.Errorf("decode payload: %w", err)
	}
	return payload, nil
}

func (c *Client) postBlinded(
	ctx context.Context, path string, block *api.VersionedSignedBlindedBeaconBlock, header http.Header,
) (*answer, error) {
	value, err := payload.Member[marshaler](block)
	if err != nil {
		return nil, err
	}
	body, err := c.encode(value, block.Version, header)
	if err != nil {
		return nil, fmt.Errorf("encode blinded block: %w", err)
	}
	return c.do(ctx, http.MethodPost, path, header, body)
}
