package relay

import (
	"bytes"
	"encoding/json"

	"github.com/gavel-relay/gavel/conformance/probe"
	"github.com/gavel-relay/gavel/conformance/suite"
	"github.com/gavel-relay/gavel/internal/eth"
)

// describeNulls adds specs about null in place of empty lists.
func describeNulls(r *specs) {
	r.It("REL-SUB-38", "takes null for empty lists", func(t *suite.T) {
		a := r.open(t)
		a.prepareBid()
		s := a.block("a", gwei(1000))
		body, count := nullEmptyLists(t, s.json())
		if count == 0 {
			t.NotRun("submissions of %s have no list that can be empty", a.fork().String())
		}
		t.Status(t.Do(builderAPI(t), post(submitPath, jsonType, body)), 200)
		a.checkServed(s)
	})
	r.It("REL-PAY-21", "takes null for empty lists of requests", func(t *suite.T) {
		requireFork(t, eth.Electra, "execution requests")
		a, s, block := r.prepareWon(t, 0)
		var whole map[string]json.RawMessage
		raw := encode(t, probe.Blinded(a.fork(), block))
		t.Ready(json.Unmarshal(raw, &whole), "read a blinded block")
		var message, body map[string]json.RawMessage
		t.Ready(json.Unmarshal(whole["message"], &message), "read a blinded block")
		t.Ready(json.Unmarshal(message["body"], &body), "read a blinded block")
		body["execution_requests"], _ = nullEmptyLists(t, body["execution_requests"])
		message["body"] = encode(t, body)
		whole["message"] = encode(t, message)
		request := post(payloadPath, jsonType, encode(t, whole))
		request.Header["Eth-Consensus-Version"] = a.fork().String()
		checkPayloadOf(t, a.readPayload(t.Do(proposerAPI(t), request)), s)
	})
}

// nullEmptyLists returns a document with null in place of each empty list, and how many it
// replaced.
func nullEmptyLists(t *suite.T, raw []byte) ([]byte, int) {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var document any
	t.Ready(decoder.Decode(&document), "read what was encoded")
	count := 0
	var walk func(value any) any
	walk = func(value any) any {
		switch v := value.(type) {
		case map[string]any:
			for name := range v {
				v[name] = walk(v[name])
			}
		case []any:
			if len(v) == 0 {
				count++
				return nil
			}
			for i := range v {
				v[i] = walk(v[i])
			}
		}
		return value
	}
	return encode(t, walk(document)), count
}
