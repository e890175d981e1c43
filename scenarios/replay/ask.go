package replay

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/gavel-relay/gavel/internal/clock"
)

// The bounds of a relay's answers. A relay has 200 to some thousand rows of 700 bytes in one.
const (
	maxListBytes = 32 << 20
	askPatience  = time.Minute
	// maxTries is how often one question is asked if the relay fails, and maxRetryAfter how long it
	// can ask to be left alone.
	maxTries      = 6
	maxRetryAfter = 10 * time.Minute
)

// Why an import from a relay ends. Given again, the command goes on where it was.
var (
	errLongAnswer = fmt.Errorf("the answer is longer than %d bytes", maxListBytes)
	errNoList     = errors.New("the answer is no list of the Data API")
	errAskedOff   = fmt.Errorf("the relay asks to be left alone for longer than %s", maxRetryAfter)
	errFails      = fmt.Errorf("the relay has failed %d times in a row", maxTries)
	errRedirected = errors.New("the relay sends to another host")
)

// asker asks a relay's Data API, one question at a time and not too often.
type asker struct {
	http  *http.Client
	base  *url.URL
	clock clock.Clock
	// pace is the least time from one question to the next.
	pace time.Duration
	next time.Time
}

// newAsker returns an asker of the relay at an address.
func newAsker(base *url.URL, time clock.Clock, pace time.Duration) *asker {
	return &asker{
		base: base, clock: time, pace: pace,
		http: &http.Client{Timeout: askPatience, CheckRedirect: func(to *http.Request, before []*http.Request) error {
			if to.URL.Hostname() != base.Hostname() || len(before) > 3 {
				return fmt.Errorf("%w: %s", errRedirected, to.URL.Host)
			}
			return nil
		}},
	}
}

// ask returns a list as the relay wrote it. It asks again when the relay is busy or fails.
func (a *asker) ask(ctx context.Context, list string, query url.Values) ([]byte, error) {
	for try := 1; ; try++ {
		if err := a.clock.Until(ctx, a.next); err != nil {
			return nil, err
		}
		a.next = a.clock.Now().Add(a.pace)
		raw, wait, err := a.askOnce(ctx, list, query)
		switch {
		case err == nil || ctx.Err() != nil || wait < 0:
			return raw, errors.Join(err, ctx.Err())
		case wait > maxRetryAfter:
			return nil, fmt.Errorf("%w: %s", errAskedOff, wait)
		case try == maxTries:
			return nil, fmt.Errorf("%w: %w", errFails, err)
		}
		wait = max(wait, time.Second<<(try-1))
		if later := a.clock.Now().Add(wait); later.After(a.next) {
			a.next = later
		}
	}
}

// noWait says that asking again would give the same.
const noWait = -1

// askOnce asks once. After an error that may pass, wait is how long the relay wants to be left
// alone.
func (a *asker) askOnce(ctx context.Context, list string, query url.Values) (raw []byte, wait time.Duration,
	err error) {
	address := a.base.JoinPath("/relay/v1/data/bidtraces", list)
	address.RawQuery = query.Encode()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address.String(), nil)
	if err != nil {
		return nil, noWait, fmt.Errorf("make the request: %w", err)
	}
	request.Header.Set("Accept", "application/json")
	request.Header.Set("User-Agent", "gavel-lab")
	response, err := a.http.Do(request)
	if err != nil {
		if errors.Is(err, errRedirected) {
			return nil, noWait, err
		}
		return nil, 0, fmt.Errorf("ask the relay: %w", err)
	}
	defer response.Body.Close() // it was only read
	raw, err = io.ReadAll(io.LimitReader(response.Body, maxListBytes+1))
	switch {
	case response.StatusCode == http.StatusTooManyRequests || response.StatusCode >= 500:
		return nil, retryAfter(response, a.clock.Now()), fmt.Errorf("the relay answers %s: %s", response.Status, begin(raw))
	case response.StatusCode != http.StatusOK:
		return nil, noWait, fmt.Errorf("the relay answers %s: %s", response.Status, begin(raw))
	case err != nil:
		return nil, 0, fmt.Errorf("read the answer: %w", err)
	case len(raw) > maxListBytes:
		return nil, noWait, errLongAnswer
	case !bytes.HasPrefix(bytes.TrimSpace(raw), []byte("[")):
		return nil, noWait, fmt.Errorf("%w: it is %q and begins with %q", errNoList,
			response.Header.Get("Content-Type"), begin(raw))
	}
	return raw, 0, nil
}

// retryAfter is the header in seconds or as a date (RFC 9110, 10.2.3), 0 if there is none.
func retryAfter(response *http.Response, now time.Time) time.Duration {
	text := response.Header.Get("Retry-After")
	if seconds, err := strconv.ParseUint(text, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(0, at.Sub(now))
	}
	return 0
}

// begin is the beginning of an answer, for a message.
func begin(raw []byte) string {
	text := strings.TrimSpace(strings.ToValidUTF8(string(raw[:min(len(raw), 100)]), "?"))
	first, _, _ := strings.Cut(text, "\n")
	return first
}
