package proposer

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/serve"
	"github.com/gavel-relay/gavel/relay/client"
)

// SidecarConfig says in front of which relays a sidecar stands.
type SidecarConfig struct {
	// Relays are the relays' URLs, each with its public key as user, as mev-boost takes them.
	Relays []string
	Spec   *eth.Spec
	// MinBidWei is the lowest value of a bid that is handed on; nil means no limit.
	MinBidWei *uint256.Int
	Log       *slog.Logger
}

// The waits for relays are those of mev-boost. A beacon node may shorten the first by X-Timeout-Ms.
const (
	headerTimeout          = 950 * time.Millisecond
	sidecarRegisterTimeout = 3 * time.Second
	payloadTimeout         = 4 * time.Second
	// encodeTime is left of a beacon node's patience to answer it.
	encodeTime = 50 * time.Millisecond
	// maxBody bounds the body of a request, in bytes.
	maxBody = 32 << 20
)

// sidecarServer answers the Proposer API from an aggregator.
type sidecarServer struct {
	*Aggregator
	log *slog.Logger
}

// NewSidecar returns the handler of a sidecar.
func NewSidecar(cfg SidecarConfig) (http.Handler, error) {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	s := &sidecarServer{log: cfg.Log, Aggregator: &Aggregator{Spec: cfg.Spec, MinBidWei: cfg.MinBidWei, Log: cfg.Log}}
	var err error
	if s.Relays, err = Dial(cfg.Relays); err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /eth/v1/builder/status", s.status)
	mux.HandleFunc("POST /eth/v1/builder/validators", s.register)
	mux.HandleFunc("GET /eth/v1/builder/header/{slot}/{parent_hash}/{pubkey}", s.header)
	mux.HandleFunc("POST /eth/v1/builder/blinded_blocks", s.reveal)
	mux.HandleFunc("POST /eth/v2/builder/blinded_blocks", s.publish)
	return mux, nil
}

// Dial makes clients of relays from their URLs, each with its public key as user.
func Dial(addresses []string) (relays []Relay, err error) {
	for _, address := range addresses {
		relay, err := dial(address)
		if err != nil {
			return nil, err
		}
		relays = append(relays, relay)
	}
	return relays, nil
}

// dial makes the client of a relay from its URL.
func dial(address string) (relay Relay, err error) {
	parsed, err := url.Parse(address)
	if err != nil {
		return relay, fmt.Errorf("relay %q: %w", address, err)
	}
	if err := relay.Pubkey.UnmarshalJSON([]byte(strconv.Quote(parsed.User.Username()))); err != nil {
		return relay, fmt.Errorf("relay %q: want http://0xKEY@host: %w", address, err)
	}
	relay.Client, err = client.New(address, client.Options{})
	return relay, err
}

// fail answers with builder-specs' ErrorMessage.
func (s *sidecarServer) fail(w http.ResponseWriter, r *http.Request, status int, err error) {
	s.log.Warn("request failed", "path", r.URL.Path, "status", status, "error", err)
	raw, err := json.Marshal(map[string]any{"code": status, "message": err.Error()})
	if err != nil {
		raw = []byte(`{"code":500,"message":"error"}`) // cannot happen: a number and a text
	}
	serve.Bytes(w, status, mediaJSON, raw)
}

// status: GET /eth/v1/builder/status. One healthy relay is enough.
func (s *sidecarServer) status(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), headerTimeout)
	defer cancel()
	if err := s.Healthy(ctx); err != nil {
		s.fail(w, r, http.StatusServiceUnavailable, err)
		return
	}
	w.WriteHeader(http.StatusOK)
}

// register: POST /eth/v1/builder/validators. It is enough if one relay takes the registrations.
func (s *sidecarServer) register(w http.ResponseWriter, r *http.Request) {
	batch, status, err := readRegistrations(w, r)
	if err != nil {
		s.fail(w, r, status, err)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), sidecarRegisterTimeout)
	defer cancel()
	if err := s.Register(ctx, batch); err != nil {
		s.fail(w, r, http.StatusBadGateway, err)
		return
	}
	w.WriteHeader(http.StatusOK)
}

// header: GET /eth/v1/builder/header/{slot}/{parent_hash}/{pubkey}. Without a valid bid it answers
// 204, also if all relays fail: the beacon node then proposes its own block.
func (s *sidecarServer) header(w http.ResponseWriter, r *http.Request) {
	var parent phase0.Hash32
	var pubkey phase0.BLSPubKey
	slot, err := strconv.ParseUint(r.PathValue("slot"), 10, 64)
	if err == nil {
		err = parent.UnmarshalJSON([]byte(strconv.Quote(r.PathValue("parent_hash"))))
	}
	if err == nil {
		err = pubkey.UnmarshalJSON([]byte(strconv.Quote(r.PathValue("pubkey"))))
	}
	if err != nil {
		s.fail(w, r, http.StatusBadRequest, fmt.Errorf("read the path: %w", err))
		return
	}
	media, ok := serve.Negotiate(r, mediaJSON, mediaSSZ)
	if !ok {
		s.fail(w, r, http.StatusNotAcceptable, errMedia)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), patience(r))
	defer cancel()
	bid, err := s.Header(ctx, phase0.Slot(slot), parent, pubkey)
	if err != nil {
		s.log.Warn("no relay has a bid", "slot", slot, "error", err)
	}
	if bid == nil {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	s.write(w, r, media, bid.Versioned)
}

// patience returns how long relays may take for a header: as long as the beacon node waits, but
// not longer than headerTimeout.
func patience(r *http.Request) time.Duration {
	waits, err := strconv.ParseInt(r.Header.Get("X-Timeout-Ms"), 10, 32)
	if err != nil {
		return headerTimeout
	}
	return max(min(headerTimeout, time.Duration(waits)*time.Millisecond-encodeTime), time.Millisecond)
}

// reveal: POST /eth/v1/builder/blinded_blocks. It answers with the first right payload.
func (s *sidecarServer) reveal(w http.ResponseWriter, r *http.Request) {
	media, ok := serve.Negotiate(r, mediaJSON, mediaSSZ)
	if !ok {
		s.fail(w, r, http.StatusNotAcceptable, errMedia)
		return
	}
	block, status, err := s.readBlinded(w, r)
	if err != nil {
		s.fail(w, r, status, err)
		return
	}
	payload, err := s.Reveal(r.Context(), block, payloadTimeout)
	if err != nil {
		s.fail(w, r, http.StatusBadGateway, err)
		return
	}
	s.write(w, r, media, payload)
}

// publish: POST /eth/v2/builder/blinded_blocks. It is enough if one relay publishes the block.
func (s *sidecarServer) publish(w http.ResponseWriter, r *http.Request) {
	block, status, err := s.readBlinded(w, r)
	if err != nil {
		s.fail(w, r, status, err)
		return
	}
	if err := s.Publish(r.Context(), block, payloadTimeout); err != nil {
		s.fail(w, r, http.StatusBadGateway, err)
		return
	}
	w.WriteHeader(http.StatusAccepted)
}

// isSSZ says whether a media type is that of SSZ.
func isSSZ(media string) bool { return strings.HasPrefix(media, mediaSSZ) }
