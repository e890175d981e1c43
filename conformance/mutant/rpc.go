package mutant

import (
	"crypto/ecdsa"
	"encoding/json"
	"net/http"
	"slices"

	"github.com/ethereum/go-ethereum/crypto"

	"github.com/gavel-relay/gavel/conformance/probe"
)

// impostor is the key that signs requests that mutants have changed.
var impostor = func() *ecdsa.PrivateKey {
	key, err := crypto.ToECDSA(crypto.Keccak256([]byte("gavel conformance impostor")))
	if err != nil {
		panic(err) // only if the hash were beyond the curve's order
	}
	return key
}()

// signAsImpostor signs the changed request, by the impostor's key.
func (e *Exchange) signAsImpostor() {
	e.Request.Header.Set(probe.SignatureHeader, probe.BodySignature(impostor, e.Asked))
}

// result is a fault that changes the results of a method, or of all methods if method is empty.
func result(method string, change func(result any) any) func() Fault {
	return answers("/", func(e *Exchange) {
		if method != "" && e.Method != method {
			return
		}
		e.edit(func(d any) any {
			if o := object(d); o != nil {
				if value, has := o["result"]; has {
					o["result"] = change(value)
				}
			}
			return d
		})
	})
}

// member is a fault that changes one member of the results of a method.
func member(method, name string, change func(value any) any) func() Fault {
	return result(method, func(r any) any {
		if o := object(r); o != nil {
			if value, has := o[name]; has {
				o[name] = change(value)
			}
		}
		return r
	})
}

// params is a fault that changes the parameters of calls of a method.
func params(method string, change func(list []any) []any) func() Fault {
	return asks("/", func(e *Exchange) bool {
		var d map[string]any
		if e.Method != method || json.Unmarshal(e.Asked, &d) != nil {
			return false
		}
		list, _ := d["params"].([]any)
		d["params"] = change(list)
		if raw, err := json.Marshal(d); err == nil {
			e.Asked = raw
			e.signAsImpostor()
		}
		return false
	})
}

// envelope is a fault that changes the object of a JSON-RPC answer.
func envelope(change func(o map[string]any)) func() Fault {
	return answers("/", func(e *Exchange) {
		e.edit(func(d any) any {
			if o := object(d); o != nil {
				change(o)
			}
			return d
		})
	})
}

// takesAll is a fault that turns refusals of a method into successes.
func takesAll(method string) func() Fault {
	return answers("/", func(e *Exchange) {
		if e.Method != method {
			return
		}
		e.Status = http.StatusOK
		e.edit(func(d any) any {
			if o := object(d); o != nil && o["error"] != nil {
				delete(o, "error")
				o["result"] = map[string]any{}
			}
			return d
		})
	})
}

// refusesAll is a fault that answers each call of a method with an error.
func refusesAll(method string) func() Fault {
	return answers("/", func(e *Exchange) {
		if e.Method == method {
			e.say(http.StatusOK, jsonType, `{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"no"}}`)
		}
	})
}

func constant(value any) func(any) any { return func(any) any { return value } }

// raiseDecimal makes a decimal number in a text larger: it appends a digit.
func raiseDecimal(value any) any {
	text, _ := value.(string)
	return text + "1"
}

// rpcMutants returns the mutants that are put before the bundle RPC.
func rpcMutants() []Mutant {
	return slices.Concat(envelopeMutants(), authMutants(), sendBundleMutants(), callBundleMutants(), simBundleMutants(),
		sendShareMutants(), privateMutants(), refundMutants(), rpcSingleMutants(), methodMutants())
}

// dropped is a fault that removes a member of the first parameter.
func dropped(method, name string) func() Fault {
	return params(method, func(list []any) []any {
		if len(list) > 0 {
			delete(object(list[0]), name)
		}
		return list
	})
}
