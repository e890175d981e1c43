package client

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"
)

// The documented record, in the order of keys of a service of others.
const record = `{"block":9091377,"timestamp":1685452445,"hint":{"txs":[{"to":"0x1400000000000000000000000000000000000014","callData":"0x",
	"functionSelector":"0x00000000"}],"hash":"0x90b4f5664cc201c3aa112d6bb2fa414c4aee10f00994692b282c1d14a1db6e4d","logs":null,"gasUsed":"0x5208",
	"mevGasPrice":"0x3b9aca00"}}`

func TestHistory(t *testing.T) {
	var asked string
	reply, status := "", http.StatusOK
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = r.URL.RequestURI()
		w.WriteHeader(status)
		_, _ = fmt.Fprint(w, reply)
	}))
	defer server.Close()
	c, err := New(server.URL+"/", Options{MaxPageBytes: 2000})
	if err != nil {
		t.Fatal(err)
	}
	block, zero := uint64(9091377), uint64(0)

	reply = "[" + record + "," + record + "]"
	got, err := c.History(t.Context(), Query{BlockStart: &zero, BlockEnd: &block, TimestampStart: &zero,
		TimestampEnd: &block, Limit: 2, Offset: 7})
	if err != nil || len(got) != 2 ||
		asked != "/api/v1/history?blockEnd=9091377&blockStart=0&limit=2&offset=7&timestampEnd=9091377&timestampStart=0" {
		t.Fatalf("%s: %d records, %v", asked, len(got), err)
	}
	hash, to := common.HexToHash("0x90b4f5664cc201c3aa112d6bb2fa414c4aee10f00994692b282c1d14a1db6e4d"),
		common.HexToAddress("0x1400000000000000000000000000000000000014")
	if r := got[1]; r.Block != block || r.Timestamp != 1685452445 || r.Hint.Hash != hash ||
		*r.Hint.GasUsed != 21000 || r.Hint.MevGasPrice.ToInt().Uint64() != 1e9 || r.Hint.Logs != nil ||
		len(r.Hint.Txs) != 1 ||
		r.Hint.Txs[0].From != nil || *r.Hint.Txs[0].To != to || len(*r.Hint.Txs[0].CallData) != 0 {
		t.Errorf("%+v", r)
	}

	reply = `{"count":20146,"minBlock":9091377,"maxBlock":9143624,"minTimestamp":1685452445,"maxTimestamp":1686225251,"maxLimit":500}`
	info, err := c.Info(t.Context())
	if err != nil || info != (Info{20146, 9091377, 9143624, 1685452445, 1686225251, 500}) ||
		asked != "/api/v1/history/info" {
		t.Errorf("%s: %+v, %v", asked, info, err)
	}

	for _, bad := range []string{`{}`, `[{"block":-1}]`, `[{"block":1,"hint":[]}]`, ``, strings.Repeat(" ", 2001)} {
		reply = bad
		if _, err := c.History(t.Context(), Query{}); err == nil {
			t.Errorf("%.20q is taken", bad)
		}
	}
	reply, status = `{"error":"invalid query parameter limit: 501"}`, http.StatusBadRequest
	known := (*StatusError)(nil)
	_, err = c.History(t.Context(), Query{})
	if !errors.As(err, &known) || known.Status != 400 || known.Message != "invalid query parameter limit: 501" {
		t.Errorf("%v", err)
	}
}

// All goes from page to page until one is not full.
func TestAll(t *testing.T) {
	for _, stored := range []int{0, 1, 2, 3, 4, 7} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.HasSuffix(r.URL.Path, "info") {
				_, _ = fmt.Fprint(w, `{"maxLimit":2}`)
				return
			}
			offset, _ := strconv.Atoi(r.URL.Query().Get("offset"))
			limit, _ := strconv.Atoi(r.URL.Query().Get("limit"))
			var page []string
			for n := offset; n < min(offset+limit, stored); n++ {
				page = append(page, fmt.Sprintf(`{"block":%d,"hint":{}}`, n))
			}
			_, _ = fmt.Fprintf(w, "[%s]", strings.Join(page, ","))
		}))
		c, err := New(server.URL, Options{})
		if err != nil {
			t.Fatal(err)
		}
		got := 0
		for record, err := range c.All(t.Context(), Query{}) {
			if err != nil || record.Block != uint64(got) {
				t.Fatalf("%+v, %v", record, err)
			}
			got++
		}
		if got != stored {
			t.Errorf("%d records of %d", got, stored)
		}
		server.Close()
		for _, err := range c.All(t.Context(), Query{}) {
			if err == nil {
				t.Error("a service that is gone answers")
			}
		}
	}
}
