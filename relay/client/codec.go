package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	builderapi "github.com/attestantio/go-builder-client/api"
	builderbellatrix "github.com/attestantio/go-builder-client/api/bellatrix"
	buildercapella "github.com/attestantio/go-builder-client/api/capella"
	builderdeneb "github.com/attestantio/go-builder-client/api/deneb"
	builderelectra "github.com/attestantio/go-builder-client/api/electra"
	builderfulu "github.com/attestantio/go-builder-client/api/fulu"
	builderspec "github.com/attestantio/go-builder-client/spec"
	"github.com/attestantio/go-eth2-client/api"
	"github.com/attestantio/go-eth2-client/spec"
	"github.com/attestantio/go-eth2-client/spec/bellatrix"
	"github.com/attestantio/go-eth2-client/spec/capella"
)

// The libraries' versioned types have no SSZ of their own: which member is meant depends on the
// version. The functions below pick it.

type marshaler interface {
	MarshalSSZ() ([]byte, error)
	MarshalJSON() ([]byte, error)
}

type unmarshaler interface{ UnmarshalSSZ(raw []byte) error }

type versioned interface {
	json.Unmarshaler
	IsEmpty() bool
}

// accept asks for what the client prefers, and takes the other.
func (c *Client) accept() string {
	if c.json {
		return mediaJSON
	}
	return mediaSSZ + ";q=1.0," + mediaJSON + ";q=0.9"
}

// encode is a body, and adds to the header what says how to read it.
func (c *Client) encode(value marshaler, version spec.DataVersion, header http.Header) ([]byte, error) {
	header.Set(versionHeader, version.String())
	if c.json {
		header.Set("Content-Type", mediaJSON)
		return value.MarshalJSON()
	}
	header.Set("Content-Type", mediaSSZ)
	return value.MarshalSSZ()
}

// decode reads a versioned answer: JSON names its version itself, that of SSZ is in the header and
// member says where it belongs.
func (a *answer) decode(into versioned, member func(spec.DataVersion) (unmarshaler, error)) (err error) {
	// go-eth2-client allocates by a length that it has not checked: a transaction that is not a text
	// makes it panic (deneb's payload).
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("malformed: %v", cause)
		}
	}()
	if !strings.HasPrefix(a.contentType, mediaSSZ) {
		if err := json.Unmarshal(a.body, into); err != nil {
			return err
		}
		if into.IsEmpty() {
			return errors.New("no data of its version")
		}
		return nil
	}
	var version spec.DataVersion
	if err := json.Unmarshal([]byte(strconv.Quote(strings.ToLower(a.version))), &version); err != nil {
		return fmt.Errorf("version %q: %w", a.version, err)
	}
	value, err := member(version)
	if err != nil {
		return err
	}
	return value.UnmarshalSSZ(a.body)
}

func bidOf(version spec.DataVersion, bid *builderspec.VersionedSignedBuilderBid) (unmarshaler, error) {
	bid.Version = version
	switch version {
	case spec.DataVersionBellatrix:
		bid.Bellatrix = new(builderbellatrix.SignedBuilderBid)
		return bid.Bellatrix, nil
	case spec.DataVersionCapella:
		bid.Capella = new(buildercapella.SignedBuilderBid)
		return bid.Capella, nil
	case spec.DataVersionDeneb:
		bid.Deneb = new(builderdeneb.SignedBuilderBid)
		return bid.Deneb, nil
	case spec.DataVersionElectra:
		bid.Electra = new(builderelectra.SignedBuilderBid)
		return bid.Electra, nil
	case spec.DataVersionFulu:
		bid.Fulu = new(builderelectra.SignedBuilderBid)
		return bid.Fulu, nil
	default:
		return nil, fmt.Errorf("no bids in %s", version)
	}
}

func payloadOf(version spec.DataVersion, payload *builderapi.VersionedSubmitBlindedBlockResponse) (unmarshaler, error) {
	payload.Version = version
	switch version {
	case spec.DataVersionBellatrix:
		payload.Bellatrix = new(bellatrix.ExecutionPayload)
		return payload.Bellatrix, nil
	case spec.DataVersionCapella:
		payload.Capella = new(capella.ExecutionPayload)
		return payload.Capella, nil
	case spec.DataVersionDeneb:
		payload.Deneb = new(builderdeneb.ExecutionPayloadAndBlobsBundle)
		return payload.Deneb, nil
	case spec.DataVersionElectra:
		payload.Electra = new(builderdeneb.ExecutionPayloadAndBlobsBundle)
		return payload.Electra, nil
	case spec.DataVersionFulu:
		payload.Fulu = new(builderfulu.ExecutionPayloadAndBlobsBundle)
		return payload.Fulu, nil
	default:
		return nil, fmt.Errorf("no payloads in %s", version)
	}
}

// given is a member that must be there.
func given[P interface {
	comparable
	marshaler
}](member P) (marshaler, error) {
	var none P
	if member == none {
		return nil, errors.New("the versioned block has no block of its version")
	}
	return member, nil
}

func blindedBlockOf(block *api.VersionedSignedBlindedBeaconBlock) (marshaler, error) {
	switch block.Version {
	case spec.DataVersionBellatrix:
		return given(block.Bellatrix)
	case spec.DataVersionCapella:
		return given(block.Capella)
	case spec.DataVersionDeneb:
		return given(block.Deneb)
	case spec.DataVersionElectra:
		return given(block.Electra)
	case spec.DataVersionFulu:
		return given(block.Fulu)
	default:
		return nil, fmt.Errorf("no blinded blocks in %s", block.Version)
	}
}

func submissionOf(block *builderspec.VersionedSubmitBlockRequest) (marshaler, error) {
	switch block.Version {
	case spec.DataVersionBellatrix:
		return given(block.Bellatrix)
	case spec.DataVersionCapella:
		return given(block.Capella)
	case spec.DataVersionDeneb:
		return given(block.Deneb)
	case spec.DataVersionElectra:
		return given(block.Electra)
	case spec.DataVersionFulu:
		return given(block.Fulu)
	default:
		return nil, fmt.Errorf("no submissions in %s", block.Version)
	}
}
