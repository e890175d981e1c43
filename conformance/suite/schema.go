package suite

import (
	"bytes"
	"embed"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/gavel-relay/gavel/conformance/clauses"
)

// files are OpenAPI and OpenRPC documents of the interfaces, which answers are compared with:
// status, content type, headers and body. They are the suite's second oracle (oracle.go): it sees
// every exchange, whatever the spec looks at that made it.
//
//	documents/*.yaml ─▶ Documents ◀─ Answered, by any spec
//	                        └─▶ Judgement: operation, violations ─▶ verdicts on the clauses …-SCH
//
//go:embed documents/*.yaml
var files embed.FS

// DocumentFiles returns the documents as they are exported, by their names.
func DocumentFiles() (map[string][]byte, error) {
	entries, err := files.ReadDir("documents")
	if err != nil {
		return nil, fmt.Errorf("list the documents: %w", err)
	}
	list := map[string][]byte{}
	for _, entry := range entries {
		if list[entry.Name()], err = files.ReadFile("documents/" + entry.Name()); err != nil {
			return nil, fmt.Errorf("read a document: %w", err)
		}
	}
	return list, nil
}

// Operation is one operation of an interface: a method on a path, or a JSON-RPC method.
type Operation struct {
	// ID is the operationId, or the JSON-RPC method by its canonical name.
	ID string
	// Method and Path are those of OpenAPI; a JSON-RPC method has none.
	Method, Path string
	// Profile is the group of clauses that the operation belongs to.
	Profile string
	// Level is how binding its schema is: MUST, or SHOULD for what the specification does not have.
	Level clauses.Level
	// Extension says that the suite does not ask for it: it is described for clients only.
	Extension bool

	responses map[string]response
	// result is the schema of a JSON-RPC result.
	result *jsonschema.Schema
}

// response is what an operation answers with one status.
type response struct {
	level   clauses.Level
	content map[string]content
	headers []header
}

// content is one form of a body.
type content struct {
	level  clauses.Level
	schema *jsonschema.Schema
	// ssz is the name of the type of a binary body, and event the schema of each event of a stream.
	ssz   string
	event *jsonschema.Schema
}

// header is a header that an answer must have. It is a MUST beside the content type neededFor, and
// a SHOULD beside others.
type header struct {
	name, neededFor string
	schema          *jsonschema.Schema
}

// Document has the operations of one interface.
type Document struct {
	// Iface is relay, stream or rpc.
	Iface      string
	Operations []Operation

	// prefixes are other beginnings of JSON-RPC methods, with the canonical ones.
	prefixes map[string]string
	answer   *jsonschema.Schema // the envelope of JSON-RPC
}

// Documents are all documents, by interface. They are never changed once loaded, and are safe for
// concurrent use.
type Documents map[string]*Document

// LoadDocuments reads the documents in this program. An error means that it was built with wrong
// ones.
func LoadDocuments() (Documents, error) {
	raw, err := DocumentFiles()
	if err != nil {
		return nil, err
	}
	all := Documents{}
	for name, text := range raw {
		iface := strings.TrimSuffix(name, path.Ext(name))
		if all[iface], err = ReadDocument(iface, text); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return all, nil
}

// ReadDocument reads one OpenAPI or OpenRPC document. Its schemas are JSON Schema 2020-12.
func ReadDocument(iface string, text []byte) (*Document, error) {
	raw, err := yaml.YAMLToJSON(text)
	if err != nil {
		return nil, fmt.Errorf("read the YAML: %w", err)
	}
	root, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil, fmt.Errorf("read the document: %w", err)
	}
	r := &reader{root: object(root), base: "mem:///" + iface, compiler: jsonschema.NewCompiler()}
	if err := r.compiler.AddResource(r.base, root); err != nil {
		return nil, fmt.Errorf("add the document: %w", err)
	}
	d := &Document{Iface: iface}
	if r.root["openrpc"] != nil {
		r.methods(d)
	} else {
		r.paths(d)
	}
	return d, r.err
}

// reader reads one document. Err is the first fault.
type reader struct {
	root     map[string]any
	base     string
	compiler *jsonschema.Compiler
	err      error
}

func object(value any) map[string]any { o, _ := value.(map[string]any); return o }

func word(value any) string { text, _ := value.(string); return text }

// levelOf is the level that an object marks, or the given one.
func levelOf(o map[string]any, otherwise clauses.Level) clauses.Level {
	if level := word(o["x-level"]); level != "" {
		return clauses.Level(level)
	}
	return otherwise
}

// resolve follows a $ref within the document. It returns the object and its place as a JSON
// pointer.
func (r *reader) resolve(place string, value any) (string, map[string]any) {
	o := object(value)
	for {
		ref := word(o["$ref"])
		if ref == "" {
			return place, o
		}
		place = strings.TrimPrefix(ref, "#")
		var at any = r.root
		for step := range strings.SplitSeq(strings.TrimPrefix(place, "/"), "/") {
			at = object(at)[step]
		}
		if o = object(at); o == nil {
			r.fail("%s leads nowhere", ref)
			return place, map[string]any{}
		}
	}
}

func (r *reader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf(format, args...)
	}
}

// compile compiles the schema at a place.
func (r *reader) compile(place string) *jsonschema.Schema {
	compiled, err := r.compiler.Compile(r.base + "#" + place)
	if err != nil {
		r.fail("compile %s: %w", place, err)
	}
	return compiled
}

// step is a member's name as a step of a JSON pointer in an address.
func step(name string) string {
	return strings.NewReplacer("~", "~0", "/", "~1", "{", "%7B", "}", "%7D").Replace(name)
}

func (r *reader) paths(d *Document) {
	for name, item := range object(r.root["paths"]) {
		for method, value := range object(item) {
			place := "/paths/" + step(name) + "/" + method
			o := object(value)
			op := Operation{ID: word(o["operationId"]), Method: strings.ToUpper(method), Path: name,
				Profile: word(o["x-profile"]),
				Level:   levelOf(o, clauses.Must), Extension: o["x-extension"] == true, responses: map[string]response{}}
			for status, answer := range object(o["responses"]) {
				op.responses[status] = r.response(place+"/responses/"+status, answer, op.Level)
			}
			d.add(r, op)
		}
	}
	slices.SortFunc(d.Operations, func(a, b Operation) int { return strings.Compare(a.Path+a.Method, b.Path+b.Method) })
}

func (r *reader) response(place string, value any, level clauses.Level) response {
	place, o := r.resolve(place, value)
	answer := response{level: levelOf(o, level), content: map[string]content{}}
	for media, form := range object(o["content"]) {
		f := object(form)
		at := place + "/content/" + step(media)
		c := content{level: levelOf(f, answer.level), ssz: word(f["x-ssz"])}
		switch {
		case f["x-event"] != nil:
			c.event = r.compile(at + "/x-event")
		case object(f["schema"])["format"] != "binary":
			c.schema = r.compile(at + "/schema")
		}
		answer.content[media] = c
	}
	for name, value := range object(o["headers"]) {
		at, h := r.resolve(place+"/headers/"+name, value)
		if h["required"] == true {
			answer.headers = append(answer.headers, header{name, word(h["x-needed-for"]), r.compile(at + "/schema")})
		}
	}
	return answer
}

func (r *reader) methods(d *Document) {
	list, _ := r.root["methods"].([]any)
	for i, value := range list {
		o := object(value)
		d.add(r, Operation{ID: word(o["name"]), Profile: word(o["x-profile"]), Level: levelOf(o, clauses.Must),
			result: r.compile(fmt.Sprintf("/methods/%d/result/schema", i))})
	}
	d.prefixes = map[string]string{}
	for other, canonical := range object(r.root["x-prefixes"]) {
		d.prefixes[other] = word(canonical)
	}
	d.answer = r.compile("/components/schemas/Answer")
}

// add adds an operation, unless it is incomplete or stands twice.
func (d *Document) add(r *reader, op Operation) {
	_, known := d.Operation(op.ID)
	if op.ID == "" || known || !slices.Contains(clauses.Profiles, op.Profile) ||
		!slices.Contains(clauses.Levels, op.Level) {
		r.fail("operation %q stands twice, or has an unknown profile %q or level %q", op.ID, op.Profile, op.Level)
	}
	d.Operations = append(d.Operations, op)
}

// Operation returns the operation with this id.
func (d *Document) Operation(id string) (Operation, bool) {
	i := slices.IndexFunc(d.Operations, func(op Operation) bool { return op.ID == id })
	if i < 0 {
		return Operation{}, false
	}
	return d.Operations[i], true
}
