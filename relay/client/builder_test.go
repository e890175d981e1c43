package client

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"testing"

	builderspec "github.com/attestantio/go-builder-client/spec"

	"github.com/gavel-relay/gavel/internal/eth"
)

func TestSubmitBlock(t *testing.T) {
	forEach(t, func(t *testing.T, fork eth.Fork, asJSON bool) {
		block := newSource(fork).submission(fork)
		for _, c := range []struct {
			options       SubmitOptions
			uri, sequence string
			status        int
			answer        string
			want          SubmitResult
		}{
			{uri: "/relay/v1/builder/blocks", status: 200, want: SubmitResult{Status: 200}},
			{
				options: SubmitOptions{Cancellations: true, Sequence: 7}, uri: "/relay/v1/builder/blocks?cancellations=1",
				sequence: "7",
				status:   202, answer: `{"message":"below the floor"}`, want: SubmitResult{Status: 202, Message: "below the floor"},
			},
			{options: SubmitOptions{Gzip: true}, uri: "/relay/v1/builder/blocks", status: 200, want: SubmitResult{Status: 200}},
		} {
			r := &relay{status: c.status, body: []byte(c.answer)}
			got, err := r.client(t, Options{JSON: asJSON}).SubmitBlock(t.Context(), block, c.options)
			if err != nil || got != c.want {
				t.Errorf("%+v: %+v, %v, want %+v", c.options, got, err, c.want)
			}
			body, encoding := r.gotBody, ""
			if c.options.Gzip {
				body, encoding = unzip(t, body), "gzip"
			}
			r.wantRequest(t, "POST", c.uri, map[string]string{"Content-Encoding": encoding, "X-Sequence": c.sequence})
			r.wantBody(t, body, block, fork, asJSON)
		}
	})
}

func unzip(t *testing.T, raw []byte) []byte {
	t.Helper()
	reader, err := gzip.NewReader(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	plain, err := io.ReadAll(reader)
	if err != nil {
		t.Fatal(err)
	}
	return plain
}

func TestSubmissionsThatAreNotThere(t *testing.T) {
	r := &relay{status: http.StatusOK}
	for _, block := range []*builderspec.VersionedSubmitBlockRequest{{}, {Version: eth.Deneb.DataVersion()}} {
		if _, err := r.client(t, Options{}).SubmitBlock(t.Context(), block, SubmitOptions{}); err == nil || r.method != "" {
			t.Errorf("%s: %v, %s", block.Version, err, r.method)
		}
	}
}

func TestDuties(t *testing.T) {
	registration := newSource(eth.Fulu).registration()
	entry, err := json.Marshal(registration)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		body string
		want []Duty
		bad  bool
	}{
		{body: `[]`, want: []Duty{}},
		{
			body: fmt.Sprintf(`[{"slot":"33","validator_index":"7","entry":%s,"added":"later"}]`, entry),
			want: []Duty{{Slot: 33, Index: 7, Registration: registration}},
		},
		{body: `{}`, bad: true},
		{body: `[{"slot":"33","validator_index":"7"}]`, bad: true},
		{body: fmt.Sprintf(`[{"slot":"-1","validator_index":"7","entry":%s}]`, entry), bad: true},
		{body: fmt.Sprintf(`[{"slot":"33","validator_index":"","entry":%s}]`, entry), bad: true},
		{body: `[{"slot":"33","validator_index":"7","entry":{"message":{}}}]`, bad: true},
	} {
		r := &relay{status: http.StatusOK, body: []byte(c.body)}
		got, err := r.client(t, Options{}).Duties(t.Context())
		if c.bad != (err != nil) || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v, %v, want %+v", c.body, got, err, c.want)
		}
		r.wantRequest(t, "GET", "/relay/v1/builder/validators", nil)
	}
}
