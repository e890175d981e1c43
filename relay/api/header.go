package api

import (
	"net/http"
	"strconv"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/serve"
	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/relay/wire"
)

// versionHeaders are the forks as header values. They are made once and never changed, so that
// getHeader does not allocate them.
var versionHeaders = func() map[eth.Fork][]string {
	all := map[eth.Fork][]string{}
	for _, fork := range eth.Forks() {
		all[fork] = []string{fork.String()}
	}
	return all
}()

// header answers with the top bid of an auction in JSON or SSZ, or 204 (builder-specs, getHeader).
// The bytes were made when the top changed, not here.
func (a *proposerHandlers) header(w http.ResponseWriter, r *http.Request, path serve.Values) {
	at := a.Clock.Now()
	media, ok := serve.Negotiate(r, wire.JSON.ContentType(), wire.SSZ.ContentType())
	if !ok {
		Refuse(w, r, relay.NotAcceptable.Plain())
		return
	}
	key, refused := parseKey(path[0], path[1], path[2])
	if refused != nil {
		Refuse(w, r, refused)
		return
	}
	bid, err := a.Headers.Header(r.Context(), at, key, clientDeadline(r.Header))
	switch {
	case err != nil:
		Refuse(w, r, err)
	case bid == nil:
		w.WriteHeader(http.StatusNoContent)
	default:
		w.Header()[VersionHeader] = versionHeaders[bid.Fork]
		raw := bid.JSON
		if media == wire.SSZ.ContentType() {
			raw = bid.SSZ
		}
		serve.Bytes(w, http.StatusOK, media, raw)
	}
}

// parseKey reads the auction from the path. It checks slot, public key and hash in this order,
// which is the order in which deployed relays report errors.
func parseKey(slot, parentHash, pubkey string) (key relay.Key, refused *relay.Refused) {
	number, err := eth.ParseDecimal(slot, 64)
	if err != nil {
		return key, relay.InvalidSlot.With("%.90q", slot)
	}
	key.Slot = phase0.Slot(number)
	if err := eth.ParseHex(pubkey, key.Proposer[:]); err != nil {
		return key, relay.InvalidPubkey.With("%v", err)
	}
	if err := eth.ParseHex(parentHash, key.ParentHash[:]); err != nil {
		return key, relay.InvalidHash.With("%v", err)
	}
	return key, nil
}

// clientDeadline returns when the client stops waiting: the time at which it sent the request plus
// how long it waits, both in milliseconds. It is zero if one of the headers is missing or cannot be
// read, since both are optional (builder-specs, "X-Timeout-Ms").
func clientDeadline(h http.Header) time.Time {
	sent, timeout := firstValue(h["Date-Milliseconds"]), firstValue(h["X-Timeout-Ms"])
	if sent == "" || timeout == "" { // the usual case; parsing would allocate an error
		return time.Time{}
	}
	sentMs, err := strconv.ParseInt(sent, 10, 64)
	if err != nil || sentMs <= 0 {
		return time.Time{}
	}
	const longest = 60_000
	timeoutMs, err := strconv.ParseInt(timeout, 10, 64)
	if err != nil || timeoutMs < 0 || timeoutMs > longest {
		return time.Time{}
	}
	return time.UnixMilli(sentMs).Add(time.Duration(timeoutMs) * time.Millisecond)
}

// firstValue returns the first value of a header, empty if there is none. Reading the map with a
// canonical name costs less than Header.Get.
func firstValue(values []string) string {
	if len(values) == 0 {
		return ""
	}
	return values[0]
}
