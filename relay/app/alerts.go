package app

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/gavel-relay/gavel/internal/run"
	"github.com/gavel-relay/gavel/relay"
)

// alertConfig says where alerts go.
type alertConfig struct {
	// URLs are those of the webhooks. They may hold secrets and are never logged.
	URLs []string
	HTTP *http.Client
	Log  *slog.Logger
}

// alerts tells the operator at once what should not wait: demotions, payloads that were refused to
// a proposer, the kill switch, a failure of a part that deliveries need, and failures that nobody
// is answered with. Each alert is a POST of JSON to every webhook; "text" is what chat services
// show. It is safe for concurrent use.
//
//	facts, failures ──Record, ReportFailure──▶ queue (bounded) ──Run──▶ webhook, webhook …   tried three times, then logged
type alerts struct {
	alertConfig
	queue chan alert
	lost  atomic.Int64
}

// alert is the body of a POST.
type alert struct {
	// Kind is the fact's subject, "trouble" or "trouble_over".
	Kind string    `json:"kind"`
	Text string    `json:"text"`
	At   time.Time `json:"at"`
	// Fact is what happened, as in the journal; left out for trouble.
	Fact relay.Fact `json:"fact,omitempty"`
}

// Limits of sending: how many alerts may wait, and tries for each webhook.
const (
	queued = 256
	tries  = 3
)

// retry is the pause before a further try.
var retry = run.Backoff{First: time.Second, Longest: 4 * time.Second}

// newAlerts returns alerts whose queue Run sends.
func newAlerts(cfg alertConfig) *alerts {
	if cfg.HTTP == nil {
		cfg.HTTP = &http.Client{Timeout: 10 * time.Second}
	}
	return &alerts{alertConfig: cfg, queue: make(chan alert, queued)}
}

// Record implements relay.Facts. It queues an alert for a fact that is worth one.
func (a *alerts) Record(fact relay.Fact) {
	if at, text := headline(fact); text != "" {
		a.put(alert{Kind: fact.Subject(), Text: "gavel: " + text, At: at, Fact: fact})
	}
}

// ReportFailure queues an alert about what the relay could not do. It never blocks.
func (a *alerts) ReportFailure(at time.Time, action string, err error) {
	a.put(alert{Kind: "trouble", Text: fmt.Sprintf("gavel: could not %s: %v", action, err), At: at})
}

// ReportRecovery queues an alert that a failure is over. It never blocks.
func (a *alerts) ReportRecovery(at time.Time, text string) {
	a.put(alert{Kind: "trouble_over", Text: "gavel: " + text, At: at})
}

func (a *alerts) put(alert alert) {
	if len(a.URLs) == 0 {
		return
	}
	select {
	case a.queue <- alert:
	default:
		a.lost.Add(1)
		a.Log.Error("an alert was not sent: too many wait", "text", alert.Text, "lost", a.lost.Load())
	}
}

// headline returns the text of a fact that is worth an alert; empty for all others.
func headline(fact relay.Fact) (at time.Time, text string) {
	switch f := fact.(type) {
	case relay.BuilderDemoted:
		verb := "demoted"
		if f.Delivered {
			verb = "demoted for a DELIVERED block"
		}
		return f.At, fmt.Sprintf("builder %s %s: slot %d, block %#x, %s wei, %s: %s", f.Name, verb, f.Slot, f.BlockHash[:],
			f.ValueWei, f.Rule, f.Detail)
	case relay.BuilderChanged:
		return f.At, fmt.Sprintf("builder %s changed: %s", f.Builder.Name, f.Why)
	case relay.KillSwitchChanged:
		state := "off: headers are served"
		if f.On {
			state = "ON: no headers are served"
		}
		return f.At, fmt.Sprintf("kill switch %s (%s)", state, f.Why)
	case relay.DeliveryPathChanged:
		if f.Works {
			return f.At, fmt.Sprintf("the %s answers again: headers are served, unless another part is away", f.Part)
		}
		return f.At, fmt.Sprintf("NO HEADERS ARE SERVED: payloads could not be delivered, because of the %s: %s",
			f.Part, f.Detail)
	case relay.PayloadRefused:
		// A refused block is a missed slot, unless another relay served its header: sidecars send the
		// signed block to every relay.
		if f.Refusal == relay.PayloadUnknown.ID {
			return f.At, ""
		}
		return f.At, fmt.Sprintf("payload of slot %d refused to its proposer: block %#x, %s: %s", f.Slot, f.BlockHash[:],
			f.Refusal, f.Detail)
	default:
		return time.Time{}, ""
	}
}

// Run sends alerts until the context ends. Alerts that are queued then are lost.
func (a *alerts) Run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case alert := <-a.queue:
			body, err := json.Marshal(alert)
			if err != nil {
				a.Log.Error("encode alert", "kind", alert.Kind, "error", err)
				continue
			}
			for i, url := range a.URLs {
				if err := a.send(ctx, url, body); err != nil && ctx.Err() == nil {
					a.Log.Error("an alert was not sent", "webhook", i+1, "text", alert.Text, "error", err)
				}
			}
		}
	}
}

func (a *alerts) send(ctx context.Context, url string, body []byte) (err error) {
	for try := range tries {
		if try > 0 {
			if err := run.Pause(ctx, retry.After(try)); err != nil {
				return err
			}
		}
		if err = a.post(ctx, url, body); err == nil {
			return nil
		}
	}
	return fmt.Errorf("%d tries: %w", tries, err)
}

func (a *alerts) post(ctx context.Context, url string, body []byte) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return errors.New("the webhook is no URL") // the error would show it
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := a.HTTP.Do(request)
	if err != nil {
		return errors.Unwrap(err) // the outer error shows the URL
	}
	defer response.Body.Close()
	_, _ = io.CopyN(io.Discard, response.Body, 64<<10) // so that the connection can be used again
	if response.StatusCode >= 300 {
		return fmt.Errorf("the webhook answers %d", response.StatusCode)
	}
	return nil
}
