package beacon

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gavel-relay/gavel/internal/serve"
	"github.com/gavel-relay/gavel/internal/sse"
)

// event is one message of the stream.
type event struct {
	topic string
	data  []byte
}

// hub sends events to listeners. It disconnects a listener that falls behind, so that no listener
// delays the chain.
type hub struct {
	mu        sync.Mutex // guards both
	listeners map[chan event][]string
	last      map[string][]byte // the last event of each topic
}

// queue is how many events a listener may be behind; the next one disconnects it.
const queue = 256

func newHub() *hub { return &hub{listeners: map[chan event][]string{}, last: map[string][]byte{}} }

func (h *hub) send(topic string, data []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.last[topic] = data
	for listener, topics := range h.listeners {
		if !slices.Contains(topics, topic) {
			continue
		}
		select {
		case listener <- event{topic, data}:
		default:
			delete(h.listeners, listener)
			close(listener)
		}
	}
}

// listen returns a channel that is closed if the listener is disconnected. The last payload
// attributes are sent at once, so that a builder that connects late in a slot can still work on the
// next one; so are events that the caller knows to matter still.
func (h *hub) listen(topics []string, known []event) chan event {
	listener := make(chan event, queue)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.listeners[listener] = topics
	for _, e := range known[:min(len(known), queue-1)] {
		listener <- e
	}
	if data := h.last["payload_attributes"]; data != nil && slices.Contains(topics, "payload_attributes") {
		listener <- event{"payload_attributes", data}
	}
	return listener
}

func (h *hub) leave(listener chan event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.listeners, listener)
}

// topics can be listened to. Only some of them have events here; the standard's others are accepted
// and stay silent.
var topics = []string{
	"head", "block", "payload_attributes", "attestation", "voluntary_exit", "bls_to_execution_change",
	"finalized_checkpoint", "chain_reorg",
	"contribution_and_proof", "light_client_finality_update", "light_client_optimistic_update", "blob_sidecar",
	"block_gossip",
	"attester_slashing", "proposer_slashing", "single_attestation", "data_column_sidecar",
	"head_v2", "execution_payload", "execution_payload_gossip", "execution_payload_available", "execution_payload_bid",
	"payload_attestation_message", proposerPreferences,
}

// Wall times of a stream: after how much silence it sends a comment, and how long a reader may
// delay one event.
const (
	keepAlive = 10 * time.Second
	patience  = 10 * time.Second
)

// streamEvents serves GET /eth/v1/events?topics=…: server-sent events until the client disconnects.
func (b *Beacon) streamEvents(w http.ResponseWriter, r *http.Request) {
	var wanted []string
	for _, value := range r.URL.Query()["topics"] {
		wanted = append(wanted, strings.Split(value, ",")...)
	}
	if len(wanted) == 0 {
		serve.Refuse(w, r, problem{http.StatusBadRequest, "name at least one topic: ?topics=head,payload_attributes"})
		return
	}
	for _, topic := range wanted {
		if !slices.Contains(topics, topic) {
			serve.Refuse(w, r, problem{http.StatusBadRequest, fmt.Sprintf("unknown topic %.40q", topic)})
			return
		}
	}
	listener := b.events.listen(wanted, b.preferencesAhead(wanted))
	defer b.events.leave(listener)
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-cache")
	w.WriteHeader(http.StatusOK)
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Time{}) // a stream may last longer than the server's limit for requests
	ticker := time.NewTicker(keepAlive)
	defer ticker.Stop()
	for {
		// Not all transports have deadlines. Without one, only the queue disconnects slow readers.
		_ = control.SetWriteDeadline(time.Now().Add(patience + keepAlive))
		if control.Flush() != nil {
			return
		}
		var err error
		select {
		case <-r.Context().Done():
			return
		case <-ticker.C:
			_, err = fmt.Fprint(w, ":\n\n")
		case e, ok := <-listener:
			if !ok {
				return
			}
			_, err = w.Write(sse.Append(nil, sse.Event{Type: e.topic, Data: e.data}))
		}
		if err != nil {
			return
		}
	}
}

// problem is a refusal of this node.
type problem struct {
	status  int
	message string
}

// Error implements error.
func (p problem) Error() string { return p.message }

// HTTPStatus implements serve.Refusal.
func (p problem) HTTPStatus() int { return p.status }
