package suite_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"pgregory.net/rapid"

	"github.com/gavel-relay/gavel/conformance/clauses"
	"github.com/gavel-relay/gavel/conformance/suite"
)

func load(t testing.TB) suite.Documents {
	t.Helper()
	all, err := suite.LoadDocuments()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

const (
	root = `"0x1111111111111111111111111111111111111111111111111111111111111111"`
	who  = `"0x1111111111111111111111111111111111111111"`
	page = `[{"block":1,"timestamp":2,"hint":{"hash":` + root + `,"logs":null,"txs":[{"to":` + who +
		`}],"mevGasPrice":"0x1"}}]`
)

var key = `"0x` + strings.Repeat("11", 48) + `"`

// answers are right answers, each with ways to make it wrong: what to replace, and the level and a
// part of the cause of the violation.
func answers() []answer {
	list := func(body string) suite.Answered {
		return suite.Answered{Method: "GET", Path: "/relay/v1/data/bidtraces/proposer_payload_delivered", Status: 200,
			Header: http.Header{"Content-Type": {"application/json; charset=utf-8"}}, Body: []byte(body)}
	}
	call := func(method, result string) suite.Answered {
		return suite.Answered{Method: "POST", Path: "/", Asked: []byte(`{"jsonrpc":"2.0","id":7,"method":"` + method + `"}`),
			Status: 200,
			Header: http.Header{"Content-Type": {"application/json"}}, Body: []byte(`{"jsonrpc":"2.0","id":7,"result":` +
				result + `}`)}
	}
	listed := traces()
	return []answer{
		{"relay", "getDeliveredPayloads", list(listed), []wrong{
			{`"slot":"7"`, `"slot":7`, "MUST", "$.*.slot: got number, want string"},
			{`"slot":"7"`, `"slot":"07"`, "MUST", "$.*.slot: not of its form (pattern)"},
			{`"slot":"7"`, `"slot":null`, "MUST", "$.*.slot: got null"},
			{`"slot":"7",`, ``, "MUST", "missing property 'slot'"},
			{`"value":"1"`, `"value":"0x1"`, "MUST", "$.*.value"},
			{who, `"0x11"`, "MUST", "$.*.proposer_fee_recipient"},
			{listed, `null`, "MUST", "$: got null, want array"},
			{listed, listed + listed, "MUST", "not one JSON document"},
		}},
		{"stream", "history", suite.Answered{Method: "GET", Path: "/api/v1/history", Status: 200,
			Header: http.Header{"Content-Type": {"application/json"}}, Body: []byte(page)}, []wrong{
			{`"block":1`, `"block":"1"`, "MUST", "$.*.block"},
			{`"hint":{"hash":` + root, `"hint":{"x":1`, "MUST", "missing property 'hash'"},
			{`"mevGasPrice":"0x1"`, `"mevGasPrice":1`, "MUST", "mevGasPrice"},
		}},
		{"rpc", "vendor_getFeeRefundTotalsByRecipient", call("vendor_getFeeRefundTotalsByRecipient",
			`{"pending":"0x0","received":"0x0","maxBlockNumber":"0x1"}`), []wrong{
			{`"pending":"0x0"`, `"pending":"0"`, "MUST", "$.pending"},
			{`,"maxBlockNumber":"0x1"`, ``, "MUST", "missing property 'maxBlockNumber'"},
			{`"id":7,"result"`, `"id":"7","result"`, "MUST", "$.id"},
			{`"jsonrpc":"2.0","id":7,"result"`, `"jsonrpc":"1.0","id":7,"result"`, "MUST", "$.jsonrpc"},
			{`"result":`, `"error":null,"result":`, "MUST", "answer"},
			{`"result":`, `"results":`, "MUST", "answer"},
		}},
		{"rpc", "eth_cancelPrivateTransaction", call("eth_cancelPrivateTransaction", "true"), []wrong{
			{`"result":true`, `"result":"true"`, "MUST", "got string, want boolean"},
		}},
		{"rpc", "flashbots_getUserStats",
			call("flashbots_getUserStats", `{"is_high_priority":false,"all_time_miner_payments":"0",`+
				`"all_time_gas_simulated":"0","last_7d_miner_payments":"0","last_7d_gas_simulated":"0",`+
				`"last_1d_miner_payments":"0",`+
				`"last_1d_gas_simulated":"0"}`),
			[]wrong{{`"is_high_priority":false`, `"is_high_priority":0`, "SHOULD", "is_high_priority"}}},
	}
}

func traces() string {
	return `[{"slot":"7","parent_hash":` + root + `,"block_hash":` + root + `,"builder_pubkey":` + key +
		`,"proposer_pubkey":` + key +
		`,"proposer_fee_recipient":` + who +
		`,"gas_limit":"60000000","gas_used":"0","value":"1","num_tx":"0","block_number":"4"}]`
}

type answer struct {
	iface, operation string
	exchange         suite.Answered
	wrong            []wrong
}

type wrong struct {
	old, new string
	level    clauses.Level
	cause    string
}

// A right answer has no violation, and an answer that is wrong in one thing has that one violation.
func TestCheck(t *testing.T) {
	all := load(t)
	for _, a := range answers() {
		judged := all[a.iface].Check(a.exchange)
		if len(judged.Violations) > 0 || judged.Operation == "" {
			t.Errorf("%s: %+v", a.operation, judged)
		}
		for _, w := range a.wrong {
			broken := a.exchange
			if broken.Body = []byte(strings.Replace(string(a.exchange.Body), w.old, w.new, 1)); bytes.Equal(broken.Body,
				a.exchange.Body) {
				t.Fatalf("%s: nothing is replaced by %s", a.operation, w.new)
			}
			judged := all[a.iface].Check(broken)
			if !slices.ContainsFunc(judged.Violations, func(v suite.Violation) bool {
				return v.Level == w.level && strings.Contains(v.Cause, w.cause)
			}) {
				t.Errorf("%s with %s: %+v, want %s %s", a.operation, w.new, judged.Violations, w.level, w.cause)
			}
		}
	}
}

// What stands around a body is judged as well: status, content type, headers and encoding.
func TestCheckAround(t *testing.T) {
	all := load(t)
	right := answers()[0].exchange
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, _ = w.Write(right.Body) // to memory
	_ = w.Close()
	bid := func(version, media string) suite.Answered {
		header := http.Header{"Content-Type": {media}}
		if version != "" {
			header.Set("Eth-Consensus-Version", version)
		}
		return suite.Answered{Method: "GET", Path: "/eth/v1/builder/header/1/0x/0x", Status: 200, Header: header,
			Body: []byte("{}")}
	}
	with := func(change func(e *suite.Answered)) suite.Answered {
		e := right
		e.Header = right.Header.Clone()
		change(&e)
		return e
	}
	sent := func(name, value string, body []byte) suite.Answered {
		return with(func(e *suite.Answered) {
			if e.Header.Set(name, value); body != nil {
				e.Body = body
			}
		})
	}
	for name, row := range map[string]struct {
		exchange suite.Answered
		want     []string // level and a part of the cause
	}{
		"another status":    {with(func(e *suite.Answered) { e.Status = 404 }), []string{"SHOULD status 404"}},
		"no content type":   {sent("Content-Type", "", nil), []string{"SHOULD 200: the content type"}},
		"text":              {sent("Content-Type", "text/plain", nil), []string{"SHOULD 200: the content type"}},
		"packed":            {sent("Content-Encoding", "gzip", packed.Bytes()), nil},
		"said to be packed": {sent("Content-Encoding", "gzip", nil), []string{"MUST 200: the body is not in"}},
		"csv":               {sent("Content-Type", "text/csv", []byte("a,b")), nil},
		"refused": {with(func(e *suite.Answered) {
			e.Status, e.Body = 400, []byte(`{"code":400,"message":"no"}`)
		}), nil},
		"refused with text": {with(func(e *suite.Answered) {
			e.Status, e.Body = 400, []byte(`{"code":"400","message":"no"}`)
		}),
			[]string{"MUST 400: $.code"}},
		"limited with text": {with(func(e *suite.Answered) { e.Status, e.Body = 429, []byte(`slow down`) }),
			[]string{"SHOULD 429: the body is not one JSON"}},
		"another method": {with(func(e *suite.Answered) { e.Method = "PUT" }), nil},
		"JSON without a fork": {bid("", "application/json"), []string{"SHOULD 200: the header Eth-Consensus-Version",
			"MUST 200: $: missing properties 'version', 'data'"}},
		"SSZ without a fork": {bid("", "application/octet-stream"), []string{"MUST 200: the header Eth-Consensus-Version",
			"MUST 200: the body is no SignedBuilderBid"}},
		"SSZ of a fork that does not exist": {bid("whale", "application/octet-stream"), []string{"MUST 200: the header",
			"MUST 200: the body is no SignedBuilderBid"}},
		"no SSZ": {bid("fulu", "application/octet-stream"), []string{"MUST 200: the body is no SignedBuilderBid"}},
	} {
		judged := all["relay"].Check(row.exchange)
		var got []string
		for _, v := range judged.Violations {
			got = append(got, string(v.Level)+" "+v.Cause)
		}
		if len(got) != len(row.want) {
			t.Errorf("%s: %q, want %q", name, got, row.want)
			continue
		}
		for _, want := range row.want {
			if !slices.ContainsFunc(got, func(text string) bool { return strings.HasPrefix(text, want) }) {
				t.Errorf("%s: %q, want %q", name, got, want)
			}
		}
	}
}

// Answers in lists are compared with their requests, and an error may have the form of services
// that answer outside of JSON-RPC.
func TestCheckRPC(t *testing.T) {
	document := load(t)["rpc"]
	for name, row := range map[string]struct {
		asked, body string
		want        int
	}{
		"a list": {`[{"id":1,"method":"eth_cancelPrivateTransaction"},{"id":2,"method":"x"}]`,
			`[{"jsonrpc":"2.0","id":1,"result":true},{"jsonrpc":"2.0","id":2,"error":{"code":-32601,"message":"no"}}]`, 0},
		"a list, wrong": {`[{"id":1,"method":"eth_cancelPrivateTransaction"}]`,
			`[{"jsonrpc":"2.0","id":1,"result":1}]`, 1},
		"no request":      {`{`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"no"}}`, 0},
		"another dialect": {`{"id":1,"method":"x"}`, `{"error":"no"}`, 0},
		"an empty error":  {`{"id":1,"method":"x"}`, `{"jsonrpc":"2.0","id":1,"error":{}}`, 1},
		"a code as text":  {`{"id":1,"method":"x"}`, `{"jsonrpc":"2.0","id":1,"error":{"code":"1","message":""}}`, 1},
		"no body":         {`{"method":"x"}`, ``, 0},
	} {
		judged := document.Check(suite.Answered{Method: "POST", Path: "/", Asked: []byte(row.asked), Status: 200,
			Header: http.Header{"Content-Type": {"application/json"}}, Body: []byte(row.body)})
		if len(judged.Violations) != row.want {
			t.Errorf("%s: %+v, want %d", name, judged.Violations, row.want)
		}
	}
}

func TestCheckEvent(t *testing.T) {
	document := load(t)["stream"]
	for data, want := range map[string]int{
		`{"hash":` + root + `,"logs":null,"txs":null,"mevGasPrice":"0x1"}`: 0,
		`{"hash":` + root + `}`: 0,
		`{"hash":"0x11"}`:       1,
		`{"logs":null}`:         1,
		`hello`:                 1,
		`{"hash":` + root + `,"txs":[{"to":null}]}`: 1,
	} {
		judged := document.CheckEvent(data)
		if len(judged.Violations) != want || judged.Operation != "live" {
			t.Errorf("%s: %+v, want %d", data, judged, want)
		}
	}
}

// Nothing that a target answers makes a comparison panic, and answers of an operation name it.
func TestCheckAnything(t *testing.T) {
	all := load(t)
	rapid.Check(t, func(t *rapid.T) {
		for _, d := range all {
			op := rapid.SampledFrom(d.Operations).Draw(t, "operation")
			method, path := op.Method, op.Path
			if method == "" {
				method, path = "POST", "/"
			}
			judged := d.Check(suite.Answered{
				Method: method, Path: path, Asked: []byte(`{"id":1,"method":"` + op.ID + `"}`),
				Status: rapid.IntRange(100, 599).Draw(t, "status"),
				Header: http.Header{
					"Content-Type": {rapid.SampledFrom([]string{"", "application/json", "application/octet-stream",
						";;"}).Draw(t, "media")},
					"Eth-Consensus-Version": {rapid.SampledFrom([]string{"", "fulu", "bellatrix"}).Draw(t, "fork")},
				},
				Body: rapid.SliceOf(rapid.Byte()).Draw(t, "body"),
			})
			if op.Path != "" && judged.Operation != op.ID {
				t.Fatalf("%s is judged as %q", op.ID, judged.Operation)
			}
		}
	})
}

// The OpenRPC document is one by OpenRPC's own schema, and the OpenAPI ones have what tools need of
// them.
func TestDocumentsAreValid(t *testing.T) {
	list, err := suite.DocumentFiles()
	if err != nil {
		t.Fatal(err)
	}
	openRPC := metaSchema(t)
	for name, text := range list {
		raw, err := yaml.YAMLToJSON(text)
		if err != nil {
			t.Fatal(err)
		}
		var document struct {
			OpenAPI string         `json:"openapi"`
			Info    map[string]any `json:"info"`
			Paths   map[string]map[string]struct {
				Responses map[string]map[string]any `json:"responses"`
			} `json:"paths"`
		}
		if err := json.Unmarshal(raw, &document); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if name == "rpc.yaml" {
			value, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
			if err != nil {
				t.Fatal(err)
			}
			if err := openRPC.Validate(value); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if document.OpenAPI != "3.1.0" || document.Info["title"] == nil || document.Info["version"] == nil {
			t.Errorf("%s: %s %v", name, document.OpenAPI, document.Info)
		}
		for path, item := range document.Paths {
			for method, op := range item {
				for status, response := range op.Responses {
					if response["description"] == nil && response["$ref"] == nil {
						t.Errorf("%s: %s %s %s has no description", name, method, path, status)
					}
				}
			}
		}
	}
}

// A document that names what it does not have is refused.
func TestReadRefuses(t *testing.T) {
	right := `{openapi: 3.1.0, paths: {/x: {get: {operationId: x, x-profile: relay-data, responses: {"200": %s}}}}}`
	for _, response := range []string{
		`{$ref: "#/components/responses/None"}`,
		`{content: {application/json: {schema: {$ref: "#/components/schemas/None"}}}}`,
		`{content: {application/json: {schema: {type: thing}}}}`,
	} {
		if _, err := suite.ReadDocument("relay", []byte(strings.Replace(right, "%s", response, 1))); err == nil {
			t.Errorf("%s is read", response)
		}
	}
	if _, err := suite.ReadDocument("relay", []byte(strings.Replace(right, "relay-data", "relay-other", 1))); err == nil {
		t.Error("a profile that does not exist is read")
	}
}

// metaSchema returns OpenRPC's own schema. It refers to schemas by an address of its own, which
// stands for JSON Schema's draft 7.
func metaSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	parse := func(raw []byte) map[string]any {
		parsed, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
		if err != nil {
			t.Fatal(err)
		}
		return parsed.(map[string]any)
	}
	raw, err := os.ReadFile("../../rpc/app/testdata/openrpc/meta-schema.json")
	if err != nil {
		t.Fatal(err)
	}
	meta := parse(raw)
	delete(meta, "$schema")
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft7)
	draft := parse([]byte(`{"allOf": [{"$ref": "http://json-schema.org/draft-07/schema#"}],
		"definitions": {"JSONSchemaObject": {"properties": {"$ref": {"type": "string"}}}}}`))
	for address, resource := range map[string]any{"https://meta.open-rpc.org/": meta,
		"https://meta.json-schema.tools":  draft,
		"https://meta.json-schema.tools/": draft} {
		if err := compiler.AddResource(address, resource); err != nil {
			t.Fatal(err)
		}
	}
	compiled, err := compiler.Compile("https://meta.open-rpc.org/")
	if err != nil {
		t.Fatal(err)
	}
	return compiled
}

// An answer that has nothing which binds shows nothing about the schema: a status that is none of
// the operation, or the head of a stream without an event.
func TestWhatBinds(t *testing.T) {
	documents := load(t)
	const plain, events = "application/json", "text/event-stream"
	for name, row := range map[string]struct {
		iface, path string
		status      int
		media       string
		want        bool
	}{
		"duties":                  {"relay", "/relay/v1/builder/validators", http.StatusOK, plain, true},
		"duties without a type":   {"relay", "/relay/v1/builder/validators", http.StatusOK, "", true},
		"no such path for duties": {"relay", "/relay/v1/builder/validators", http.StatusNotFound, plain, false},
		"a status without a body": {"relay", "/eth/v1/builder/status", http.StatusOK, "", false},
		"a stream's head":         {"stream", "/", http.StatusOK, events, false},
		"no stream at all":        {"stream", "/", http.StatusOK, "", false},
	} {
		judged := documents[row.iface].Check(suite.Answered{Method: "GET", Path: row.path, Status: row.status,
			Header: http.Header{"Content-Type": {row.media}}, Body: []byte("[]")})
		if judged.Operation == "" || judged.Binds != row.want {
			t.Errorf("%s: operation %q, binds %t", name, judged.Operation, judged.Binds)
		}
	}
	if !documents["stream"].CheckEvent("{}").Binds {
		t.Error("an event does not bind")
	}
}
