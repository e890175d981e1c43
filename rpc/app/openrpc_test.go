package app

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// document is the part of an OpenRPC document that is checked here.
type document struct {
	OpenRPC string
	Methods []struct {
		Name   string
		Params []struct {
			Name     string
			Required bool
			Schema   json.RawMessage
		}
		Result   struct{ Schema json.RawMessage }
		Examples []struct {
			Params []struct {
				Name  string
				Value json.RawMessage
			}
			Result struct{ Value json.RawMessage }
		}
		Errors []struct {
			Code    int
			Message string
		}
	}
}

// served is the document as clients get it.
func (s *service) served() document {
	s.Helper()
	response, err := http.Get(s.url + "/openrpc.json") // of this test's own server
	if err != nil {
		s.Fatal(err)
	}
	defer response.Body.Close()
	raw, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK || response.Header.Get("Content-Type") != "application/json" {
		s.Fatalf("%d %s: %s %v", response.StatusCode, response.Header.Get("Content-Type"), raw, err)
	}
	var doc document
	if err := json.Unmarshal(raw, &doc); err != nil {
		s.Fatal(err)
	}
	return doc
}

// compile makes a schema that accepts nothing but what it says.
func compile(t *testing.T, name string, raw json.RawMessage) *jsonschema.Schema {
	t.Helper()
	var schema any
	if err := json.Unmarshal(raw, &schema); err != nil {
		t.Fatal(err)
	}
	strict(schema)
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("mem:///"+name, schema); err != nil {
		t.Fatal(err)
	}
	compiled, err := compiler.Compile("mem:///" + name)
	if err != nil {
		t.Fatal(err)
	}
	return compiled
}

// strict lets no object with known properties have others.
func strict(schema any) {
	switch s := schema.(type) {
	case map[string]any:
		if _, has := s["properties"]; has && s["type"] == "object" {
			s["additionalProperties"] = false
		}
		for _, part := range s {
			strict(part)
		}
	case []any:
		for _, part := range s {
			strict(part)
		}
	}
}

// transcript is one exchange of a transcript.
type transcript struct {
	file, method string
	result       any
	code         int
	message      string
}

func transcripts(t *testing.T) (all []transcript) {
	t.Helper()
	files, err := filepath.Glob("testdata/methods/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(string(text), "\n")
		for i, line := range lines {
			if !strings.HasPrefix(line, "<-- ") {
				continue
			}
			exchange := transcript{file: filepath.Base(file)}
			if _, rest, found := strings.Cut(lines[i-1], `"method":"`); found {
				exchange.method, _, _ = strings.Cut(rest, `"`)
			}
			if _, failure, found := strings.Cut(line, "error {"); found {
				var e struct {
					Code    int
					Message string
				}
				if err := json.Unmarshal([]byte("{"+failure), &e); err != nil {
					t.Fatal(err)
				}
				exchange.code, exchange.message = e.Code, e.Message
			} else if exchange.result,
				err = jsonschema.UnmarshalJSON(bytes.NewReader([]byte(strings.TrimPrefix(line, "<-- result ")))); err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			all = append(all, exchange)
		}
	}
	return all
}

// canonical is a method's real name.
func canonical(name string) string {
	for _, prefix := range []string{"vendor_", "pool_", "buildernet_", "flashbots_"} {
		if rest, found := strings.CutPrefix(name, prefix); found {
			if strings.HasPrefix(rest, "getDelayed") {
				return "buildernet_" + rest
			}
			return "flashbots_" + rest
		}
	}
	return name
}

// What the document says of results and errors is what the methods answer, and it has all methods.
func TestOpenRPC(t *testing.T) {
	h := openService(t, nil)
	doc := h.served()
	schemas, errs := map[string]*jsonschema.Schema{}, map[string][]string{}
	var names []string
	for _, m := range doc.Methods {
		names = append(names, m.Name)
		schemas[m.Name] = compile(t, m.Name, m.Result.Schema)
		for _, p := range m.Params {
			compile(t, m.Name+"/"+p.Name, p.Schema)
		}
		for _, e := range m.Errors {
			errs[m.Name] = append(errs[m.Name], fmt.Sprint(e.Code, " ", e.Message))
		}
	}
	if len(names) != len(h.app.methods) || !slices.IsSorted(names) || doc.OpenRPC == "" {
		t.Errorf("%d methods of %d, version %q", len(names), len(h.app.methods), doc.OpenRPC)
	}
	answered := map[string]bool{}
	for _, exchange := range transcripts(t) {
		name := canonical(exchange.method)
		if exchange.message == "" {
			answered[name] = true
			if err := schemas[name].Validate(exchange.result); err != nil {
				t.Errorf("%s: %s: %v", exchange.file, name, err)
			}
			continue
		}
		listed := slices.ContainsFunc(errs[name], func(e string) bool {
			return strings.HasPrefix(fmt.Sprint(exchange.code, " ", exchange.message), e)
		})
		if !listed {
			t.Errorf("%s: %s refuses with %d %q, which is not in the document", exchange.file, name, exchange.code,
				exchange.message)
		}
	}
	for _, name := range names {
		if !answered[name] {
			t.Errorf("%s has no transcript with a result", name)
		}
	}
}

// Each method has an example, as its schemas say.
func TestOpenRPCExamples(t *testing.T) {
	doc := openService(t, nil).served()
	for _, m := range doc.Methods {
		if len(m.Examples) != 1 {
			t.Errorf("%s has %d examples", m.Name, len(m.Examples))
			continue
		}
		example := m.Examples[0]
		conforms(t, m.Name+" result", m.Result.Schema, example.Result.Value)
		for i, p := range m.Params {
			switch {
			case i < len(example.Params) && example.Params[i].Name == p.Name:
				conforms(t, m.Name+" "+p.Name, p.Schema, example.Params[i].Value)
			case i < len(example.Params) || p.Required:
				t.Errorf("%s: the example's parameters are %+v", m.Name, example.Params)
			}
		}
		if len(example.Params) > len(m.Params) {
			t.Errorf("%s: the example has %d parameters", m.Name, len(example.Params))
		}
	}
}

func conforms(t *testing.T, name string, schema, value json.RawMessage) {
	t.Helper()
	parsed, err := jsonschema.UnmarshalJSON(bytes.NewReader(value))
	if err != nil {
		t.Errorf("%s: %s: %v", name, value, err)
		return
	}
	if err := compile(t, strings.ReplaceAll(name, " ", "/"), schema).Validate(parsed); err != nil {
		t.Errorf("%s: %v", name, err)
	}
}

// The document that rpc.discover answers is one by OpenRPC's own schema, and the schema can refuse.
// That refers to schemas by an address of its own, which stands for JSON Schema's draft 7.
func TestOpenRPCMetaSchema(t *testing.T) {
	raw, err := os.ReadFile("testdata/openrpc/meta-schema.json")
	if err != nil {
		t.Fatal(err)
	}
	parse := func(raw []byte) any {
		parsed, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
		if err != nil {
			t.Fatal(err)
		}
		return parsed
	}
	meta := parse(raw).(map[string]any)
	delete(meta, "$schema")
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft7)
	draft := parse([]byte(`{
		"allOf": [{"$ref": "http://json-schema.org/draft-07/schema#"}],
		"definitions": {"JSONSchemaObject": {"properties": {"$ref": {"type": "string"}}}}
	}`))
	err = compiler.AddResource("https://meta.open-rpc.org/", meta)
	for _, address := range []string{"https://meta.json-schema.tools", "https://meta.json-schema.tools/"} {
		err = errors.Join(err, compiler.AddResource(address, draft))
	}
	if err != nil {
		t.Fatal(err)
	}
	schema, err := compiler.Compile("https://meta.open-rpc.org/")
	if err != nil {
		t.Fatal(err)
	}
	document := parse(openService(t, nil).discovered()).(map[string]any)
	if err := schema.Validate(document); err != nil {
		t.Errorf("the document is not OpenRPC: %v", err)
	}
	for _, method := range document["methods"].([]any) {
		delete(method.(map[string]any), "params")
	}
	if err := schema.Validate(document); err == nil {
		t.Error("the schema takes methods without params")
	}
}

// discovered is what rpc.discover answers to a request without a signature.
func (s *service) discovered() json.RawMessage {
	s.Helper()
	r, err := http.NewRequestWithContext(s.Context(), http.MethodPost, s.url,
		strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"rpc.discover"}`))
	if err != nil {
		s.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		s.Fatal(err)
	}
	defer answer.Body.Close()
	var discovered struct{ Result json.RawMessage }
	if err := json.NewDecoder(answer.Body).Decode(&discovered); err != nil {
		s.Fatal(err)
	}
	return discovered.Result
}

// rpc.discover answers with the same document, and needs no signature.
func TestDiscover(t *testing.T) {
	h := openService(t, nil)
	var discovered document
	if err := json.Unmarshal(h.discovered(), &discovered); err != nil {
		t.Fatal(err)
	}
	if want := h.served(); len(want.Methods) == 0 || !reflect.DeepEqual(discovered, want) {
		t.Errorf("%d methods, want %d", len(discovered.Methods), len(want.Methods))
	}
}

// What a document says of a method that would lie is noticed.
func TestOpenRPCSchemasCanFail(t *testing.T) {
	h := openService(t, nil)
	for _, m := range h.served().Methods {
		if err := compile(t, m.Name, m.Result.Schema).Validate(map[string]any{"unknown": json.Number("1")}); err == nil {
			t.Errorf("%s takes anything for its result", m.Name)
		}
	}
}
