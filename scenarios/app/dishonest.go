package app

import (
	builderdeneb "github.com/attestantio/go-builder-client/api/deneb"
	builderelectra "github.com/attestantio/go-builder-client/api/electra"

	"github.com/gavel-relay/gavel/internal/eth/payload"

	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"
	"time"

	builderspec "github.com/attestantio/go-builder-client/spec"
	"github.com/attestantio/go-eth2-client/spec/deneb"
	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/devnet/network"
	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/bls"
	"github.com/gavel-relay/gavel/internal/serve"
	"github.com/gavel-relay/gavel/relay/client"
)

// dishonest is a relay that misbehaves in one way. It is a proxy in front of an honest relay, whose
// signing key it has, and changes requests or answers.
type dishonest struct {
	behaviour string
	spec      *eth.Spec
	key       *bls.SecretKey
	inside    *client.Client
	url       string // of the honest relay
	pass      *httputil.ReverseProxy
}

// stall is the delay of a slow relay's headers in wall time: longer than proposers wait.
const stall = 1200 * time.Millisecond

// front starts a dishonest relay in front of this one, if the plan says so. The URL is the one that
// agents get; run is nil if the relay is honest.
func (s *relayService) front(ctx context.Context) (url string, run func() error, err error) {
	if s.plan.Behaviour == "honest" {
		return s.url(), nil, nil
	}
	listener, err := serve.Listen("127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	d, err := newDishonest(s.plan.Behaviour, s.lab.network.Spec, network.RelayKey(s.lab.plan.Seed, s.index), s.url())
	if err != nil {
		return "", nil, errors.Join(err, listener.Close())
	}
	return "http://" + listener.Addr().String(), func() error {
		return serve.Serve(ctx, listener, d, serve.Options{Log: s.lab.log})
	}, nil
}

func newDishonest(behaviour string, spec *eth.Spec, key *bls.SecretKey, address string) (*dishonest, error) {
	inside, err := client.New(address, client.Options{})
	if err != nil {
		return nil, err
	}
	target, err := url.Parse(address)
	if err != nil {
		return nil, fmt.Errorf("read address: %w", err)
	}
	return &dishonest{
		behaviour: behaviour, spec: spec, key: key, inside: inside, url: address,
		pass: &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }, FlushInterval: -1},
	}, nil
}

// ServeHTTP changes what the behaviour is about and passes everything else on.
func (d *dishonest) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := r.URL.Path
	header, listed := strings.Contains(path, "/builder/header/"), strings.HasSuffix(path, "/proposer_payload_delivered")
	switch {
	case d.behaviour == "unavailable" && (header || strings.HasPrefix(path, "/relay/v1/data/")):
		http.Error(w, `{"code":503,"message":"no"}`, http.StatusServiceUnavailable)
	case d.behaviour == "slow" && header:
		select {
		case <-time.After(stall):
		case <-r.Context().Done():
			return
		}
		d.pass.ServeHTTP(w, r)
	case d.behaviour == "withheld" && strings.HasSuffix(path, "/blinded_blocks"):
		_, _ = io.Copy(io.Discard, r.Body) // read to the end, but not used
		w.WriteHeader(http.StatusAccepted)
	case d.behaviour == "registrations" && strings.HasSuffix(path, "/validator_registration"):
		http.Error(w, `{"code":400,"message":"no registration found"}`, http.StatusBadRequest)
	case header && isOneOf(d.behaviour, "signature", "parent-hash", "timestamp", "gas-limit"):
		d.header(w, r)
	case listed && isOneOf(d.behaviour, "unlisted-delivery", "listed-unlanded", "value"):
		d.list(w, r)
	default:
		d.pass.ServeHTTP(w, r)
	}
}

func isOneOf(word string, words ...string) bool {
	for _, one := range words {
		if word == one {
			return true
		}
	}
	return false
}

// header serves a changed bid. The bid is signed again with the relay's key, unless a wrong
// signature is the fault.
func (d *dishonest) header(w http.ResponseWriter, r *http.Request) {
	parts := strings.Split(strings.TrimPrefix(r.URL.Path, "/eth/v1/builder/header/"), "/")
	var parent phase0.Hash32
	var proposer phase0.BLSPubKey
	slot, err := strconv.ParseUint(parts[0], 10, 64)
	if len(parts) != 3 || err != nil || eth.ParseHex(parts[1], parent[:]) != nil ||
		eth.ParseHex(parts[2], proposer[:]) != nil {
		d.pass.ServeHTTP(w, r)
		return
	}
	bid, err := d.inside.Header(r.Context(), phase0.Slot(slot), parent, proposer)
	if err != nil || bid == nil {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	raw, err := d.changed(bid)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Eth-Consensus-Version", bid.Version.String())
	serve.Bytes(w, http.StatusOK, "application/json", raw)
}

// changed returns a bid with the wrong field, in JSON. It knows the bids from deneb on, which all
// have the same type of header.
func (d *dishonest) changed(bid *builderspec.VersionedSignedBuilderBid) ([]byte, error) {
	var header *deneb.ExecutionPayloadHeader
	var message interface{ HashTreeRoot() ([32]byte, error) }
	var signature *phase0.BLSSignature
	data, err := payload.Member[any](bid)
	if err != nil {
		return nil, fmt.Errorf("change a bid: %w", err)
	}
	switch signed := data.(type) {
	case *builderdeneb.SignedBuilderBid:
		header, message, signature = signed.Message.Header, signed.Message, &signed.Signature
	case *builderelectra.SignedBuilderBid:
		header, message, signature = signed.Message.Header, signed.Message, &signed.Signature
	default:
		return nil, fmt.Errorf("no dishonest relays in %s", bid.Version)
	}
	key := d.key
	switch d.behaviour {
	case "signature":
		key = bls.Derive("nobody's relay", 1)
	case "parent-hash":
		header.ParentHash[0] ^= 1
	case "timestamp":
		header.Timestamp++
	case "gas-limit":
		header.GasLimit += header.GasLimit / 100
	}
	root, err := message.HashTreeRoot()
	if err != nil {
		return nil, fmt.Errorf("hash bid: %w", err)
	}
	*signature = key.Sign(eth.SigningRoot(root, d.spec.BuilderDomain()))
	return json.Marshal(map[string]any{"version": bid.Version.String(), "data": data})
}

// list answers with a false list of delivered payloads.
func (d *dishonest) list(w http.ResponseWriter, r *http.Request) {
	list, err := d.inside.Delivered(r.Context(), r.URL.Query())
	if err != nil {
		d.pass.ServeHTTP(w, r)
		return
	}
	switch d.behaviour {
	case "unlisted-delivery":
		list = nil
	case "value":
		for i := range list {
			list[i].Value = "1"
		}
	default:
		for i := range list {
			list[i].BlockHash = fmt.Sprintf("%#x", bls.Derive(list[i].BlockHash, 1).PublicKey())[:66] // any other hash
		}
	}
	if list == nil {
		list = []client.Trace{}
	}
	serve.JSON(w, r, http.StatusOK, list)
}
