package send

import (
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/google/uuid"

	"github.com/gavel-relay/gavel/rpc"
	"github.com/gavel-relay/gavel/rpc/bundle"
)

// errNotReplaceable says that an order has a replacementUuid and that the builder does not support
// it.
var errNotReplaceable = errors.New("the order has a replacementUuid, and the builder takes none")

// message is a signed JSON-RPC request. Several builders share it, so it must not be changed.
type message struct {
	body      []byte
	signature string
}

// writer makes a message, once: when the first builder needs it.
type writer func() (message, error)

// envelope is a JSON-RPC request. Its id can always be the same, because a connection has one
// request at a time.
type envelope struct {
	Version string `json:"jsonrpc"`
	ID      int    `json:"id"`
	Method  string `json:"method"`
	Params  [1]any `json:"params"`
}

func (s *Sender) write(method string, param any) (message, error) {
	body, err := json.Marshal(envelope{Version: "2.0", ID: 1, Method: method, Params: [1]any{param}})
	if err != nil {
		return message{}, fmt.Errorf("write %s: %w", method, err)
	}
	m := message{body: body}
	if s.cfg.Sign != nil {
		m.signature = s.cfg.Sign(body)
	}
	return m, nil
}

// writers make the two forms of an order's message.
type writers struct {
	bundle, share writer
	kind          rpc.Kind
	replaceable   bool
}

func (s *Sender) orderWriters(order *rpc.Order, block uint64) writers {
	replacement := bundle.OutgoingReplacement(order)
	in := func(method string, convert func(*rpc.Order, uint64, uuid.UUID) (json.RawMessage, error)) writer {
		return sync.OnceValues(func() (message, error) {
			param, err := convert(order, block, replacement)
			if err != nil {
				return message{}, fmt.Errorf("convert to %s: %w", method, err)
			}
			return s.write(method, param)
		})
	}
	return writers{
		bundle: in(APIBundle, bundle.Outgoing), share: in(APIShare, bundle.OutgoingShare),
		kind: order.Kind, replaceable: replacement != uuid.Nil,
	}
}

// forBuilder chooses the form that a builder understands. If it understands both, it gets the form
// of the method by which the order came, or the other one if the order can't be written in it.
func (w writers) forBuilder(b Builder) writer {
	switch {
	case w.replaceable && !b.Has(APICancel):
		return func() (message, error) { return message{}, errNotReplaceable }
	case !b.Has(APIShare):
		return w.bundle
	case !b.Has(APIBundle):
		return w.share
	case w.kind == rpc.KindShare:
		return firstWritable(w.share, w.bundle)
	}
	return firstWritable(w.bundle, w.share)
}

// firstWritable makes the first message, or the second if the first can't be made. If neither can
// be, the error is the first's.
func firstWritable(first, second writer) writer {
	return func() (message, error) {
		m, err := first()
		if err == nil {
			return m, nil
		}
		if other, otherErr := second(); otherErr == nil {
			return other, nil
		}
		return m, err
	}
}

// cancelWriter makes the message that cancels a replacementUuid.
func (s *Sender) cancelWriter(replacement uuid.UUID) writer {
	return sync.OnceValues(func() (message, error) {
		return s.write("eth_cancelBundle", struct {
			ReplacementUUID uuid.UUID `json:"replacementUuid"`
		}{replacement})
	})
}
