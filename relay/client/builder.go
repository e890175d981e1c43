package client

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"

	builderv1 "github.com/attestantio/go-builder-client/api/v1"
	builderspec "github.com/attestantio/go-builder-client/spec"
	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/eth/payload"
)

// Duty is an entry of the Builder API's validators.
type Duty struct {
	Slot         phase0.Slot
	Index        phase0.ValidatorIndex
	Registration *builderv1.SignedValidatorRegistration
}

// Duties lists the registered proposers of this epoch and the next.
func (c *Client) Duties(ctx context.Context) ([]Duty, error) {
	got, err := c.do(ctx, http.MethodGet, "/relay/v1/builder/validators", nil, nil)
	if err != nil {
		return nil, err
	}
	var entries []struct {
		Slot  string                                 `json:"slot"`
		Index string                                 `json:"validator_index"`
		Entry *builderv1.SignedValidatorRegistration `json:"entry"`
	}
	if err := json.Unmarshal(got.body, &entries); err != nil {
		return nil, fmt.Errorf("decode duties: %w", err)
	}
	duties := make([]Duty, len(entries))
	for i, entry := range entries {
		slot, err := strconv.ParseUint(entry.Slot, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("decode duties: slot %q", entry.Slot)
		}
		index, err := strconv.ParseUint(entry.Index, 10, 64)
		if err != nil || entry.Entry == nil {
			return nil, fmt.Errorf("decode duties: entry %d", i)
		}
		duties[i] = Duty{Slot: phase0.Slot(slot), Index: phase0.ValidatorIndex(index), Registration: entry.Entry}
	}
	return duties, nil
}

// SubmitOptions say how a block is submitted.
type SubmitOptions struct {
	// Cancellations lets this bid replace the builder's earlier ones, even if its value is lower.
	Cancellations bool
	// Sequence numbers the submission; 0 sends none.
	Sequence uint64
	// Gzip compresses the body.
	Gzip bool
}

// SubmitResult is the relay's answer to an accepted submission: 200, or 202 with a message.
type SubmitResult struct {
	Status  int
	Message string
}

// SubmitBlock sends a block to the auction. For JSON the block's lists must not be nil, since the
// libraries write a nil list as null.
func (c *Client) SubmitBlock(ctx context.Context, block *builderspec.VersionedSubmitBlockRequest,
	o SubmitOptions) (SubmitResult, error) {
	value, err := payload.Member[marshaler](block)
	if err != nil {
		return SubmitResult{}, err
	}
	header := http.Header{}
	body, err := c.encode(value, block.Version, header)
	if err != nil {
		return SubmitResult{}, fmt.Errorf("encode submission: %w", err)
	}
	return c.submit(ctx, header, body, o)
}

// submit sends an encoded submission.
func (c *Client) submit(ctx context.Context, header http.Header, body []byte, o SubmitOptions) (_ SubmitResult,
	err error) {
	if o.Sequence > 0 {
		header.Set("X-Sequence", strconv.FormatUint(o.Sequence, 10))
	}
	if o.Gzip {
		if body, err = compress(body); err != nil {
			return SubmitResult{}, fmt.Errorf("compress submission: %w", err)
		}
		header.Set("Content-Encoding", "gzip")
	}
	path := "/relay/v1/builder/blocks"
	if o.Cancellations {
		path += "?cancellations=1"
	}
	got, err := c.do(ctx, http.MethodPost, path, header, body)
	if err != nil {
		return SubmitResult{}, err
	}
	result := SubmitResult{Status: got.status}
	var document struct {
		Message string `json:"message"`
	}
	if len(got.body) > 0 {
		if err := json.Unmarshal(got.body, &document); err != nil {
			return result, fmt.Errorf("decode answer: %w", err)
		}
		result.Message = document.Message
	}
	return result, nil
}

func compress(body []byte) ([]byte, error) {
	var out bytes.Buffer
	writer := gzip.NewWriter(&out)
	if _, err := writer.Write(body); err != nil {
		return nil, err
	}
	if err := writer.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}
