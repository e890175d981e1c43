package rpc

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/ethereum/go-ethereum/common"

	"github.com/gavel-relay/gavel/conformance/probe"
	"github.com/gavel-relay/gavel/conformance/suite"
)

// perSecond is how many requests of one address a service takes in a second.
const perSecond = 10_000

// post signs and sends a raw body.
func post(t *suite.T, body string) *probe.RPCAnswer {
	answer, err := client(t).Post(t, map[string]string{
		"Content-Type": "application/json", probe.SignatureHeader: probe.BodySignature(key(t), []byte(body)),
	}, []byte(body))
	t.Check(err == nil, "an answer", err)
	return answer
}

// checkCode fails the spec unless the answer is a refusal. A code that is not the wanted one makes
// the outcome lenient.
func checkCode(t *suite.T, answer *probe.RPCAnswer, want int) {
	checkRefused(t, answer)
	if got := answer.Code(); got != want {
		t.Lenient("code %d in place of %d", got, want)
	}
}

// describeEnvelope adds specs about rules that all calls have in common.
func describeEnvelope(s *suite.Set) {
	s.It("RPC-ENV-01", "answers with jsonrpc, id and result", func(t *suite.T) {
		answer := callHarmless(t)
		checkAccepted(t, answer)
		t.Check(string(answer.Members["jsonrpc"]) == `"2.0"` && string(answer.Members["id"]) == "1",
			"jsonrpc 2.0 and id 1", answer)
	})
	s.It("RPC-ENV-01", "answers a result also where it is null", func(t *suite.T) {
		answer := tryCall(t, key(t), "eth_cancelBundle", object{"replacementUuid": uuid(t)})
		_, failed := answer.Members["error"]
		_, answered := answer.Members["result"]
		t.Check(failed || answered, "a result or an error", answer)
	})
	for _, row := range []struct {
		clause, title string
		id            any
		want          string
	}{
		{"RPC-ENV-02", "gives back the number 69", 69, "69"},
		{"RPC-ENV-02", "gives back a large number", json.RawMessage("9007199254740993"), "9007199254740993"},
		{"RPC-ENV-02", "gives back 0", 0, "0"},
		{"RPC-ENV-02", "gives back a negative number", -7, "-7"},
		{"RPC-ENV-03", "gives back a text", "abc-1", `"abc-1"`},
		{"RPC-ENV-03", "gives back an empty text", "", `""`},
		{"RPC-ENV-03", "gives back a text with characters beyond ASCII", "zü✓", `"zü✓"`},
		{"RPC-ENV-03", "gives back digits as text", "1", `"1"`},
		{"RPC-ENV-03", "gives back a text of 64 characters", strings.Repeat("0123456789abcdef", 4),
			`"` + strings.Repeat("0123456789abcdef", 4) + `"`},
	} {
		s.It(row.clause, row.title, func(t *suite.T) {
			answer, err := client(t).Call(t, key(t), harmlessCall(t, row.id))
			t.Check(err == nil && !answer.Refused(), "a result", answer)
			got := answer.Members["id"]
			var text string // which may be written with escapes
			same := string(got) == row.want || json.Unmarshal(got, &text) == nil && text != "" && text == row.id
			t.Check(same, "id "+row.want, string(got))
		})
	}
	s.It("RPC-ENV-04", "answers a result without an error", func(t *suite.T) {
		answer := callHarmless(t)
		_, failed := answer.Members["error"]
		_, answered := answer.Members["result"]
		t.Check(answered && !failed, "a result and no error", answer)
	})
	s.It("RPC-ENV-04", "answers an error without a result", func(t *suite.T) {
		answer := call(t, key(t), "eth_sendBundle")
		_, failed := answer.Members["error"]
		_, answered := answer.Members["result"]
		t.Check(failed && !answered, "an error and no result", answer)
	})
	s.It("RPC-ENV-04", "answers an error in a list without a result", func(t *suite.T) {
		wrong := probe.Call{Method: "eth_sendBundle", Params: []any{}, ID: 2}.Body()
		var list []map[string]json.RawMessage
		if post(t, "["+string(harmlessBody(t))+","+string(wrong)+"]").JSON(&list) != nil {
			return // lists are not known
		}
		for _, entry := range list {
			_, failed := entry["error"]
			_, answered := entry["result"]
			t.Check(failed != answered, "a result or an error in each answer", entry)
		}
	})
	s.It("RPC-ENV-05", "refuses a request with something behind it", func(t *suite.T) {
		body := string(harmlessBody(t))
		checkAccepted(t, post(t, body))
		checkRefused(t, post(t, body+"x"))
		checkRefused(t, post(t, body+body))
	})
	s.It("RPC-ENV-05", "refuses what is not JSON", func(t *suite.T) { checkRefused(t, post(t, "not json")) })
	s.It("RPC-ENV-06", "refuses what is not JSON with -32700", func(t *suite.T) {
		checkCode(t, post(t, `{"jsonrpc":"2.0",`), -32700)
	})
	s.It("RPC-ENV-07", "refuses an unknown method with -32601", func(t *suite.T) {
		checkCode(t, tryCall(t, key(t), "conformance_nothing"), -32601)
	})
	s.It("RPC-ENV-08", "refuses parameters of the wrong form with -32602", func(t *suite.T) {
		checkCode(t, call(t, key(t), cancelPrivateMethod, object{"txHash": 7}), -32602)
	})
	s.It("RPC-ENV-09", "refuses an object without a method with -32600", func(t *suite.T) {
		checkCode(t, post(t, `{"jsonrpc":"2.0","id":1}`), -32600)
	})
	s.It("RPC-ENV-10", "answers a list", func(t *suite.T) {
		one := string(harmlessCall(t, 1).Body())
		two := string(harmlessCall(t, "two").Body())
		answer := post(t, "["+one+","+two+"]")
		if answer.Refused() {
			t.Unsupported("lists are refused: %s", answer)
		}
		var list []map[string]json.RawMessage
		err := answer.JSON(&list)
		t.Check(err == nil && len(list) == 2, "a list of two answers", answer)
		seen := map[string]bool{}
		for _, entry := range list {
			seen[string(entry["id"])] = entry["result"] != nil
		}
		t.Check(seen["1"] && seen[`"two"`], "a result for each id", answer)
	})
	s.It("RPC-ENV-11", "refuses an empty list", func(t *suite.T) { checkCode(t, post(t, "[]"), -32600) })
	s.It("RPC-ENV-12", "answers nothing to a request without id", func(t *suite.T) {
		checkAccepted(t, post(t, string(harmlessBody(t))))
		answer, err := client(t).Call(t, key(t), harmlessCall(t, nil))
		t.Check(err == nil && answer.Members["result"] == nil, "no answer object", answer)
		t.Check(answer.Status < 300, "a status of success", answer)
	})
	s.It("RPC-ENV-12", "answers nothing to a request without id in a list", func(t *suite.T) {
		one, silent := string(harmlessCall(t, 1).Body()), string(harmlessCall(t, nil).Body())
		answer := post(t, "["+silent+","+one+"]")
		if answer.Refused() {
			t.Unsupported("lists are refused: %s", answer)
		}
		var list []map[string]json.RawMessage
		err := answer.JSON(&list)
		t.Check(err == nil && len(list) == 1 && string(list[0]["id"]) == "1", "one answer, with id 1", answer)
	})
	for _, version := range []string{`"1.0"`, `2`, `"2.1"`, `"2"`, `2.0`} {
		s.It("RPC-ENV-13", "refuses version "+version, func(t *suite.T) {
			body := string(harmlessBody(t))
			checkAccepted(t, post(t, body))
			checkRefused(t, post(t, strings.Replace(body, `"jsonrpc":"2.0"`, `"jsonrpc":`+version, 1)))
		})
	}
	s.It("RPC-ENV-14", "answers 415 to text/html", func(t *suite.T) {
		body := harmlessCall(t, 1).Body()
		answer, err := client(t).Post(t, map[string]string{"Content-Type": "text/html",
			probe.SignatureHeader: probe.BodySignature(key(t), body)}, body)
		t.Check(err == nil, "an answer", err)
		t.Status(answer.Answer, http.StatusUnsupportedMediaType)
	})
	s.It("RPC-ENV-15", "has no result for GET", func(t *suite.T) {
		checkAccepted(t, post(t, string(harmlessBody(t))))
		answer := t.Get(client(t), "/")
		t.Status(answer, http.StatusMethodNotAllowed, http.StatusNotFound, http.StatusOK)
		t.Check(!bytes.Contains(answer.Body, []byte(`"result"`)), "no JSON-RPC result", answer)
	})
	s.It("RPC-ENV-16", "never answers 5xx to malformed input", func(t *suite.T) {
		checkAccepted(t, post(t, string(harmlessBody(t))))
		for _, body := range []string{
			"", "null", "1", `"x"`, "[[]]", "[1]", "{}", strings.Repeat("[", 10_000),
			`{"jsonrpc":"2.0","id":{},"method":[],"params":1}`, "\x00\xff", `{"jsonrpc":"2.0","id":1,"method":7,"params":[]}`,
			`{"jsonrpc":"2.0","id":1,"method":"eth_sendBundle","params":{}}`,
			`{"jsonrpc":"2.0","id":1,"method":"eth_sendBundle","params":[null]}`,
			`{"jsonrpc":"2.0","id":1,"method":"eth_sendBundle","params":[[[]]]}`,
			`{"jsonrpc":"2.0","id":1,"method":"mev_sendBundle","params":[{"version":"v0.1","inclusion":7,"body":{}}]}`,
			`{"jsonrpc":"2.0","id":1,"method":"eth_callBundle","params":[{"txs":["0x"],"blockNumber":"0x"}]}`,
			`{"jsonrpc":"2.0","id":1,"method":"eth_sendPrivateTransaction","params":[{"tx":"0x02"}]}`,
		} {
			answer := post(t, body)
			t.Check(answer.Status < 500, "a status below 500 for "+body[:min(60, len(body))], answer)
		}
	})
	s.It("RPC-ENV-17", "ignores an unknown member, or names it", func(t *suite.T) {
		const unknown = "conformanceSuite"
		answer := call(t, key(t), cancelPrivateMethod, object{"txHash": common.Hash{1}.Hex(), unknown: object{"a": []int{1}}})
		if !answer.Refused() {
			var cancelled bool
			readResult(t, answer, &cancelled)
			return
		}
		named := strings.Contains(string(answer.Members["error"]), unknown)
		t.Check(answer.Code() == -32602 && named, "a result, or -32602 with the name "+unknown, answer)
	})
	s.It("RPC-ENV-18", "answers application/json", func(t *suite.T) {
		answer := callHarmless(t)
		media, _, _ := strings.Cut(answer.Header.Get("Content-Type"), ";")
		t.Check(media == "application/json", "application/json", media)
	})
	s.It("RPC-ENV-19", "reads a packed body that is signed unpacked", func(t *suite.T) {
		body := harmlessCall(t, 1).Body()
		var packed bytes.Buffer
		w := gzip.NewWriter(&packed)
		_, err := w.Write(body)
		t.Ready(err, "pack a body")
		t.Ready(w.Close(), "pack a body")
		answer, err := client(t).Post(t, map[string]string{
			"Content-Type": "application/json", "Content-Encoding": "gzip",
			probe.SignatureHeader: probe.BodySignature(key(t), body),
		}, packed.Bytes())
		t.Check(err == nil, "an answer", err)
		if answer.Status == http.StatusUnsupportedMediaType {
			t.Unsupported("415 to gzip")
		}
		checkAccepted(t, answer)
	})
	s.It("RPC-LIM-01", "takes ten thousand requests as fast as it answers", func(t *suite.T) {
		body := harmlessBody(t)
		checkAccepted(t, post(t, string(body)))
		refused := t.IsLimited(t.Target.RPC.URL, probe.Request{Method: http.MethodPost, Path: "/", Body: body,
			Header: map[string]string{"Content-Type": "application/json",
				probe.SignatureHeader: probe.BodySignature(key(t), body)}}, perSecond)
		t.Check(!refused, "no refusal for the rate", "429")
	})
	s.It("RPC-LIM-02", "answers 429 with Retry-After beyond its rate", func(t *suite.T) {
		body := harmlessBody(t)
		t.RetryAfter(t.Limited(*t.Target.Limits.RPC, probe.Request{
			Method: http.MethodPost, Path: "/", Body: body,
			Header: map[string]string{"Content-Type": "application/json",
				probe.SignatureHeader: probe.BodySignature(key(t), body)},
		}))
	})
	s.It("RPC-LIM-03", "refuses a body of 40 MB", func(t *suite.T) {
		body := []byte(`{"jsonrpc":"2.0","id":1,"method":"` + cancelPrivateMethod + `","params":["` +
			strings.Repeat("0", 40<<20) + `"]}`)
		answer, err := client(t).Post(t, map[string]string{"Content-Type": "application/json",
			probe.SignatureHeader: probe.BodySignature(key(t), body)}, body)
		if err != nil {
			t.Lenient("the connection was closed: %v", err)
			return
		}
		checkRefused(t, answer)
	})
}

// describeFailures adds specs about the form of errors.
func describeFailures(s *suite.Set) {
	s.It("RPC-ERR-01", "marks a refusal as one", func(t *suite.T) {
		checkRefused(t, call(t, key(t), "eth_sendBundle", object{}))
	})
	s.It("RPC-ERR-02", "refuses in one of the known forms", func(t *suite.T) {
		answer := call(t, key(t), "eth_sendBundle", object{})
		var text string
		var e struct {
			Message *string `json:"message"`
		}
		known := json.Unmarshal(answer.Members["error"], &text) == nil ||
			json.Unmarshal(answer.Members["error"], &e) == nil && e.Message != nil
		t.Check(known, "error as an object with a message, or as a text", answer)
	})
	s.It("RPC-ERR-03", "refuses for a V2 method as JSON-RPC does", func(t *suite.T) {
		body := probe.Call{Method: "flashbots_getUserStatsV2", Params: []any{"x", "y", "z"}, ID: 1}.Body()
		answer, err := client(t).Post(t, map[string]string{
			"Content-Type": "application/json", "X-Error-Dialect": "legacy",
			probe.SignatureHeader: probe.BodySignature(key(t), body),
		}, body)
		t.Check(err == nil, "an answer", err)
		if isUnknownMethod(answer) {
			t.Unsupported("flashbots_getUserStatsV2 is not known")
		}
		t.Check(answer.Code() != 0, "an error object with a code", answer)
	})
	s.It("RPC-ERR-04", "has integer codes", func(t *suite.T) {
		answer := call(t, key(t), "eth_sendBundle", object{})
		var text string
		if json.Unmarshal(answer.Members["error"], &text) == nil {
			t.Unsupported("errors are texts")
		}
		t.Check(answer.Code() != 0, "an integer code", answer)
	})
	s.It("RPC-ERR-05", "knows a method whose name ends in V2", func(t *suite.T) {
		answer := call(t, key(t), "flashbots_getUserStatsV2", object{"blockNumber": "0x1"})
		if answer.Code() == -32601 {
			t.Unsupported("no V2 method")
		}
		t.Check(answer.Status < 500 && answer.Members != nil, "a JSON-RPC answer with a status below 500", answer)
	})
}
