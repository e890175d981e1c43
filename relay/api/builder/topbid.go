package builder

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/coder/websocket"

	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/relay/api"
	"github.com/gavel-relay/gavel/relay/top"
)

// TopBids is where the changes of leading bids are heard.
type TopBids interface {
	// Listen joins with time stamps in milliseconds or nanoseconds; whoever joins must leave. Errors
	// are *relay.Refused.
	Listen(ctx context.Context, unit time.Duration, client top.Client) (*top.Listener, error)
}

const (
	// heartbeat is how often a connection is asked whether somebody is there, and how long an answer,
	// or the room for a record, may take (wall time).
	heartbeat = 10 * time.Second
	// maxIncoming bounds a message of a listener in bytes. Listeners have nothing to say.
	maxIncoming = 1024
	// retryListen is what a listener without a place is told to wait, in seconds.
	retryListen = 10
)

// topBid pushes the leading bids over a WebSocket (RFC 6455), as helix and ultra sound relay do:
// one binary message of 188 bytes for each change, in the layout of package top. First come the
// bids that lead already in auctions that are open. The time stamp is in milliseconds, or with
// ?unit=ns in nanoseconds. It ends with the close code 1001 when the relay stops, and without one
// for who is behind or does not answer a ping.
func (a *skin) topBid(w http.ResponseWriter, r *http.Request) {
	unit, client, refused := a.mayListen(r)
	if refused != nil {
		if refused.ID == relay.WebSocketNeeded.ID {
			w.Header().Set("Connection", "Upgrade")
			w.Header().Set("Upgrade", "websocket")
			w.Header().Set("Sec-Websocket-Version", "13")
		}
		api.Refuse(w, r, refused)
		return
	}
	listener, err := a.TopBids.Listen(r.Context(), unit, client)
	if err != nil {
		w.Header().Set("Retry-After", strconv.Itoa(retryListen))
		api.Refuse(w, r, err)
		return
	}
	defer listener.Leave()
	// A page of any origin may listen: there are no cookies here, and who needs an API key has to send
	// it.
	conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{InsecureSkipVerify: true})
	if err != nil { // the connection cannot be taken over; Accept has answered
		return
	}
	// Nothing waits for what became of the connection; the feed counts those who were cut for being
	// behind.
	_ = push(r.Context(), conn, listener)
	_ = conn.CloseNow()
}

// mayListen is the unit of time stamps that a request asks for, and who asks, unless it is refused.
func (a *skin) mayListen(r *http.Request) (unit time.Duration, client top.Client, refused *relay.Refused) {
	from, refused := a.identify(r)
	switch {
	case refused != nil:
		return 0, client, refused
	case a.TopBidsNeedKey && !from.identified:
		return 0, client, relay.APIKeyNeeded.Plain()
	case from.identified:
		client = top.Client{Name: from.Name, Builder: true}
	case a.Network != nil:
		client.Name = a.Network(r)
	}
	switch text := r.URL.Query().Get("unit"); text {
	case "", "ms":
		unit = time.Millisecond
	case "ns":
		unit = time.Nanosecond
	default:
		return 0, client, relay.InvalidArgument.With("unit %.90q: want ms or ns", text)
	}
	return unit, client, wantsWebSocket(r)
}

// wantsWebSocket looks at the opening handshake (RFC 6455, 4.2.1), so that its refusals are like
// all others.
func wantsWebSocket(r *http.Request) *relay.Refused {
	keys := r.Header.Values("Sec-Websocket-Key")
	switch {
	case r.Method != http.MethodGet || !r.ProtoAtLeast(1, 1):
		return relay.WebSocketNeeded.With("want GET in HTTP/1.1")
	case !names(r.Header, "Connection", "upgrade") || !names(r.Header, "Upgrade", "websocket"):
		return relay.WebSocketNeeded.Plain()
	case r.Header.Get("Sec-Websocket-Version") != "13":
		return relay.WebSocketNeeded.With("want version 13")
	case len(keys) != 1:
		return relay.WebSocketNeeded.With("want one Sec-WebSocket-Key")
	}
	if raw, err := base64.StdEncoding.DecodeString(strings.TrimSpace(keys[0])); err != nil || len(raw) != 16 {
		return relay.WebSocketNeeded.With("want a Sec-WebSocket-Key of 16 bytes in base64")
	}
	return nil
}

// names says whether a header that lists words has one of them, in any letter case.
func names(h http.Header, header, word string) bool {
	for _, line := range h.Values(header) {
		for item := range strings.SplitSeq(line, ",") {
			if strings.EqualFold(strings.TrimSpace(item), word) {
				return true
			}
		}
	}
	return false
}

// errStopping is why the relay closes a connection that is in order.
var errStopping = errors.New("relay stops")

// push sends records until the listener is cut or gone, or the relay stops; the error says which.
// Requests end when the relay stops, and a connection is closed as soon as the context of a call on
// it ends: so its calls have another context than the request.
//
//	records ─▶ push ─▶ conn      every 10 s ─▶ ping ─▶ 10 s no pong ─▶ cut
//	          conn ─▶ discard    gone ─▶ end
func push(stop context.Context, conn *websocket.Conn, listener *top.Listener) error {
	ctx, end := context.WithCancelCause(context.WithoutCancel(stop))
	defer end(nil)
	go func() { end(discard(ctx, conn)) }()

	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	pings, pinging := make(chan error, 1), false
	for {
		select {
		case record, open := <-listener.Records():
			if !open {
				return errors.Join(errStopping, conn.Close(websocket.StatusGoingAway, errStopping.Error()))
			}
			if err := send(ctx, conn, listener, record); err != nil {
				return err
			}
		case <-beat.C:
			if pinging {
				break
			}
			pinging = true
			go func() { pings <- ping(ctx, conn) }()
		case err := <-pings:
			if err != nil {
				return err
			}
			pinging = false
		case <-listener.Context().Done():
			if stop.Err() != nil {
				return errors.Join(errStopping, conn.Close(websocket.StatusGoingAway, errStopping.Error()))
			}
			return context.Cause(listener.Context())
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// send writes a record. Who has no room for one for long is cut, and who is cut meanwhile must not
// hold us here.
func send(ctx context.Context, conn *websocket.Conn, listener *top.Listener, record []byte) error {
	ctx, cancel := context.WithTimeout(ctx, heartbeat)
	defer cancel()
	defer context.AfterFunc(listener.Context(), func() {
		if errors.Is(context.Cause(listener.Context()), top.ErrBehind) {
			cancel()
		}
	})()
	if err := conn.Write(ctx, websocket.MessageBinary, record); err != nil {
		return fmt.Errorf("send record: %w", err)
	}
	return nil
}

// ping asks whether somebody is there.
func ping(ctx context.Context, conn *websocket.Conn) error {
	ctx, cancel := context.WithTimeout(ctx, heartbeat)
	defer cancel()
	return conn.Ping(ctx)
}

// discard reads, which pongs and the closing handshake need, and forgets what it reads. It returns
// when the connection is over.
func discard(ctx context.Context, conn *websocket.Conn) error {
	conn.SetReadLimit(maxIncoming)
	for {
		_, message, err := conn.Reader(ctx)
		if err != nil {
			return fmt.Errorf("read from listener: %w", err)
		}
		if _, err := io.Copy(io.Discard, message); err != nil {
			return fmt.Errorf("read from listener: %w", err)
		}
	}
}
