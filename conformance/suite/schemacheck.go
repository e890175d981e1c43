package suite

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"github.com/gavel-relay/gavel/conformance/clauses"
	"github.com/gavel-relay/gavel/conformance/probe"
	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/gloas"
)

// Answered is a request and its whole answer.
type Answered struct {
	Method string
	// Path is below the interface's address, without the query.
	Path string
	// Asked is the body of the request.
	Asked  []byte
	Status int
	Header http.Header
	Body   []byte
}

// Violation is one way in which an answer is not as its schema says.
type Violation struct {
	Operation string
	Profile   string
	Level     clauses.Level
	// Cause says what is wrong, in words that are the same for all answers with this fault.
	Cause string
	// Example is what this answer has.
	Example string
}

// Judgement is what an exchange was compared with, and what is wrong.
type Judgement struct {
	// Operation is empty if the exchange belongs to none: an unknown path, another method, a request
	// that is no JSON-RPC.
	Operation string
	// Binds says that the answer was compared with something that binds. A status that the operation
	// does not have, for one, is compared with nothing.
	Binds      bool
	Violations []Violation
}

// Check compares an answer with its operation.
func (d *Document) Check(e Answered) Judgement {
	if d.answer != nil {
		return d.checkRPC(e)
	}
	op, found := d.find(e)
	if !found {
		return Judgement{}
	}
	return Judgement{op.ID, op.binds(e), op.check(e)}
}

// binds says whether an answer has a form that binds.
func (op Operation) binds(e Answered) bool {
	forms := op.responses[strconv.Itoa(e.Status)].content
	media, _, _ := mime.ParseMediaType(e.Header.Get("Content-Type")) // check says if it is wrong
	form, found := forms[media]
	if !found {
		form = forms["application/json"]
	}
	return form.level == clauses.Must && (form.ssz != "" || form.schema != nil && !isText(form.schema))
}

// find returns the operation of a request.
func (d *Document) find(e Answered) (Operation, bool) {
	for _, op := range d.Operations {
		if op.Method == e.Method && fitsTemplate(op.Path, e.Path) {
			return op, true
		}
	}
	return Operation{}, false
}

// fitsTemplate says whether a path fits a template such as /header/{slot}.
func fitsTemplate(template, path string) bool {
	wanted, got := strings.Split(template, "/"), strings.Split(path, "/")
	if len(wanted) != len(got) {
		return false
	}
	for i, part := range wanted {
		if part != got[i] && (!strings.HasPrefix(part, "{") || got[i] == "") {
			return false
		}
	}
	return true
}

func (op Operation) violates(level clauses.Level, example, format string, args ...any) Violation {
	return Violation{Operation: op.ID, Profile: op.Profile, Level: level, Cause: fmt.Sprintf(format, args...),
		Example: example}
}

func (op Operation) check(e Answered) (list []Violation) {
	status := strconv.Itoa(e.Status)
	answer, found := op.responses[status]
	if !found {
		return []Violation{op.violates(clauses.Should, "", "status %s is none of the operation", status)}
	}
	if len(answer.content) == 0 {
		return nil
	}
	media, _, err := mime.ParseMediaType(e.Header.Get("Content-Type"))
	form, found := answer.content[media]
	if err != nil || !found {
		list = append(list, op.violates(clauses.Should, strconv.Quote(e.Header.Get("Content-Type")),
			"%s: the content type is none of %s", status, strings.Join(mediaOf(answer.content), ", ")))
		media, form = "application/json", answer.content["application/json"]
	}
	for _, h := range answer.headers {
		level := clauses.Should
		if h.neededFor == media {
			level = answer.level
		}
		if fault := h.schema.Validate(e.Header.Get(h.name)); fault != nil {
			list = append(list, op.violates(level, strconv.Quote(e.Header.Get(h.name)),
				"%s: the header %s is missing or none of its values", status, h.name))
		}
	}
	body, err := unpacked(e.Header.Get("Content-Encoding"), e.Body)
	if err != nil {
		return append(list, op.violates(form.level, err.Error(), "%s: the body is not in its Content-Encoding", status))
	}
	return append(list, op.body(status, form, e.Header, body)...)
}

func mediaOf(forms map[string]content) (names []string) {
	for name := range forms {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// body compares a body with its form. A form that has no schema is not compared.
func (op Operation) body(status string, form content, header http.Header, body []byte) []Violation {
	switch {
	case form.ssz != "":
		if err := decodes(form.ssz, header.Get("Eth-Consensus-Version"), body); err != nil {
			return []Violation{op.violates(form.level, err.Error(), "%s: the body is no %s in SSZ", status, form.ssz)}
		}
	case form.schema != nil && !isText(form.schema):
		return op.document(form.schema, form.level, status, body)
	}
	return nil
}

// isText says whether a body is any text, such as CSV or a page.
func isText(s *jsonschema.Schema) bool {
	return s.Types != nil && !s.Types.IsEmpty() && slices.Equal(s.Types.ToStrings(), []string{"string"}) &&
		s.Pattern == nil
}

// document compares a JSON document with a schema.
func (op Operation) document(s *jsonschema.Schema, level clauses.Level, where string, body []byte) []Violation {
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err != nil {
		return []Violation{op.violates(level, err.Error(), "%s: the body is not one JSON document", where)}
	}
	return op.value(s, level, where, value)
}

// value compares a decoded value with a schema.
func (op Operation) value(s *jsonschema.Schema, level clauses.Level, where string, value any) (list []Violation) {
	var wrong *jsonschema.ValidationError
	if err := s.Validate(value); err == nil {
		return nil
	} else if !errors.As(err, &wrong) {
		return []Violation{op.violates(level, err.Error(), "%s: the body cannot be compared", where)}
	}
	for _, leaf := range leaves(wrong) {
		said := leaf.ErrorKind.LocalizedString(english)
		list = append(list, op.violates(level, said, "%s: %s: %s", where, pointer(leaf.InstanceLocation), rule(leaf, said)))
	}
	return list
}

var english = message.NewPrinter(language.English)

// leaves returns the errors at the ends of a tree of errors.
func leaves(e *jsonschema.ValidationError) (list []*jsonschema.ValidationError) {
	if len(e.Causes) == 0 {
		return []*jsonschema.ValidationError{e}
	}
	for _, cause := range e.Causes {
		list = append(list, leaves(cause)...)
	}
	return list
}

// pointer is a place in a document. The elements of a list are one place.
func pointer(location []string) string {
	steps := []string{"$"}
	for _, s := range location {
		if _, err := strconv.Atoi(s); err == nil {
			s = "*"
		}
		steps = append(steps, s)
	}
	return strings.Join(steps, ".")
}

// rule is what a value breaks, without the value: a pattern and an enumeration say what came first.
func rule(leaf *jsonschema.ValidationError, said string) string {
	keywords := leaf.ErrorKind.KeywordPath()
	switch {
	case slices.Contains(keywords, "pattern"), slices.Contains(keywords, "enum"), slices.Contains(keywords, "const"):
		return "not of its form (" + keywords[len(keywords)-1] + ")"
	case slices.Contains(keywords, "minLength"), slices.Contains(keywords, "maxLength"),
		slices.Contains(keywords, "minimum"), slices.Contains(keywords, "maxItems"):
		return "not of its size (" + keywords[len(keywords)-1] + ")"
	}
	return said
}

// mostUnpacked bounds what is unpacked of an answer, in bytes.
const mostUnpacked = 16 << 20

func unpacked(encoding string, body []byte) ([]byte, error) {
	if encoding != "gzip" {
		return body, nil
	}
	packed, err := gzip.NewReader(bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("unpack: %w", err)
	}
	plain, err := io.ReadAll(io.LimitReader(packed, mostUnpacked))
	if err != nil {
		return nil, fmt.Errorf("unpack: %w", err)
	}
	return plain, nil
}

// decodes returns why a body is no SSZ of the named type in the named fork.
func decodes(name, version string, body []byte) error {
	fork, err := eth.ParseFork(version)
	if err != nil {
		return fmt.Errorf("the fork is not known: %w", err)
	}
	switch {
	case name == "SignedExecutionPayloadBid":
		_, err = gloas.Mainnet.SignedExecutionPayloadBid.Decode(body)
	case !probe.Has(fork):
		err = fmt.Errorf("the suite does not read blocks of %s", fork)
	case name == "SignedBuilderBid":
		_, err = probe.ReadBid(fork, "application/octet-stream", body)
	default:
		_, err = probe.ReadPayload(fork, "application/octet-stream", body)
	}
	return err
}
