package api

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
	"github.com/gavel-relay/gavel/relay/top"
)

// TopBids sends the changes of top bids to listeners.
type TopBids interface {
	// Listen adds a listener, whose records have time stamps in milliseconds or nanoseconds. The
	// caller must call its Leave. Errors are *relay.Refused.
	Listen(ctx context.Context, unit time.Duration, client top.Client) (*top.Listener, error)
}

const (
	// heartbeat is how often a connection is pinged, and how long the pong, or sending a record, may
	// take (wall time).
	heartbeat = 10 * time.Second
	// maxIncoming bounds a message of a listener in bytes. Messages of listeners are ignored.
	maxIncoming = 1024
	// retryListen is the Retry-After of a refused listener, in seconds.
	retryListen = 10
)

// topBid pushes the top bids over a WebSocket (RFC 6455), as helix and ultra sound relay do: one
// binary message of 188 bytes for each change, in the layout of package top. The bids that lead
// already in open auctions come first. The time stamp is in milliseconds, or with ?unit=ns in
// nanoseconds. The connection ends with the close code 1001 when the relay stops. It ends without a
// close code if the listener is behind or does not answer a ping.
func (a *builderHandlers) topBid(w http.ResponseWriter, r *http.Request) {
	unit, client, refused := a.mayListen(r)
	if refused != nil {
		if refused.ID == relay.WebSocketNeeded.ID {
			w.Header().Set("Connection", "Upgrade")
			w.Header().Set("Upgrade", "websocket")
			w.Header().Set("Sec-Websocket-Version", "13")
		}
		Refuse(w, r, refused)
		return
	}
	listener, err := a.TopBids.Listen(r.Context(), unit, client)
	if err != nil {
		w.Header().Set("Retry-After", strconv.Itoa(retryListen))
		Refuse(w, r, err)
		return
	}
	defer listener.Leave()
	// A web page of any origin may listen: the relay uses no cookies, and where an API key is needed
	// the page has to send it.
	conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{InsecureSkipVerify: true})
	if err != nil { // the connection cannot be upgraded; Accept has answered
		return
	}
	// The error is not needed: the Broadcast counts the listeners that were cut because they were
	// behind.
	_ = pushTopBids(r.Context(), conn, listener)
	_ = conn.CloseNow()
}

// mayListen returns the unit of time stamps that a request asks for, and the client, or a refusal.
func (a *builderHandlers) mayListen(r *http.Request) (unit time.Duration, client top.Client, refused *relay.Refused) {
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

// wantsWebSocket checks the opening handshake (RFC 6455, 4.2.1) before the library does, so that
// its refusals have the form of all others.
func wantsWebSocket(r *http.Request) *relay.Refused {
	keys := r.Header.Values("Sec-Websocket-Key")
	switch {
	case r.Method != http.MethodGet || !r.ProtoAtLeast(1, 1):
		return relay.WebSocketNeeded.With("want GET in HTTP/1.1")
	case !namesWord(r.Header, "Connection", "upgrade") || !namesWord(r.Header, "Upgrade", "websocket"):
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

// namesWord says whether a header that lists words contains a word, in any letter case.
func namesWord(h http.Header, header, word string) bool {
	for _, line := range h.Values(header) {
		for item := range strings.SplitSeq(line, ",") {
			if strings.EqualFold(strings.TrimSpace(item), word) {
				return true
			}
		}
	}
	return false
}

// errStopping is the reason when the relay closes a connection because it stops.
var errStopping = errors.New("relay stops")

// pushTopBids sends records until the listener is cut or gone, or the relay stops; the error says
// which. The calls on the connection do not use the request's context, which ends when the relay
// stops: the library closes a connection at once when the context of a call ends, so the close code
// could not be sent.
//
//	records ─▶ push ─▶ conn      every 10 s ─▶ ping ─▶ 10 s no pong ─▶ cut
//	          conn ─▶ discard    gone ─▶ end
func pushTopBids(stop context.Context, conn *websocket.Conn, listener *top.Listener) error {
	ctx, end := context.WithCancelCause(context.WithoutCancel(stop))
	defer end(nil)
	go func() { end(discardIncoming(ctx, conn)) }()

	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	pings, pinging := make(chan error, 1), false
	for {
		select {
		case record, open := <-listener.Records():
			if !open {
				return errors.Join(errStopping, conn.Close(websocket.StatusGoingAway, errStopping.Error()))
			}
			if err := sendTopBid(ctx, conn, listener, record); err != nil {
				return err
			}
		case <-beat.C:
			if pinging {
				break
			}
			pinging = true
			go func() { pings <- pingListener(ctx, conn) }()
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

// sendTopBid writes a record. A listener that does not read it within heartbeat is cut. If the
// listener is cut meanwhile because it is behind, the write ends too.
func sendTopBid(ctx context.Context, conn *websocket.Conn, listener *top.Listener, record []byte) error {
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

// pingListener sends a ping and waits for the pong.
func pingListener(ctx context.Context, conn *websocket.Conn) error {
	ctx, cancel := context.WithTimeout(ctx, heartbeat)
	defer cancel()
	return conn.Ping(ctx)
}

// discardIncoming reads messages and ignores them. Without a reader, pongs and the closing
// handshake would not be processed. It returns when the connection has ended.
func discardIncoming(ctx context.Context, conn *websocket.Conn) error {
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
