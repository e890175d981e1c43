package suite

import (
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gavel-relay/gavel/conformance/probe"
	"github.com/gavel-relay/gavel/conformance/target"
)

const (
	// askers send at a time what is to be too much.
	askers = 16
	// mostAsked bounds what the suite sends to go beyond a rate.
	mostAsked = 20_000
)

// Limited sends one request again and again, until it is refused for its rate, and returns such a
// refusal; none is a failure of the target. Most of what is sent stands in no report. It returns
// when the target answers again, since specs that come later may ask the same instance.
func (t *T) Limited(rate target.Rate, request probe.Request) *probe.Answer {
	enough := 2 * (rate.Burst + rate.PerSecond)
	if enough > mostAsked {
		t.Inconclusive("%d requests would be needed to go beyond the rate, and the suite sends at most %d", enough, mostAsked)
	}
	client := t.Client(rate.URL)
	defer func() {
		_ = t.Eventually(t.Target.Budgets.Settle(), func() error {
			if answer, err := t.Quiet(rate.URL).Do(t, request); err != nil || answer.Status == http.StatusTooManyRequests {
				return errStillLimited
			}
			return nil
		})
	}()
	for range 3 { // a slow target gives back while it is being asked
		t.burst(rate.URL, request, enough)
		if answer := t.Do(client, request); answer.Status == http.StatusTooManyRequests {
			return answer
		}
	}
	t.Check(false, "429 to the last of "+strconv.Itoa(3*enough)+" requests, sent as fast as they were answered",
		"other answers")
	return nil
}

// burst sends a request so many times, or until one is refused for its rate.
func (t *T) burst(base string, request probe.Request, times int) {
	client := t.Quiet(base)
	var sent atomic.Int64
	var refused atomic.Bool
	var group sync.WaitGroup
	for range askers {
		group.Go(func() {
			for sent.Add(1) <= int64(times) && !refused.Load() && t.Err() == nil {
				if answer, err := client.Do(t, request); err == nil && answer.Status == http.StatusTooManyRequests {
					refused.Store(true)
				}
			}
		})
	}
	group.Wait()
}

// Quiet is a client of the target whose exchanges are in no report: for what is only done in great
// number.
func (t *T) Quiet(base string) *probe.Client {
	return probe.NewClient(base, nil, t.Target.Budgets.Answer())
}

const errStillLimited = plainError("requests are still refused for their rate")

type plainError string

// Error implements error.
func (e plainError) Error() string { return string(e) }

// RetryAfter fails the spec unless the answer says when to come again: in seconds, or as a date
// (RFC 9110, 10.2.3).
func (t *T) RetryAfter(answer *probe.Answer) {
	value := answer.Header.Get("Retry-After")
	seconds, err := strconv.Atoi(value)
	if err != nil {
		var date time.Time
		date, err = http.ParseTime(value)
		t.Check(err == nil && !date.IsZero(), "Retry-After with seconds or a date", strconv.Quote(value))
		return
	}
	t.Check(seconds >= 0, "Retry-After with seconds", value)
}
