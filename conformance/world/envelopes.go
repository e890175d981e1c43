package world

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/conformance/probe"
	"github.com/gavel-relay/gavel/internal/eth/gloas"
	"github.com/gavel-relay/gavel/internal/serve"
)

const (
	envelopesPath = "/eth/v1/beacon/execution_payload_envelopes"
	// blobsHeader says whether an envelope comes with the blobs of its payload (beacon-APIs).
	blobsHeader = "Eth-Blob-Data-Included"
)

// Envelope is a payload that somebody else than the world has sent to its beacon node.
type Envelope struct {
	// AtMs is when it came, in milliseconds since its slot began.
	AtMs int64 `json:"atMs"`
	// BlobsIncluded and Version are the values of the headers Eth-Blob-Data-Included and
	// Eth-Consensus-Version.
	BlobsIncluded string `json:"blobsIncluded"`
	Version       string `json:"version"`
	Media         string `json:"media"`
	// Status is what the beacon node has answered.
	Status int    `json:"status"`
	Body   []byte `json:"body"`
}

// Contents reads the envelope with its blobs, which it has if BlobsIncluded is true.
func (e Envelope) Contents() (*gloas.SignedExecutionPayloadEnvelopeContents, error) {
	return readEnvelope(e.BlobsIncluded, e.Media, e.Body)
}

func readEnvelope(included, media string, body []byte) (*gloas.SignedExecutionPayloadEnvelopeContents, error) {
	if with, err := strconv.ParseBool(included); err == nil && with {
		if media == jsonMedia {
			return gloas.Mainnet.EnvelopeContents.FromJSON(body)
		}
		return gloas.Mainnet.EnvelopeContents.Decode(body)
	}
	read := gloas.Mainnet.SignedExecutionPayloadEnvelope.Decode
	if media == jsonMedia {
		read = gloas.Mainnet.SignedExecutionPayloadEnvelope.FromJSON
	}
	signed, err := read(body)
	return &gloas.SignedExecutionPayloadEnvelopeContents{SignedExecutionPayloadEnvelope: signed}, err
}

// EnvelopeFault says that the beacon node refuses the next envelopes of a slot.
type EnvelopeFault struct {
	Slot phase0.Slot `json:"slot"`
	// Times is how many it refuses.
	Times int `json:"times"`
}

// refuseEnvelopes has the beacon node answer the next envelopes of a slot with 503.
func (w *World) refuseEnvelopes(fault EnvelopeFault) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.faulty[fault.Slot] = fault.Times
}

// envelopesOf returns the envelopes of a slot that came from others than the world, oldest first.
func (w *World) envelopesOf(slot phase0.Slot) []Envelope {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]Envelope{}, w.envelopes[slot]...)
}

// takeEnvelope hands an envelope on to the beacon node, or refuses it as a spec has asked for, and
// remembers it.
func (w *World) takeEnvelope(node http.Handler, rw http.ResponseWriter, r *http.Request) {
	body, err := serve.ReadBody(rw, r, maxBlockBytes, "gzip")
	if err != nil {
		http.Error(rw, err.Error(), http.StatusBadRequest)
		return
	}
	r.ContentLength = int64(len(body))
	r.Header.Del("Content-Encoding")
	r.Body = io.NopCloser(bytes.NewReader(body))
	heard := &listener{ResponseWriter: rw, status: http.StatusOK}
	e := Envelope{
		BlobsIncluded: r.Header.Get(blobsHeader), Version: r.Header.Get("Eth-Consensus-Version"),
		Media: r.Header.Get("Content-Type"), Body: body,
	}
	contents, err := e.Contents()
	if r.UserAgent() == probe.UserAgent || err != nil {
		node.ServeHTTP(rw, r) // of the world or a spec; or garbage, which the node refuses
		return
	}
	slot := contents.SignedExecutionPayloadEnvelope.Message.Payload.SlotNumber
	e.AtMs = w.cfg.Clock.Now().Sub(w.Spec().SlotStart(slot)).Milliseconds()
	if w.refusesEnvelope(slot) {
		http.Error(heard, `{"code":503,"message":"a spec of the conformance suite has this envelope refused"}`,
			http.StatusServiceUnavailable)
	} else {
		node.ServeHTTP(heard, r)
	}
	e.Status = heard.status
	w.mu.Lock()
	defer w.mu.Unlock()
	w.envelopes[slot] = append(w.envelopes[slot], e)
}

// refusesEnvelope says whether to refuse an envelope of a slot, and counts it.
func (w *World) refusesEnvelope(slot phase0.Slot) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.faulty[slot] == 0 {
		return false
	}
	w.faulty[slot]--
	return true
}

// Envelopes returns the envelopes of a slot that the target has sent to the beacon node, oldest
// first.
func (c *Client) Envelopes(ctx context.Context, slot phase0.Slot) (list []Envelope, err error) {
	err = c.ask(ctx, http.MethodPost, "/conformance/v1/envelopes", slot, &list)
	return list, err
}

// RefuseEnvelopes has the beacon node answer the next envelopes of a slot with 503.
func (c *Client) RefuseEnvelopes(ctx context.Context, slot phase0.Slot, times int) error {
	return c.ask(ctx, http.MethodPost, "/conformance/v1/refuse-envelopes", EnvelopeFault{slot, times}, new(struct{}))
}

// ReadV6 reads a block of gloas that the world has built, as Block returns it.
func ReadV6(raw []byte) (*gloas.SignedBidSubmissionV6, error) {
	s, err := gloas.Mainnet.SignedBidSubmissionV6.Decode(raw)
	if err != nil {
		return nil, fmt.Errorf("read the world's block: %w", err)
	}
	return s, nil
}
