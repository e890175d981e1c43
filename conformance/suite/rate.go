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
	// askers is how many goroutines send requests at a time to exceed a rate.
	askers = 16
	// mostAsked bounds how many requests the suite sends to exceed a rate.
	mostAsked = 20_000
)

// Limited sends one request again and again until it is refused for its rate, and returns such a
// refusal. It fails the spec if there is none. Most of the requests are in no report. It returns
// when the target answers again, because later specs may use the same instance.
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
	for range 3 { // a slow target may recover while it still answers
		t.sendBurst(rate.URL, request, enough)
		if answer := t.Do(client, request); answer.Status == http.StatusTooManyRequests {
			return answer
		}
	}
	t.Check(false, "429 to the last of "+strconv.Itoa(3*enough)+" requests, sent as fast as they were answered",
		"other answers")
	return nil
}

// IsLimited sends a request the given number of times, as fast as answers come, and says whether
// one of them was refused for its rate. None of the requests is in the report.
func (t *T) IsLimited(base string, request probe.Request, times int) bool {
	return t.sendBurst(base, request, times)
}

// sendBurst sends a request the given number of times, or until one is refused for its rate.
func (t *T) sendBurst(base string, request probe.Request, times int) bool {
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
	return refused.Load()
}

// Quiet returns a client of the target whose exchanges are in no report. It is for requests that
// are sent in great numbers.
func (t *T) Quiet(base string) *probe.Client {
	return probe.NewClient(base, nil, t.Target.Budgets.Answer())
}

const errStillLimited = plainError("requests are still refused for their rate")

type plainError string

// Error implements error.
func (e plainError) Error() string { return string(e) }

// RetryAfter fails the spec unless the answer says when to try again: in seconds, or as a date (RFC
// 9110, 10.2.3).
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
