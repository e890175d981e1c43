package scripted

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	builderfulu "github.com/attestantio/go-builder-client/api/fulu"
	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/conformance/probe"
	"github.com/gavel-relay/gavel/internal/eth"
)

// Submission is what a builder has sent to a relay's auction.
type Submission struct {
	Asked
	Relay *Relay
	// Slot is the slot in the message, 0 if none can be read.
	Slot phase0.Slot
	// Plain is the body as it is after unpacking.
	Plain []byte
	// Media is Content-Type without its parameters.
	Media string
	// Unpacking is why the body is not packed as Content-Encoding says.
	Unpacking error
	// Block is the content in the types of the newest fork; nil if it cannot be read in any fork, for
	// the reason in Problem. Fork is the fork in whose form it could be read.
	Block   *builderfulu.SubmitBlockRequest
	Fork    eth.Fork
	Problem error
}

// Cancellable says whether the builder opts into cancellations.
func (s *Submission) Cancellable() bool {
	for _, part := range strings.Split(s.Query, "&") {
		if part == "cancellations=1" {
			return true
		}
	}
	return false
}

// read reads a submission to a relay. What cannot be read stands in it.
func (a *Auctions) read(relay *Relay, asked Asked) *Submission {
	s := &Submission{Asked: asked, Relay: relay}
	kind, _, _ := strings.Cut(asked.Header.Get("Content-Type"), ";")
	s.Media = strings.ToLower(strings.TrimSpace(kind))
	s.Plain, s.Unpacking = unpack(asked.Header.Get("Content-Encoding"), asked.Body)
	if s.Unpacking != nil {
		s.Problem = s.Unpacking
		return s
	}
	s.Slot = slotOf(s.Media, s.Plain)
	for _, fork := range a.forks() {
		block, err := readBlock(fork, s.Media, s.Plain)
		if err == nil {
			s.Block, s.Fork, s.Problem = block, fork, nil
			break
		}
		s.Problem = errors.Join(s.Problem, err)
	}
	return s
}

// forks are all forks, that of the world first.
func (a *Auctions) forks() []eth.Fork {
	list := []eth.Fork{a.Fork}
	for _, fork := range eth.Forks() {
		if fork != a.Fork && probe.Has(fork) {
			list = append(list, fork)
		}
	}
	return list
}

// readBlock reads a submission in the form of one fork: no member is missing, and none is there
// that the fork does not have.
func readBlock(fork eth.Fork, media string, raw []byte) (*builderfulu.SubmitBlockRequest, error) {
	if media != sszType && media != jsonType {
		return nil, fmt.Errorf("content type %q is neither JSON nor SSZ", media)
	}
	if media == jsonType {
		if err := members(fork, raw); err != nil {
			return nil, err
		}
	}
	block, err := probe.ReadSubmissionAs(fork, media, raw)
	if err != nil {
		return nil, err
	}
	if block.Message == nil || block.Message.Value == nil || block.ExecutionPayload == nil {
		return nil, errors.New("message or execution_payload missing")
	}
	if fork.HasBlobs() && block.BlobsBundle == nil || fork.HasRequests() && block.ExecutionRequests == nil {
		return nil, errors.New("blobs_bundle or execution_requests missing")
	}
	return block, nil
}

// members returns an error unless a submission in JSON has the members that its fork has. The
// library reads past others, and so would not notice another fork's form.
func members(fork eth.Fork, raw []byte) error {
	var has struct {
		Blobs    json.RawMessage `json:"blobs_bundle"`
		Requests json.RawMessage `json:"execution_requests"`
		Payload  struct {
			Withdrawals json.RawMessage `json:"withdrawals"`
			BlobGas     json.RawMessage `json:"blob_gas_used"`
		} `json:"execution_payload"`
	}
	if err := json.Unmarshal(raw, &has); err != nil {
		return fmt.Errorf("read JSON: %w", err)
	}
	for _, m := range []struct {
		name  string
		there bool
		want  bool
	}{
		{"execution_payload.withdrawals", has.Payload.Withdrawals != nil, fork.HasWithdrawals()},
		{"execution_payload.blob_gas_used", has.Payload.BlobGas != nil, fork.HasBlobs()},
		{"blobs_bundle", has.Blobs != nil, fork.HasBlobs()},
		{"execution_requests", has.Requests != nil, fork.HasRequests()},
	} {
		if m.there != m.want {
			return fmt.Errorf("%s is there: %v, in %s it should be: %v", m.name, m.there, fork, m.want)
		}
	}
	return nil
}

// slotOf reads the slot of a submission, as far as it can: a builder that sends what cannot be read
// otherwise is still answered as the slot's script says.
func slotOf(media string, plain []byte) phase0.Slot {
	if media == sszType && len(plain) >= 8 {
		return phase0.Slot(binary.LittleEndian.Uint64(plain)) // the message stands first, and its slot first in it
	}
	var s struct {
		Message struct {
			Slot uint64 `json:"slot,string"`
		} `json:"message"`
	}
	if json.Unmarshal(plain, &s) != nil {
		return 0
	}
	return phase0.Slot(s.Message.Slot)
}

// unpack unpacks a body.
func unpack(coding string, body []byte) ([]byte, error) {
	switch strings.ToLower(coding) {
	case "", "identity":
		return body, nil
	case "gzip":
		reader, err := gzip.NewReader(bytes.NewReader(body))
		if err != nil {
			return nil, fmt.Errorf("unpack gzip: %w", err)
		}
		plain, err := io.ReadAll(io.LimitReader(reader, maxBody))
		if err != nil {
			return nil, fmt.Errorf("unpack gzip: %w", err)
		}
		return plain, nil
	default:
		return nil, fmt.Errorf("content encoding %q is neither gzip nor none", coding)
	}
}
