package client

import (
	"context"
	"net/http"
	"net/url"
	"reflect"
	"testing"
)

func TestTraces(t *testing.T) {
	type list func(*Client, context.Context, url.Values) ([]Trace, error)
	for uri, ask := range map[string]list{
		"/relay/v1/data/bidtraces/proposer_payload_delivered?limit=2&slot=7": (*Client).Delivered,
		"/relay/v1/data/bidtraces/builder_blocks_received?limit=2&slot=7":    (*Client).Received,
	} {
		r := &relay{status: http.StatusOK, body: []byte(`[{"slot":"7","value":"123456789012345678901234567890","num_tx":"3",
			"timestamp_ms":"1700000000123","optimistic_submission":true,"added":{}}]`)}
		got, err := ask(r.client(t, Options{}), t.Context(), url.Values{"slot": {"7"}, "limit": {"2"}})
		want := []Trace{{Slot: "7", Value: "123456789012345678901234567890", NumTx: "3", TimestampMs: "1700000000123",
			Optimistic: true}}
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%+v, %v, want %+v", got, err, want)
		}
		r.wantRequest(t, "GET", uri, nil)

		r.body = []byte(`{"slot":"7"}`)
		if got, err := ask(r.client(t, Options{}), t.Context(), nil); err == nil {
			t.Errorf("an object is read as the list %+v", got)
		}
	}
}
