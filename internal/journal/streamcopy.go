package journal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/gavel-relay/gavel/internal/run"
)

// The engine copies a stream as a whole, with numbers, times and bounds (nats.io, "JetStream wire
// API reference", $JS.API.STREAM.SNAPSHOT and RESTORE). Its client has no call for that.
const (
	snapshotSubject = "$JS.API.STREAM.SNAPSHOT."
	restoreSubject  = "$JS.API.STREAM.RESTORE."
	copyChunk       = 128 << 10
)

// streamCopy is what the engine says of a stream beside its messages. Config and State are kept as
// the engine writes them.
type streamCopy struct {
	Config json.RawMessage `json:"config"`
	State  json.RawMessage `json:"state"`
}

// stateOfCopy is the part of a copy's state that is looked at.
type stateOfCopy struct {
	Messages uint64 `json:"messages"`
	Bytes    uint64 `json:"bytes"`
	First    uint64 `json:"first_seq"`
	Last     uint64 `json:"last_seq"`
	Deleted  uint64 `json:"num_deleted"`
	Lost     *struct {
		Messages []uint64 `json:"msgs"`
	} `json:"lost"`
}

// copyStream writes a copy of a stream. The engine checks the checksums of all messages before.
func (j *Journal) copyStream(ctx context.Context, name string, to io.Writer) (about streamCopy, err error) {
	inbox := nats.NewInbox()
	chunks, err := j.conn.SubscribeSync(inbox)
	if err != nil {
		return about, fmt.Errorf("copy stream %s: %w", name, err)
	}
	defer func() { err = errors.Join(err, chunks.Unsubscribe()) }()
	request, err := json.Marshal(map[string]any{"deliver_subject": inbox, "no_consumers": true, "chunk_size": copyChunk,
		"jsck": true})
	if err != nil {
		return about, fmt.Errorf("copy stream %s: %w", name, err)
	}
	if err := j.askEngine(ctx, snapshotSubject+name, request, &about); err != nil {
		return about, fmt.Errorf("copy stream %s: %w", name, err)
	}
	for {
		chunk, err := chunks.NextMsgWithContext(ctx)
		if err != nil {
			return about, fmt.Errorf("copy stream %s: %w", name, err)
		}
		if len(chunk.Data) == 0 {
			if status := chunk.Header.Get("Status"); status != "" && status != "204" {
				return about, fmt.Errorf("copy stream %s: the engine ended it: %s %s", name, status,
					chunk.Header.Get("Description"))
			}
			return about, nil
		}
		if _, err := to.Write(chunk.Data); err != nil {
			return about, fmt.Errorf("copy stream %s: %w", name, err)
		}
		if chunk.Reply == "" {
			continue
		}
		if err := chunk.Respond(nil); err != nil {
			return about, fmt.Errorf("copy stream %s: %w", name, err)
		}
	}
}

// restoreStream makes a stream of a copy. change may change its configuration.
func (j *Journal) restoreStream(ctx context.Context, name string, about streamCopy, from io.Reader,
	change func(config map[string]any)) error {
	var config map[string]any
	if err := json.Unmarshal(about.Config, &config); err != nil {
		return fmt.Errorf("restore stream %s: %w", name, err)
	}
	change(config)
	request, err := json.Marshal(map[string]any{"config": config, "state": about.State})
	if err != nil {
		return fmt.Errorf("restore stream %s: %w", name, err)
	}
	var answer struct {
		To string `json:"deliver_subject"`
	}
	if err := j.askEngine(ctx, restoreSubject+name, request, &answer); err != nil {
		return fmt.Errorf("restore stream %s: %w", name, err)
	}
	chunk := make([]byte, copyChunk)
	for {
		n, err := io.ReadFull(from, chunk)
		if n > 0 {
			if err := j.askEngine(ctx, answer.To, chunk[:n], nil); err != nil {
				return fmt.Errorf("restore stream %s: %w", name, err)
			}
		}
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("restore stream %s: %w", name, err)
		}
	}
	if err := j.askEngine(ctx, answer.To, nil, nil); err != nil {
		return fmt.Errorf("restore stream %s: %w", name, err)
	}
	return nil
}

// askEngine sends a request of the engine's API, and decodes the answer unless it is empty or
// nobody wants it.
func (j *Journal) askEngine(ctx context.Context, subject string, request []byte, into any) error {
	answer, err := j.askHeard(ctx, subject, request)
	if err != nil || len(answer.Data) == 0 {
		return err
	}
	var failed struct {
		Error *jetstream.APIError `json:"error"`
	}
	if err := json.Unmarshal(answer.Data, &failed); err != nil {
		return fmt.Errorf("decode the engine's answer: %w", err)
	}
	if failed.Error != nil {
		return failed.Error
	}
	if into == nil {
		return nil
	}
	if err := json.Unmarshal(answer.Data, into); err != nil {
		return fmt.Errorf("decode the engine's answer: %w", err)
	}
	return nil
}

const (
	// unheardTries and unheardPause are how often, and how long apart (wall time), a request is sent
	// that no server listens to.
	unheardTries = 100
	unheardPause = 50 * time.Millisecond
)

// askHeard sends a request, and sends it again while no server listens to its subject: in a cluster
// the server that this one is connected to learns a moment later where a restored stream's parts
// are to be sent. What nobody has heard has changed nothing.
func (j *Journal) askHeard(ctx context.Context, subject string, request []byte) (answer *nats.Msg, err error) {
	for range unheardTries {
		answer, err = j.conn.RequestWithContext(ctx, subject, request)
		if !errors.Is(err, nats.ErrNoResponders) || run.Pause(ctx, unheardPause) != nil {
			break
		}
	}
	return answer, err
}
