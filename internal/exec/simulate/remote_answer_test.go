package simulate_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/params"

	"github.com/gavel-relay/gavel/internal/exec"
	"github.com/gavel-relay/gavel/internal/exec/simulate"
)

// result answers every call, alone or in a batch, with a result; but a question for a block with
// the head, and one for the code of an account that the result describes with a byte.
func result(text string) script {
	return func(r *http.Request) (*http.Response, error) {
		var raw json.RawMessage
		if err := json.NewDecoder(r.Body).Decode(&raw); err != nil {
			return nil, err
		}
		var calls []call
		single := json.Unmarshal(raw, &calls) != nil
		if single {
			calls = make([]call, 1)
			if err := json.Unmarshal(raw, &calls[0]); err != nil {
				return nil, err
			}
		}
		var answers []string
		for _, c := range calls {
			what := text
			switch {
			case strings.HasPrefix(c.Method, "eth_getBlock"):
				what = changed("hash", head.Hash())
			case c.Method == "eth_getCode" && strings.HasPrefix(text, "{"):
				what = `"0x00"`
			}
			answers = append(answers, `{"jsonrpc":"2.0","id":`+string(c.ID)+`,"result":`+what+`}`)
		}
		if body := strings.Join(answers, ","); !single {
			return answer(http.StatusOK, "["+body+"]"), nil
		}
		return answer(http.StatusOK, answers[0]), nil
	}
}

// proof is an answer to eth_getProof with some fields changed.
func proof(change map[string]any) string {
	fields := map[string]any{"balance": "0x1", "nonce": "0x0", "codeHash": common.Hash{}, "storageHash": common.Hash{1}}
	for field, value := range change {
		fields[field] = value
	}
	text, err := json.Marshal(fields)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// reading opens a state at a node that gives one result to every question, and reads an account and
// a slot of it.
func reading(t testing.TB, node script, read func(*simulate.RemoteStates)) error {
	states := open(t, simulate.RemoteOptions{
		URLs: []string{"http://node"}, HTTP: &http.Client{Transport: played{"node": node}},
		Config: params.MergedTestChainConfig,
	})
	if read != nil {
		read(states)
	}
	st, err := states.At(t.Context(), exec.Environment{Latest: true})
	if err != nil {
		return err
	}
	st.DB.GetBalance(common.Address{1})
	st.DB.GetState(common.Address{1}, common.Hash{1})
	return st.DB.Error()
}

// A well-formed answer that cannot be true makes the state's reads fail with ErrNode.
func TestFalseAccounts(t *testing.T) {
	for name, text := range map[string]string{
		"null":                      `null`,
		"a list":                    `[]`,
		"an empty object":           `{}`,
		"no balance":                proof(map[string]any{"balance": nil}),
		"no nonce":                  proof(map[string]any{"nonce": nil}),
		"no code hash":              proof(map[string]any{"codeHash": nil}),
		"no storage hash":           proof(map[string]any{"storageHash": nil}),
		"a short hash":              proof(map[string]any{"codeHash": "0x12"}),
		"a balance of 2^256":        proof(map[string]any{"balance": "0x1" + strings.Repeat("0", 64)}),
		"a negative balance":        proof(map[string]any{"balance": "-0x1"}),
		"a nonce of 2^64":           proof(map[string]any{"nonce": "0x10000000000000000"}),
		"another code than it says": proof(map[string]any{"codeHash": common.Hash{2}}),
		"storage that is no word":   proof(nil),
	} {
		t.Run(name, func(t *testing.T) {
			if err := reading(t, result(text), nil); !errors.Is(err, exec.ErrNode) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// Whatever a node answers, there is a state or one of the two errors, and never a panic.
func FuzzAnswer(f *testing.F) {
	for _, text := range []string{
		`null`, `{}`, `[]`, `"0x"`, `"0x1"`, proof(nil), proof(map[string]any{"nonce": nil}), changed("hash", nil),
		changed("transactions", []any{nil}),
		changed("withdrawals", []any{nil}), changed("number", "0x0"), `{"current":{"blobSchedule":null}}`,
	} {
		f.Add(text, true)
		f.Add(`{"jsonrpc":"2.0","id":1,"result":`+text+`}`, false)
		f.Add(`[{"jsonrpc":"2.0","id":1,"result":`+text+`},null]`, false)
	}
	f.Add(`{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"missing trie node"}}`, false)
	f.Fuzz(func(t *testing.T, text string, framed bool) {
		node := always(http.StatusOK, text)
		if framed {
			node = result(text)
		}
		sorted := func(what string, err error) {
			if err != nil && !errors.Is(err, exec.ErrNode) && !errors.Is(err, exec.ErrUnknownBlock) {
				t.Errorf("%s: %v", what, err)
			}
		}
		sorted("state", reading(t, node, func(states *simulate.RemoteStates) {
			_, err := states.Head(t.Context())
			sorted("head", err)
			_, err = states.Block(t.Context(), head.Hash())
			sorted("block", err)
			_, err = states.BlockByNumber(t.Context(), 1)
			sorted("block by number", err)
			sorted("warm", states.Warm(t.Context(), head, simulate.Touched(nil, common.Address{2})))
		}))
		_, err := open(t, simulate.RemoteOptions{URLs: []string{"http://node"},
			HTTP: &http.Client{Transport: played{"node": node}}}).At(
			t.Context(), exec.Environment{ParentNumber: 1})
		sorted("config", err)
	})
}
