package app

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/gavel-relay/gavel/internal/clock"
	"github.com/gavel-relay/gavel/internal/golden"
	"github.com/gavel-relay/gavel/rpc"
	"github.com/gavel-relay/gavel/rpc/method"
)

// docs is the page about this service. The section with the methods is made from the methods; its
// examples are run, as they stand there, by a shell with curl, and show what came.
const docs = "../../docs/rpc.md"

func TestMethodsDocs(t *testing.T) {
	text, err := os.ReadFile(docs)
	if err != nil {
		t.Fatal(err)
	}
	bin := filepath.Join(t.TempDir(), "gavel")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", bin,
		"../../cmd/gavel").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	prelude := shellBlock(t, string(text), "examples begin")
	h := openService(t, func(cfg *Config) { cfg.Clock = clock.NewStepped(time.Unix(1_700_000_100, 0)) })
	shell := &shell{
		T: t, path: filepath.Dir(bin), rpc: h.url, node: h.node.RPCURL(),
		prelude: address(prelude, "RPC", h.url, "NODE", h.node.RPCURL()),
	}
	var section strings.Builder
	examples := map[string]method.Example{}
	for _, m := range h.app.methods {
		section.WriteString("\n" + describe(m))
		command := fmt.Sprintf("call %s '%s'", m.Name, m.Example)
		params, answer := shell.out("printf %s '"+m.Example+"'"), shell.run(command)
		fmt.Fprintf(&section, "```sh\n%s\n```\n\n```json\n%s\n```\n", command, answer)
		examples[m.Name] = exampleOf(t, params, answer)
		h.idle()
	}
	golden.Section(t, docs, "methods", section.String())
	text, err = json.MarshalIndent(examples, "", "\t")
	if err != nil {
		t.Fatal(err)
	}
	golden.File(t, "../method/examples.json", string(text)+"\n")
}

// exampleOf is what an example sent, and what came.
func exampleOf(t *testing.T, params, answer string) method.Example {
	t.Helper()
	var example method.Example
	if err := json.Unmarshal([]byte(params), &example.Params); err != nil {
		t.Fatalf("%s: %v", params, err)
	}
	if err := json.Unmarshal([]byte(answer), &example); err != nil { // the answer's result
		t.Fatalf("%s: %v", answer, err)
	}
	return example
}

// idle waits until everything that was accepted has been sent, or has failed, or came to its end.
func (s *service) idle() {
	s.Helper()
	marker := rpc.CallSimulated{Method: fmt.Sprint("marker ", s.marks)}
	s.marks++
	s.app.facts.Record(marker)
	// facts are in order: all before it are seen
	waitFor(s, "marker", func(f rpc.CallSimulated) bool { return f == marker })
	waiting := map[uint64]bool{}
	s.facts.wait(s, "end of all work", func(fact rpc.Fact) bool {
		switch f := fact.(type) {
		case rpc.OrderAccepted:
			waiting[f.Order.ID] = true
		case rpc.OrderSent:
			delete(waiting, f.ID)
		case rpc.OrderEnded:
			delete(waiting, f.ID)
		case rpc.OrderSimulated:
			if !f.Success {
				delete(waiting, f.ID)
			}
		case rpc.CallSimulated:
			s.passed = s.passed || f == marker
		}
		return s.passed && len(waiting) == 0
	})
	s.passed = false
}

// shell runs what the page says.
type shell struct {
	*testing.T
	path, rpc, node, prelude string
}

// run makes a call, which must have a result.
func (s *shell) run(command string) string {
	s.Helper()
	out := s.out(command)
	var answer map[string]any
	if err := json.Unmarshal([]byte(out), &answer); err != nil || answer["result"] == nil &&
		!strings.Contains(out, `"result":null`) {
		s.Errorf("%s: %s", command, out)
	}
	return out
}

// out is what a command writes.
func (s *shell) out(command string) string {
	s.Helper()
	bash := exec.CommandContext(s.Context(), "bash", "-euc", s.prelude+"\n"+command)
	bash.Env = append(os.Environ(), "PATH="+s.path+":"+os.Getenv("PATH"))
	out, err := bash.Output()
	if err != nil {
		s.Fatalf("%s: %v", command, err)
	}
	return strings.TrimSpace(string(out))
}

// shellBlock is the block of shell after a comment with a name.
func shellBlock(t *testing.T, text, name string) string {
	t.Helper()
	_, rest, found := strings.Cut(text, "<!-- "+name+" -->\n```sh\n")
	block, _, closed := strings.Cut(rest, "```")
	if !found || !closed {
		t.Fatalf("%s has no block %q", docs, name)
	}
	return block
}

// address puts other values in place of the page's addresses.
func address(block string, pairs ...string) string {
	for i := 0; i < len(pairs); i += 2 {
		block = regexp.MustCompile(`(?m)^`+pairs[i]+`=\S+`).ReplaceAllString(block, pairs[i]+"="+pairs[i+1])
	}
	return block
}

// describe is what the page says of a method before its example.
func describe(m method.Method) string {
	var b strings.Builder
	fmt.Fprintf(&b, "### %s\n%s", m.Name, m.Summary)
	if m.Beyond {
		b.WriteString(" Beyond the interface description.")
	}
	b.WriteString("\n\n")
	if m.About != "" {
		b.WriteString(m.About + "\n\n")
	}
	b.WriteString("| parameter | | form | meaning |\n|---|---|---|---|\n")
	for i, p := range m.Params {
		rows(&b, fmt.Sprintf("params[%d]", i), p.Required, p.Schema)
	}
	b.WriteString("\n| result | | form | meaning |\n|---|---|---|---|\n")
	rows(&b, "result", true, m.Result)
	var ids []string
	for _, r := range m.Refusals {
		ids = append(ids, fmt.Sprintf("[%s](#refusals)", r.ID))
	}
	fmt.Fprintf(&b, "\nRefusals: %s.\n\n", strings.Join(ids, ", "))
	return b.String()
}

// rows are a value's row, and those of what is in it.
func rows(b *strings.Builder, path string, required bool, s *method.Schema) {
	for _, choice := range s.OneOf {
		if choice.Type == "object" {
			s = choice // the other choice is said in words
		}
	}
	need := "may be left out"
	if required {
		need = ""
	}
	fmt.Fprintf(b, "| `%s` | %s | %s | %s |\n", path, need, form(s), s.Description)
	for ; s.Items != nil; s = s.Items {
		path += "[]"
	}
	for _, name := range s.Fields() {
		contained := false
		for _, r := range s.Required {
			contained = contained || r == name
		}
		rows(b, strings.TrimPrefix(path+"."+name, "result."), contained, s.Properties[name])
	}
}

// form is what a value looks like, in a word or two.
func form(s *method.Schema) string {
	switch {
	case s.Items != nil:
		return "list of " + form(s.Items)
	case s.Enum != nil:
		words := make([]string, len(s.Enum))
		for i, word := range s.Enum {
			words[i] = fmt.Sprintf("`%v`", word)
		}
		return strings.Join(words, ", ")
	case s.Title != "":
		return s.Title
	}
	switch kind := s.Type.(type) {
	case string:
		return kind
	case []string:
		return strings.Join(kind, " or ")
	}
	return ""
}
