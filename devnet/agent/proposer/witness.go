package proposer

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/gavel-relay/gavel/devnet"
)

// Witness is a transport that reports what a relay answers to proposers.
type Witness struct {
	http.RoundTripper
	// Relay is the name of the relay to which requests go.
	Relay string
	// Name is the name of the agent that sends them.
	Name string
	// Tell receives an event for each answer that matters.
	Tell func(devnet.Event)
}

// RoundTrip implements http.RoundTripper.
func (w *Witness) RoundTrip(request *http.Request) (*http.Response, error) {
	e := devnet.Event{Actor: w.Name, At: w.Relay, Subject: devnet.RequestFailed}
	if i := strings.Index(request.URL.Path, "/header/"); i >= 0 {
		slot, _, _ := strings.Cut(request.URL.Path[i+len("/header/"):], "/")
		e.Slot, _ = strconv.Atoi(slot) // cannot fail: the path is of our own request
	}
	response, err := w.RoundTripper.RoundTrip(request)
	if err != nil {
		w.Tell(e)
		return nil, err
	}
	switch path := request.URL.Path; {
	case response.StatusCode >= 400:
		e.Subject, e.Status, e.Refusal = devnet.RequestRefused, response.StatusCode, response.Header.Get("X-Refusal")
		w.Tell(e)
	case strings.Contains(path, "/header/") && response.StatusCode == http.StatusOK:
		e.Subject = devnet.HeaderReceived
		w.Tell(e)
	case strings.HasSuffix(path, "/v1/builder/validators"):
		e.Subject = devnet.RegistrationSent
		w.Tell(e)
	case strings.HasSuffix(path, "/v1/builder/blinded_blocks") && response.StatusCode == http.StatusOK:
		e.Subject = devnet.PayloadReceived
		w.Tell(e)
	}
	return response, nil
}
