package suite

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/gavel-relay/gavel/conformance/clauses"
)

// Envelope is the operation that violations of JSON-RPC itself belong to.
const Envelope = "envelope"

var envelope = Operation{ID: Envelope, Profile: "rpc-auth", Level: clauses.Must}

// TheEnvelope returns the operation that violations of JSON-RPC itself belong to.
func TheEnvelope() Operation { return envelope }

// mostRead is the longest request that is read, in bytes. Longer ones are sent to be refused.
const mostRead = 1 << 20

// checkRPC compares an answer to one JSON-RPC request. Lists of requests are compared element by
// element, if answers and requests are as many.
func (d *Document) checkRPC(e Answered) Judgement {
	if e.Method != http.MethodPost || len(e.Asked) > mostRead || len(bytes.TrimSpace(e.Body)) == 0 {
		return Judgement{}
	}
	media := e.Header.Get("Content-Type")
	judged := Judgement{Operation: Envelope, Binds: true}
	if !strings.HasPrefix(media, "application/json") {
		judged.Violations = append(judged.Violations,
			envelope.violates(clauses.Should, media, "the content type is not application/json"))
	}
	body, err := unpacked(e.Header.Get("Content-Encoding"), e.Body)
	var answer any
	if err == nil {
		answer, err = jsonschema.UnmarshalJSON(bytes.NewReader(body))
	}
	if err != nil {
		judged.Violations = append(judged.Violations,
			envelope.violates(clauses.Must, err.Error(), "the body is not one JSON document"))
		return judged
	}
	var asked []call
	if list, isList := answer.([]any); isList {
		if json.Unmarshal(e.Asked, &asked) != nil || len(asked) != len(list) {
			asked = nil
		}
		for i, each := range list {
			var one call
			if asked != nil {
				one = asked[i]
			}
			judged.add(d.judgeOne(one, each))
		}
		return judged
	}
	var one call
	_ = json.Unmarshal(e.Asked, &one) // a request that is none is answered with an error of the envelope
	judged.add(d.judgeOne(one, answer))
	return judged
}

// call is what is read of a request.
type call struct {
	Method string          `json:"method"`
	ID     json.RawMessage `json:"id"`
}

func (j *Judgement) add(other Judgement) {
	if other.Operation != "" {
		j.Operation = other.Operation
	}
	j.Violations = append(j.Violations, other.Violations...)
}

// judgeOne compares the answer to one request.
func (d *Document) judgeOne(asked call, answer any) Judgement {
	judged := Judgement{Violations: envelope.value(d.answer, clauses.Must, "answer", answer)}
	members := object(answer)
	result, found := members["result"]
	if !found || members["jsonrpc"] == nil {
		return judged
	}
	if asked.ID != nil {
		if got, err := json.Marshal(members["id"]); err != nil || !bytes.Equal(got, bytes.TrimSpace(asked.ID)) {
			judged.Violations = append(judged.Violations, envelope.violates(clauses.Must, string(got),
				"answer: $.id: not that of the request"))
		}
	}
	op, known := d.Operation(d.canonical(asked.Method))
	if !known {
		return judged
	}
	judged.Operation = op.ID
	judged.Violations = append(judged.Violations, op.value(op.result, op.Level, "result", result)...)
	return judged
}

// canonical is the name of a method with the prefix that the document has.
func (d *Document) canonical(name string) string {
	for other, prefix := range d.prefixes {
		if rest, is := strings.CutPrefix(name, other); is {
			return prefix + rest
		}
	}
	return name
}

// CheckEvent compares the data of one server-sent event with the schema of the stream's events.
func (d *Document) CheckEvent(data string) Judgement {
	for _, op := range d.Operations {
		for _, form := range op.responses["200"].content {
			if form.event != nil {
				return Judgement{op.ID, true, op.document(form.event, form.level, "event", []byte(data))}
			}
		}
	}
	return Judgement{}
}
