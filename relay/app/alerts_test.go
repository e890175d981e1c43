package app

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/relay"
)

var now = time.Unix(1_700_000_000, 0).UTC()

func demoted() relay.BuilderDemoted {
	return relay.BuilderDemoted{At: now, Name: "alpha", Demotion: relay.Demotion{
		Trace: relay.Trace{Slot: 7, BlockHash: phase0.Hash32{0xab}, ValueWei: uint256.NewInt(5)}, Rule: "state",
		Detail: "root differs",
	}}
}

// Which facts are worth an alert, and what it says.
func TestHeadlines(t *testing.T) {
	delivered := demoted()
	delivered.Delivered = true
	for _, row := range []struct {
		fact relay.Fact
		want string
	}{
		{demoted(), "builder alpha demoted: slot 7, block " +
			"0xab00000000000000000000000000000000000000000000000000000000000000, 5 wei, state: root differs"},
		{delivered, "builder alpha demoted for a DELIVERED block: slot 7"},
		{relay.BuilderChanged{At: now, Builder: relay.Builder{Name: "alpha"}, Why: "promoted: paid"},
			"builder alpha changed: promoted: paid"},
		{relay.KillSwitchChanged{At: now, On: true, Why: "bug"}, "kill switch ON: no headers are served (bug)"},
		{relay.KillSwitchChanged{At: now, Why: "fixed"}, "kill switch off: headers are served (fixed)"},
		{relay.DeliveryPathChanged{At: now, Part: "guard", Detail: "no answer"},
			"NO HEADERS ARE SERVED: payloads could not be delivered, because of the guard: no answer"},
		{relay.DeliveryPathChanged{At: now, Part: "guard", Works: true}, "the guard answers again"},
		{relay.PayloadRefused{At: now, Slot: 7, Refusal: relay.PayloadNotPublished.ID},
			"payload of slot 7 refused to its proposer"},
		{relay.PayloadRefused{At: now, Slot: 7, Refusal: relay.PayloadUnknown.ID}, ""},
		{relay.HeaderServed{At: now}, ""},
		{relay.SubmissionJudged{Refusal: "submission-invalid"}, ""},
	} {
		if _, text := headline(row.fact); !strings.HasPrefix(text, row.want) || (text == "") != (row.want == "") {
			t.Errorf("%T: %q, want %q", row.fact, text, row.want)
		}
	}
}

// hook is a webhook in this process that can be made to fail.
type hook struct {
	failures atomic.Int32
	bodies   chan []byte
	calls    atomic.Int32
}

func (h *hook) RoundTrip(r *http.Request) (*http.Response, error) {
	h.calls.Add(1)
	answer := httptest.NewRecorder()
	if h.failures.Add(-1) >= 0 {
		answer.WriteHeader(http.StatusBadGateway)
	} else {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		h.bodies <- body
	}
	return answer.Result(), nil
}

func alerting(t *testing.T, urls []string, h *hook, log io.Writer, test func(*alerts)) {
	synctest.Test(t, func(t *testing.T) {
		h.bodies = make(chan []byte, 8) // made here, so that waiting for it lets time pass
		a := newAlerts(alertConfig{URLs: urls, HTTP: &http.Client{Transport: h},
			Log: slog.New(slog.NewTextHandler(log, nil))})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- a.Run(ctx) }()
		test(a)
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func TestAlertIsSentUntilItArrives(t *testing.T) {
	h := new(hook)
	h.failures.Store(2)
	alerting(t, []string{"http://hook"}, h, io.Discard, func(a *alerts) {
		began := time.Now()
		a.Record(demoted())
		var got map[string]any
		if err := json.Unmarshal(<-h.bodies, &got); err != nil {
			t.Fatal(err)
		}
		fact, _ := got["fact"].(map[string]any)
		if got["kind"] != "builder_demoted" || fact["rule"] != "state" ||
			!strings.HasPrefix(got["text"].(string), "gavel: builder alpha demoted") {
			t.Errorf("%v", got)
		}
		if h.calls.Load() != 3 {
			t.Errorf("%d tries", h.calls.Load())
		}
		if waited := time.Since(began); waited != 3*time.Second {
			t.Errorf("%v between three tries, want a second and two", waited)
		}
	})
}

// One webhook that is down keeps nothing from the others, and its URL stays out of the log.
func TestWebhookThatIsDown(t *testing.T) {
	var log bytes.Buffer
	h := new(hook)
	h.failures.Store(3)
	alerting(t, []string{"http://secret.example/T0K3N", "http://other"}, h, &log, func(a *alerts) {
		a.ReportFailure(now, "publish block", io.ErrUnexpectedEOF)
		if body := string(<-h.bodies); !strings.Contains(body, "gavel: could not publish block: unexpected EOF") {
			t.Errorf("%s", body)
		}
		a.ReportRecovery(now, "it is well again")
		if body := string(<-h.bodies); !strings.Contains(body, `"trouble_over"`) ||
			!strings.Contains(body, "gavel: it is well again") {
			t.Errorf("%s", body)
		}
	})
	if !strings.Contains(log.String(), "3 tries: the webhook answers 502") || strings.Contains(log.String(), "T0K3N") {
		t.Errorf("log: %s", log.String())
	}
}

// Nobody waits for an alert: when too many are queued they are counted.
func TestQueueIsBounded(t *testing.T) {
	var log bytes.Buffer
	a := newAlerts(alertConfig{URLs: []string{"http://hook"}, Log: slog.New(slog.NewTextHandler(&log, nil))})
	for range queued + 2 {
		a.Record(demoted())
	}
	if a.lost.Load() != 2 || !strings.Contains(log.String(), "too many wait") {
		t.Errorf("%d lost, log %s", a.lost.Load(), log.String())
	}
	none := newAlerts(alertConfig{})
	for range queued + 2 {
		none.Record(demoted())
	}
	if len(none.queue) != 0 {
		t.Error("alerts are queued that nobody wants")
	}
}
