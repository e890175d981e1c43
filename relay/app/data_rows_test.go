package app_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/bls"
	"github.com/gavel-relay/gavel/relay"
)

const (
	deliveredPath    = "/relay/v1/data/bidtraces/proposer_payload_delivered"
	receivedPath     = "/relay/v1/data/bidtraces/builder_blocks_received"
	registrationPath = "/relay/v1/data/validator_registration"
)

// listed is a list of the Data API.
func (h *house) listed(t testing.TB, path string) []map[string]any {
	t.Helper()
	got := h.get(t, path, nil)
	var rows []map[string]any
	if err := json.Unmarshal(got.body, &rows); err != nil || got.status != http.StatusOK || rows == nil {
		t.Fatalf("%s: %v, %s", path, err, got)
	}
	return rows
}

// The eight ways of asking the Data API wrongly, in the order in which its arguments are described.
func TestDataRows(t *testing.T) {
	h := open(t, eth.Capella, houseOptions{})
	key := bls.Derive("nobody's validator", 0).PublicKey()
	stranger := fmt.Sprintf("%#x", key[:])
	for _, row := range []struct {
		name  string
		paths []string
		want  relay.Refusal
	}{
		{"REL-DAT-10 no numbers, hashes or keys", []string{
			deliveredPath + "?slot=abc", deliveredPath + "?cursor=1.5", deliveredPath + "?block_number=0x1", deliveredPath +
				"?block_hash=0x12",
			deliveredPath + "?proposer_pubkey=0x12", deliveredPath + "?builder_pubkey=zz", deliveredPath + "?limit=many",
			receivedPath + "?slot=abc", receivedPath + "?block_number=0x1", receivedPath + "?block_hash=0x12", receivedPath +
				"?builder_pubkey=zz",
			receivedPath + "?slot=1&limit=many", deliveredPath + "?slot=18446744073709551616", deliveredPath + "?slot=%zz",
		}, relay.InvalidArgument},
		{"REL-DAT-09 slot and cursor", []string{deliveredPath + "?slot=1&cursor=1"}, relay.ArgumentConflict},
		{"REL-DAT-16 no filter", []string{receivedPath, receivedPath + "?limit=1", receivedPath + "?slot=", registrationPath},
			relay.ArgumentMissing},
		{"REL-DAT-12 a limit that is too high", []string{
			deliveredPath + "?limit=201", receivedPath + "?slot=1&limit=501", deliveredPath + "?limit=9223372036854775807",
		}, relay.LimitTooHigh},
		{"REL-DAT-18 an unregistered validator", []string{registrationPath + "?pubkey=" + stranger},
			relay.RegistrationNotFound},
		{"a cursor where there is none", []string{receivedPath + "?cursor=1", receivedPath + "?slot=1&cursor=1"},
			relay.InvalidArgument},
		{"a key that is none", []string{
			registrationPath + "?pubkey=0x12", registrationPath + "?pubkey=" + strings.Repeat("17", 48),
			registrationPath + "?pubkey=0x" + strings.Repeat("17", 48), deliveredPath + "?builder_pubkey=0xc0" +
				strings.Repeat("00", 47),
		}, relay.InvalidArgument},
		{"REL-DAT-22 another order", []string{deliveredPath + "?order_by=slot", deliveredPath + "?order_by=+value"},
			relay.InvalidArgument},
	} {
		t.Run(row.name, func(t *testing.T) {
			for _, path := range row.paths {
				if h.get(t, path, nil).wantRefusal(t, row.want, ""); t.Failed() {
					t.Fatal(path)
				}
			}
		})
	}
	t.Run("REL-DAT-10 the greatest arguments that are allowed", func(t *testing.T) {
		for _, path := range []string{
			deliveredPath, deliveredPath + "?limit=200&order_by=-value", deliveredPath + "?slot=9223372036854775807",
			deliveredPath + "?limit=0",
			receivedPath + "?slot=1&limit=500", deliveredPath + "?slot=&cursor=", deliveredPath + "?unknown=1",
		} {
			if rows := h.listed(t, path); len(rows) != 0 {
				t.Errorf("%s: %v", path, rows)
			}
		}
	})
	t.Run("REL-DAT-18 a registered validator", func(t *testing.T) {
		r := h.registration(3)
		path := fmt.Sprintf("%s?pubkey=%#x", registrationPath, r.Message.Pubkey[:])
		poll(t, "the archive learns the registration", func() bool { return h.get(t, path, nil).status == http.StatusOK })
		want := fmt.Sprintf(
			`{"message":{"fee_recipient":"%#x","gas_limit":"%d","timestamp":"%d","pubkey":"%#x"},"signature":"%#x"}`,
			r.Message.FeeRecipient[:], r.Message.GasLimit, r.Message.Timestamp.Unix(), r.Message.Pubkey[:], r.Signature[:])
		if got := h.get(t, path, nil); string(got.body) != want {
			t.Errorf("got  %s\nwant %s", got.body, want)
		}
	})
}
