package scripted

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/gavel-relay/gavel/conformance/probe"
	"github.com/gavel-relay/gavel/internal/eth"
)

const (
	jsonType      = "application/json"
	sszType       = "application/octet-stream"
	versionHeader = "Eth-Consensus-Version"
)

// Say answers with a status and no body.
func Say(status int) Answer {
	return func(_ context.Context, w http.ResponseWriter, _ Asked) { w.WriteHeader(status) }
}

// Refuse answers with a status and builder-specs' ErrorMessage.
func Refuse(status int) Answer {
	return Raw(status, jsonType, "", fmt.Appendf(nil, `{"code":%d,"message":"refused by the script"}`, status))
}

// Raw answers with any body. Version is the value of Eth-Consensus-Version; empty sends none.
func Raw(status int, media, version string, body []byte) Answer {
	return func(_ context.Context, w http.ResponseWriter, _ Asked) {
		w.Header().Set("Content-Type", media)
		if version != "" {
			w.Header().Set(versionHeader, version)
		}
		w.WriteHeader(status)
		_, _ = w.Write(body) // the client may be gone
	}
}

// Hang never answers. It ends when the client goes away.
func Hang(ctx context.Context, _ http.ResponseWriter, _ Asked) { <-ctx.Done() }

// HangUntil keeps silent until done is closed, and closes the connection then.
func HangUntil(done <-chan struct{}) Answer {
	return func(ctx context.Context, _ http.ResponseWriter, _ Asked) {
		select {
		case <-ctx.Done():
		case <-done:
			panic(http.ErrAbortHandler)
		}
	}
}

// HangUp closes the connection without an answer.
func HangUp(context.Context, http.ResponseWriter, Asked) { panic(http.ErrAbortHandler) }

// After answers later.
func After(wait time.Duration, then Answer) Answer {
	return func(ctx context.Context, w http.ResponseWriter, a Asked) {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		select {
		case <-timer.C:
			then(ctx, w, a)
		case <-ctx.Done():
		}
	}
}

// Encodings are the forms in which a relay answers.
type Encodings int

const (
	// Negotiated answers SSZ if it is accepted first, and JSON otherwise.
	Negotiated Encodings = iota
	// JSONOnly answers JSON, whatever is accepted.
	JSONOnly
)

// Document answers 200 with a value of a fork, such as a bid.
func Document(fork eth.Fork, value probe.Document, how Encodings) Answer {
	return func(ctx context.Context, w http.ResponseWriter, a Asked) {
		accept := a.Header.Get("Accept")
		ssz := strings.Index(accept, sszType)
		if plain := strings.Index(accept, jsonType); how == Negotiated && ssz >= 0 && (plain < 0 || ssz < plain) {
			raw, err := value.MarshalSSZ()
			if err != nil {
				panic(fmt.Sprintf("encode a document of the suite: %v", err))
			}
			Raw(http.StatusOK, sszType, fork.String(), raw)(ctx, w, a)
			return
		}
		Raw(http.StatusOK, jsonType, fork.String(), Envelope(fork, value))(ctx, w, a)
	}
}

// Envelope writes the JSON document that has a value beside its version.
func Envelope(fork eth.Fork, value probe.Document) []byte {
	data, err := value.MarshalJSON()
	if err != nil {
		panic(fmt.Sprintf("encode a document of the suite: %v", err))
	}
	raw, err := json.Marshal(map[string]any{"version": fork.String(), "data": json.RawMessage(data)})
	if err != nil {
		panic(fmt.Sprintf("encode a document of the suite: %v", err))
	}
	return raw
}
