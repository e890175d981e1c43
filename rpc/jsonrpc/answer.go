package jsonrpc

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"

	"github.com/gavel-relay/gavel/internal/serve"
	"github.com/gavel-relay/gavel/rpc"
)

// answer is a body that is being written. It is reused.
type answer struct {
	bytes.Buffer
	encoder *json.Encoder // into the buffer
}

var answers = sync.Pool{New: func() any {
	a := &answer{}
	a.encoder = json.NewEncoder(&a.Buffer)
	a.encoder.SetEscapeHTML(false) // the answer is not shown in a page, and people read messages
	return a
}}

// keep is the capacity of the largest buffer that is reused, in bytes.
const keep = 1 << 20

func newAnswer() *answer { return answers.Get().(*answer) }

func (a *answer) free() {
	if a.Cap() <= keep {
		a.Reset()
		answers.Put(a)
	}
}

// begin writes what comes before the result or the error.
func (a *answer) begin(id []byte) {
	a.WriteString(`{"jsonrpc":"2.0","id":`)
	if id == nil {
		id = []byte("null")
	}
	a.Write(id)
}

// Appender is a result that writes itself, as encoding/json would. It is for results of the most
// frequent calls.
type Appender interface {
	AppendJSON(to []byte) []byte
}

// encode writes a value without the line end that the encoder adds.
func (a *answer) encode(value any) error {
	if own, ok := value.(Appender); ok {
		a.Write(own.AppendJSON(a.AvailableBuffer()))
		return nil
	}
	if err := a.encoder.Encode(value); err != nil {
		return err
	}
	a.Truncate(a.Len() - 1)
	return nil
}

// separate and close form a list of the answers of a batch.
func (a *answer) separate() {
	if a.Len() == 0 {
		a.WriteByte('[')
	} else {
		a.WriteByte(',')
	}
}

func (a *answer) close() { a.WriteByte(']') }

// rpcError is the object of an error (JSON-RPC 2.0, 5.1).
type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    any    `json:"data,omitempty"`
}

// write writes the answer to one request. On an error it leaves nothing written.
func (a *answer) write(id []byte, result any, refused *rpc.Refused) error {
	begin := a.Len()
	a.begin(id)
	var err error
	if refused == nil {
		a.WriteString(`,"result":`)
		err = a.encode(result)
	} else {
		a.WriteString(`,"error":`)
		err = a.encode(rpcError{Forms[refused.ID].Code, refused.Error(), refused.Data})
	}
	if err != nil {
		a.Truncate(begin)
		return fmt.Errorf("write the answer: %w", err)
	}
	a.WriteByte('}')
	return nil
}

// put is write. If a result cannot be written, that is the service's fault, and it answers so: that
// error can be written.
func (c *call) put(a *answer, id []byte, result any, refused *rpc.Refused) {
	if err := a.write(id, result, refused); err != nil {
		c.put(a, id, nil, c.refusal(err))
	}
}

// succeed answers a single request with its result.
func (c *call) succeed(id []byte, result any) {
	a := newAnswer()
	defer a.free()
	if err := a.write(id, result, nil); err != nil {
		c.refuse(id, c.refusal(err))
		return
	}
	c.send(http.StatusOK, a.Bytes())
}

// refuseAll answers a body in which no request was found.
func (c *call) refuseAll(refused *rpc.Refused) {
	c.observe(nil, refused, 0)
	c.refuse(nil, refused)
}

// refuse answers a single request, or a body as a whole, with an error.
func (c *call) refuse(id []byte, refused *rpc.Refused) {
	c.w.Header().Set(serve.RefusalHeader, refused.ID)
	a := newAnswer()
	defer a.free()
	if c.legacy {
		if err := a.encode(legacyError{refused.Error()}); err == nil { // text can always be written
			c.send(legacyStatus(refused), a.Bytes())
			return
		}
	}
	c.put(a, id, nil, refused)
	status := Forms[refused.ID].Status
	if status == http.StatusForbidden {
		status = c.AuthStatus
	}
	c.send(status, a.Bytes())
}

// legacyError is the form of errors before they were JSON-RPC errors.
type legacyError struct {
	Error string `json:"error"`
}

// legacyStatus is the status where the body has no code: it must show whose fault the error is.
func legacyStatus(refused *rpc.Refused) int {
	switch form := Forms[refused.ID]; {
	case form.Status != http.StatusOK:
		return form.Status
	case form.Code == codeLimitExceeded:
		return http.StatusTooManyRequests
	case refused.ID == rpc.Internal.ID || refused.ID == rpc.NodeUnavailable.ID:
		return http.StatusInternalServerError
	}
	return http.StatusBadRequest
}

// answerNothing is the answer to notifications.
func (c *call) answerNothing() {
	c.writeHeaders(c.w.Header())
	c.w.WriteHeader(http.StatusNoContent)
}

func (c *call) send(status int, body []byte) {
	c.writeHeaders(c.w.Header())
	serve.Bytes(c.w, status, "application/json", body)
}
