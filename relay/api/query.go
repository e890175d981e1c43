package api

import (
	"encoding/hex"
	"net/http"
	"net/url"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/bls"
	"github.com/gavel-relay/gavel/relay"
)

func lowerHex(b []byte) string { return "0x" + hex.EncodeToString(b) }

// reader reads query parameters and keeps the first refusal. An empty parameter counts as missing.
type reader struct {
	values  url.Values
	refused *relay.Refused
}

func newReader(r *http.Request) *reader {
	values, err := url.ParseQuery(r.URL.RawQuery)
	q := &reader{values: values}
	if err != nil {
		q.refuse(relay.InvalidArgument.With("the query cannot be read"))
	}
	return q
}

func (q *reader) refuse(refused *relay.Refused) {
	if q.refused == nil {
		q.refused = refused
	}
}

// number reads an unsigned number below 2^63, which is what the archive can hold and compare.
func (q *reader) number(name string) *uint64 {
	text := q.values.Get(name)
	if text == "" {
		return nil
	}
	n, err := eth.ParseDecimal(text, 63)
	if err != nil {
		q.refuse(relay.InvalidArgument.With("%s is %.90q: %v", name, text, err))
		return nil
	}
	return &n
}

func (q *reader) slot(name string) *phase0.Slot { return (*phase0.Slot)(q.number(name)) }

// bytes reads hexadecimal digits after 0x, for exactly the length of into. false means that the
// parameter is missing or wrong.
func (q *reader) bytes(name string, into []byte) bool {
	text := q.values.Get(name)
	if text == "" {
		return false
	}
	if err := eth.ParseHex(text, into); err != nil {
		q.refuse(relay.InvalidArgument.With("%s: %v", name, err))
		return false
	}
	return true
}

func (q *reader) hash(name string) *phase0.Hash32 {
	var hash phase0.Hash32
	if !q.bytes(name, hash[:]) {
		return nil
	}
	return &hash
}

// pubkey reads a public key. A point outside of the subgroup cannot be a public key, so it is
// refused instead of answered with an empty list.
func (q *reader) pubkey(name string) *phase0.BLSPubKey {
	var key phase0.BLSPubKey
	if !q.bytes(name, key[:]) {
		return nil
	}
	if _, err := bls.ParsePublicKey(key); err != nil {
		q.refuse(relay.InvalidArgument.With("%s: no point of the group that public keys are in", name))
		return nil
	}
	return &key
}

// limit reads the limit, which is the largest one if it is missing.
func (q *reader) limit(greatest int) int {
	n := q.number("limit")
	switch {
	case n == nil:
		return greatest
	case *n > uint64(greatest):
		q.refuse(relay.LimitTooHigh.With("maximum limit is %d", greatest))
		return 0
	}
	return int(*n)
}

func (q *reader) order() relay.Order {
	switch text := q.values.Get("order_by"); text {
	case "":
		return relay.Newest
	case "value":
		return relay.ValueAscending
	case "-value":
		return relay.ValueDescending
	default:
		q.refuse(relay.InvalidArgument.With("order_by is %.90q: want value or -value", text))
		return relay.Newest
	}
}
