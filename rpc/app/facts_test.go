package app

import (
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"testing"

	"github.com/gavel-relay/gavel/rpc"
)

// Every fact that there is can be read again, as the same type.
func TestEveryFactCanBeReadAgain(t *testing.T) {
	source, err := parser.ParseFile(token.NewFileSet(), "../fact.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	facts := 0
	for _, declaration := range source.Decls {
		if method, ok := declaration.(*ast.FuncDecl); ok && method.Name.Name == "Subject" {
			facts++
		}
	}
	if facts == 0 || facts != len(decoders) {
		t.Errorf("%d kinds of facts, %d can be read", facts, len(decoders))
	}
	for subject, decode := range decoders {
		fact, err := decode([]byte("{}"))
		if err != nil || subjectPrefix+fact.Subject() != subject || reflect.TypeOf(fact).Kind() != reflect.Struct {
			t.Errorf("%s is read as %T, %v", subject, fact, err)
		}
	}
	ignored := func(rpc.Fact) { t.Error("a fact was read") }
	if err := decodeFacts("rpc.unknown", nil, ignored); err != nil {
		t.Errorf("an unknown one: %v", err)
	}
	for _, nonsense := range []string{"", "[", "{", `"`} {
		if err := decodeFacts(subjectPrefix+rpc.OrderEnded{}.Subject(), []byte(nonsense), ignored); err == nil {
			t.Errorf("%q is read", nonsense)
		}
	}
}
