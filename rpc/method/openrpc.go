package method

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/gavel-relay/gavel/rpc/jsonrpc"
)

// examples are the requests and answers that docs/rpc.md shows, by method. A test makes the file,
// which is part of the documentation.
//
//go:embed examples.json
var examples []byte

// Example is a request that was sent, and its answer.
type Example struct {
	Params []json.RawMessage `json:"params"`
	Result json.RawMessage   `json:"result"`
}

// OpenRPC describes all methods for programs (spec.open-rpc.org). It names no server: the service
// does not know the name by which it is reached, and OpenRPC's own schema refuses the relative
// address that its text allows.
type OpenRPC struct {
	OpenRPC string          `json:"openrpc"`
	Info    OpenRPCInfo     `json:"info"`
	Methods []OpenRPCMethod `json:"methods"`
}

// OpenRPCInfo says what the document describes.
type OpenRPCInfo struct {
	Title       string `json:"title"`
	Version     string `json:"version"`
	Description string `json:"description"`
}

// OpenRPCExample is a call with its result.
type OpenRPCExample struct {
	Name   string         `json:"name"`
	Params []OpenRPCValue `json:"params"`
	Result OpenRPCValue   `json:"result"`
}

// OpenRPCValue is a parameter or a result of an example.
type OpenRPCValue struct {
	Name  string          `json:"name"`
	Value json.RawMessage `json:"value"`
}

// OpenRPCMethod is one method.
type OpenRPCMethod struct {
	Name           string           `json:"name"`
	Summary        string           `json:"summary"`
	Description    string           `json:"description,omitempty"`
	ParamStructure string           `json:"paramStructure"`
	Params         []Param          `json:"params"`
	Result         OpenRPCResult    `json:"result"`
	Errors         []OpenRPCError   `json:"errors,omitempty"`
	Examples       []OpenRPCExample `json:"examples,omitempty"`
}

// OpenRPCResult is what a method answers.
type OpenRPCResult struct {
	Name   string  `json:"name"`
	Schema *Schema `json:"schema"`
}

// OpenRPCError is one way in which a method may refuse. An error's message begins with Message.
type OpenRPCError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

// Describe makes the document for methods, sorted by name.
func Describe(methods []Method) (OpenRPC, error) {
	var shown map[string]Example
	if err := json.Unmarshal(examples, &shown); err != nil {
		return OpenRPC{}, fmt.Errorf("read the examples: %w", err)
	}
	doc := OpenRPC{
		OpenRPC: "1.3.2",
		Info: OpenRPCInfo{
			Title: "gavel bundle RPC", Version: "1.0.0",
			Description: "Bundles, private transactions, simulation and refunds. Requests are signed: see the header " +
				"X-Flashbots-Signature in docs/rpc.md.",
		},
	}
	for _, m := range methods {
		described := OpenRPCMethod{
			Name: m.Name, Summary: m.Summary, Description: m.About, ParamStructure: "by-position", Params: m.Params,
			Result: OpenRPCResult{Name: "result", Schema: m.Result},
		}
		if described.Params == nil {
			described.Params = []Param{}
		}
		for _, r := range m.Refusals {
			described.Errors = append(described.Errors, OpenRPCError{Code: jsonrpc.Forms[r.ID].Code, Message: r.Short})
		}
		if example, found := shown[m.Name]; found {
			described.Examples = []OpenRPCExample{exampleOf(m, example)}
		}
		doc.Methods = append(doc.Methods, described)
	}
	slices.SortFunc(doc.Methods, func(a, b OpenRPCMethod) int {
		if a.Name < b.Name {
			return -1
		}
		return 1
	})
	return doc, nil
}

// exampleOf gives an example's parameters the names of the method's parameters.
func exampleOf(m Method, example Example) OpenRPCExample {
	shown := OpenRPCExample{Name: m.Name, Params: []OpenRPCValue{},
		Result: OpenRPCValue{Name: "result", Value: example.Result}}
	for i, value := range example.Params {
		if i < len(m.Params) {
			shown.Params = append(shown.Params, OpenRPCValue{Name: m.Params[i].Name, Value: value})
		}
	}
	return shown
}
