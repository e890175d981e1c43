package proposer

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	builderv1 "github.com/attestantio/go-builder-client/api/v1"
	"github.com/attestantio/go-eth2-client/api"
	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/payload"
	"github.com/gavel-relay/gavel/internal/serve"
)

const (
	mediaJSON     = "application/json"
	mediaSSZ      = "application/octet-stream"
	versionHeader = "Eth-Consensus-Version"
	// registrationBytes is the size of a registration in SSZ.
	registrationBytes = 180
)

var errMedia = errors.New("give application/json or application/octet-stream")

// readRegistrations reads a batch in either encoding. With an error it returns the status.
func readRegistrations(w http.ResponseWriter, r *http.Request) (batch []*builderv1.SignedValidatorRegistration,
	status int, err error) {
	raw, err := serve.ReadBody(w, r, maxBody)
	if err != nil {
		return nil, http.StatusRequestEntityTooLarge, fmt.Errorf("read registrations: %w", err)
	}
	if !isSSZ(r.Header.Get("Content-Type")) {
		if err := json.Unmarshal(raw, &batch); err != nil {
			return nil, http.StatusBadRequest, fmt.Errorf("decode registrations: %w", err)
		}
		return batch, 0, nil
	}
	if len(raw)%registrationBytes != 0 {
		return nil, http.StatusBadRequest, fmt.Errorf("decode registrations: %d bytes", len(raw))
	}
	for ; len(raw) > 0; raw = raw[registrationBytes:] {
		entry := new(builderv1.SignedValidatorRegistration)
		if err := entry.UnmarshalSSZ(raw[:registrationBytes]); err != nil {
			return nil, http.StatusBadRequest, fmt.Errorf("decode registrations: %w", err)
		}
		batch = append(batch, entry)
	}
	return batch, 0, nil
}

// document is a value of one fork in both encodings.
type document interface {
	MarshalSSZ() ([]byte, error)
	UnmarshalSSZ(raw []byte) error
	UnmarshalJSON(raw []byte) error
}

// readBlinded reads a signed blinded block in either encoding. With an error it returns the status.
func (s *sidecarServer) readBlinded(w http.ResponseWriter, r *http.Request) (_ *api.VersionedSignedBlindedBeaconBlock,
	status int, err error) {
	raw, err := serve.ReadBody(w, r, maxBody)
	if err != nil {
		return nil, http.StatusRequestEntityTooLarge, fmt.Errorf("read a blinded block: %w", err)
	}
	fork, err := s.forkOf(r, raw)
	if err != nil {
		return nil, http.StatusBadRequest, err
	}
	block := new(api.VersionedSignedBlindedBeaconBlock)
	into, err := payload.MakeMember[document](block, fork)
	if err != nil {
		return nil, http.StatusBadRequest, fmt.Errorf("decode a blinded block: %w", err)
	}
	if isSSZ(r.Header.Get("Content-Type")) {
		err = into.UnmarshalSSZ(raw)
	} else {
		err = into.UnmarshalJSON(raw)
	}
	if err != nil {
		return nil, http.StatusBadRequest, fmt.Errorf("decode a blinded block: %w", err)
	}
	return block, 0, nil
}

// forkOf returns the fork of a blinded block: the header names it, or for JSON the block's slot.
func (s *sidecarServer) forkOf(r *http.Request, raw []byte) (eth.Fork, error) {
	if name := r.Header.Get(versionHeader); name != "" || isSSZ(r.Header.Get("Content-Type")) {
		return eth.ParseFork(name)
	}
	var block struct {
		Message struct {
			Slot phase0.Slot `json:"slot"`
		} `json:"message"`
	}
	if err := json.Unmarshal(raw, &block); err != nil {
		return 0, fmt.Errorf("decode a blinded block: %w", err)
	}
	return s.Spec.ForkAt(block.Message.Slot), nil
}

// write answers 200 with a versioned value.
func (s *sidecarServer) write(w http.ResponseWriter, r *http.Request, media string, value any) {
	var raw []byte
	var err error
	w.Header().Set(versionHeader, payload.ForkOf(value).String())
	if isSSZ(media) {
		var member document
		if member, err = payload.Member[document](value); err == nil {
			raw, err = member.MarshalSSZ()
		}
	} else {
		raw, err = json.Marshal(value)
	}
	if err != nil {
		s.fail(w, r, http.StatusInternalServerError, fmt.Errorf("encode the answer: %w", err))
		return
	}
	serve.Bytes(w, http.StatusOK, media, raw)
}
