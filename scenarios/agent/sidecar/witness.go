package sidecar

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/gavel-relay/gavel/scenarios/plan"
)

// Witness is a transport that tells what a relay answers to proposers.
type Witness struct {
	http.RoundTripper
	// Relay is whom requests go to.
	Relay string
	// Tell is told each answer of note; message is a refusal's.
	Tell func(r plan.Record, message string)
}

// RoundTrip implements http.RoundTripper.
func (w *Witness) RoundTrip(request *http.Request) (*http.Response, error) {
	r := plan.Record{Actor: plan.ProposersName, At: w.Relay, Subject: plan.RequestFailed}
	if i := strings.Index(request.URL.Path, "/header/"); i >= 0 {
		slot, _, _ := strings.Cut(request.URL.Path[i+len("/header/"):], "/")
		r.Slot, _ = strconv.Atoi(slot) // our own request
	}
	response, err := w.RoundTripper.RoundTrip(request)
	if err != nil {
		w.Tell(r, "")
		return nil, err
	}
	switch path := request.URL.Path; {
	case response.StatusCode >= 400:
		raw, err := io.ReadAll(response.Body)
		err = errors.Join(err, response.Body.Close())
		response.Body = io.NopCloser(bytes.NewReader(raw))
		var document struct {
			Message string `json:"message"`
		}
		if err != nil || json.Unmarshal(raw, &document) != nil {
			document.Message = http.StatusText(response.StatusCode)
		}
		r.Subject, r.ID = plan.RequestRefused, "http-"+strconv.Itoa(response.StatusCode)
		w.Tell(r, document.Message)
	case strings.Contains(path, "/header/") && response.StatusCode == http.StatusOK:
		r.Subject = plan.HeaderReceived
		w.Tell(r, "")
	case strings.HasSuffix(path, "/v1/builder/validators"):
		r.Subject = plan.RegistrationSent
		w.Tell(r, "")
	case strings.HasSuffix(path, "/v1/builder/blinded_blocks") && response.StatusCode == http.StatusOK:
		r.Subject = plan.PayloadReceived
		w.Tell(r, "")
	}
	return response, nil
}
