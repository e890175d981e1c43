package network

// ValidationHandler serves the validation of builders' blocks over JSON-RPC:
// flashbots_validateBuilderSubmissionV1 (bellatrix) to V6 (gloas), in front of any exec.Validator.
// With it the lab runs the relay against validation nodes without an execution client.
//
//	POST / {"method":"flashbots_validateBuilderSubmissionV5","params":[{message, execution_payload, …}]}
//	   │
//	   ├─ the message says what the payload says? ── validator ──► {"result":{"block_value":"…wei"}}
//	   └─ no ──────────────────────────────────────────── no ────► {"error":{"code":-32000,"message":"rule: detail"}}

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/exec"
)

// maxRequest bounds a request in bytes. It allows for a block of 8 MiB and 72 blobs in hexadecimal
// digits, and some more.
const maxRequest = 64 << 20

// Error codes of JSON-RPC 2.0. -32000 is what geth uses for every error that a method returns.
const (
	codeJSON    = -32700
	codeRequest = -32600
	codeMethod  = -32601
	codeParams  = -32602
	codeRefused = -32000
)

type request struct {
	ID     json.RawMessage   `json:"id"`
	Method string            `json:"method"`
	Params []json.RawMessage `json:"params"`
}

type response struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Result  *result         `json:"result,omitempty"`
	Error   *failure        `json:"error,omitempty"`
}

// result is the answer for a valid block.
type result struct {
	// BlockValue is what the fee recipient is paid: wei, decimal.
	BlockValue string `json:"block_value"`
}

type failure struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

// ValidationHandler serves a validator. Verdicts and the client's mistakes have status 200, as
// JSON-RPC requires.
func ValidationHandler(validator exec.Validator) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" ||
			r.Method != http.MethodPost {
			http.Error(w, "want POST with application/json", http.StatusUnsupportedMediaType)
			return
		}
		raw, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequest))
		if tooLong := (*http.MaxBytesError)(nil); errors.As(err, &tooLong) {
			http.Error(w, err.Error(), http.StatusRequestEntityTooLarge)
			return
		} else if err != nil {
			http.Error(w, "read the request: "+err.Error(), http.StatusBadRequest)
			return
		}
		out, err := json.Marshal(answer(r, validator, raw))
		if err != nil { // cannot happen: the only raw member is the id, which was parsed as JSON
			http.Error(w, "encode the answer", http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(out) // fails only if the client is gone
	})
}

func answer(r *http.Request, validator exec.Validator, raw []byte) *response {
	out := &response{Version: "2.0", ID: json.RawMessage("null")}
	var asked request
	if err := json.Unmarshal(raw, &asked); err != nil {
		out.Error = &failure{codeJSON, "parse error"}
		if bytes.HasPrefix(bytes.TrimSpace(raw), []byte("[")) {
			out.Error = &failure{codeRequest, "batches are not served"}
		}
		return out
	}
	if asked.ID != nil {
		out.ID = asked.ID
	}
	fork := eth.ForkValidatedBy(asked.Method)
	switch {
	case submissions[fork] == nil: // unknown, or later than what this server has a form of
		out.Error = &failure{codeMethod, fmt.Sprintf("the method %.80s does not exist/is not available", asked.Method)}
		return out
	case len(asked.Params) != 1:
		out.Error = &failure{codeParams, "invalid params"}
		return out
	}
	block, err := DecodeValidation(fork, asked.Params[0])
	if err != nil {
		out.Error = &failure{codeParams, "invalid argument 0: " + err.Error()}
		return out
	}
	verdict := judge(r, validator, block)
	if verdict.Class != exec.Valid {
		out.Error = &failure{codeRefused, fmt.Sprintf("%s: %s", verdict.Rule, verdict.Detail)}
		return out
	}
	out.Result = &result{verdict.PaidWei.Dec()}
	return out
}

// judge compares the message with the payload, as execution clients do, and lets the validator
// judge the block.
func judge(r *http.Request, validator exec.Validator, b *exec.Block) exec.Verdict {
	differs := func(rule exec.Rule, what string, said, is any) exec.Verdict {
		return exec.Verdict{Class: exec.Invalid, Rule: rule, Detail: fmt.Sprintf("incorrect %s %v, expected %v",
			what, said, is)}
	}
	switch m, p := b.Trace, b.Payload; {
	case m.ParentHash != p.ParentHash:
		return differs(exec.RuleBlockHash, "ParentHash", m.ParentHash, p.ParentHash)
	case m.BlockHash != p.BlockHash:
		return differs(exec.RuleBlockHash, "BlockHash", m.BlockHash, p.BlockHash)
	case m.GasLimit != p.GasLimit:
		return differs(exec.RuleHeader, "GasLimit", m.GasLimit, p.GasLimit)
	case m.GasUsed != p.GasUsed:
		return differs(exec.RuleHeader, "GasUsed", m.GasUsed, p.GasUsed)
	case b.Gloas != nil && m.Slot != uint64(b.Gloas.Slot):
		return differs(exec.RuleHeader, "Slot", m.Slot, b.Gloas.Slot)
	}
	return validator.Validate(r.Context(), b)
}
