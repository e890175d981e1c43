package method

import "slices"

// OpenRPC is the description of all methods for programs (spec.open-rpc.org).
type OpenRPC struct {
	OpenRPC string          `json:"openrpc"`
	Info    OpenRPCInfo     `json:"info"`
	Methods []OpenRPCMethod `json:"methods"`
}

// OpenRPCInfo says what is described.
type OpenRPCInfo struct {
	Title       string `json:"title"`
	Version     string `json:"version"`
	Description string `json:"description"`
}

// OpenRPCMethod is one method.
type OpenRPCMethod struct {
	Name           string         `json:"name"`
	Summary        string         `json:"summary"`
	Description    string         `json:"description,omitempty"`
	ParamStructure string         `json:"paramStructure"`
	Params         []Param        `json:"params"`
	Result         OpenRPCResult  `json:"result"`
	Errors         []OpenRPCError `json:"errors,omitempty"`
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

// Describe is the document for some methods, in the order of their names.
func Describe(methods []Method) OpenRPC {
	doc := OpenRPC{
		OpenRPC: "1.3.2",
		Info: OpenRPCInfo{
			Title: "gavel bundle RPC", Version: "1.0.0",
			Description: "Bundles, private transactions, simulation and refunds. Requests are signed: see the header X-Flashbots-Signature in docs/rpc.md.",
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
			described.Errors = append(described.Errors, OpenRPCError{Code: r.Code, Message: r.Short})
		}
		doc.Methods = append(doc.Methods, described)
	}
	slices.SortFunc(doc.Methods, func(a, b OpenRPCMethod) int {
		if a.Name < b.Name {
			return -1
		}
		return 1
	})
	return doc
}
