package simulate

import (
	"errors"
	"fmt"
	"strings"

	"github.com/ethereum/go-ethereum"
	"github.com/ethereum/go-ethereum/rpc"

	"github.com/gavel-relay/gavel/internal/exec"
	"github.com/gavel-relay/gavel/internal/upstream"
)

// Codes of JSON-RPC 2.0, EIP-1474 and EIP-4444.
const (
	codeNoMethod    = -32601
	codeParams      = -32602
	codeNoResource  = -32001
	codeUnsupported = -32004
	codePruned      = 4444
)

// absences are the words by which nodes say that they do not have a block or no longer its state,
// in lower case. Each client has its own words.
var absences = []string{
	"header not found", "header for hash not found", "block not found", "unknown block", "could not find block",
	"missing trie node", "pruned",
	"state not available", "state is not available", "no state available", "historical state",
	"state histories haven't been fully indexed",
	"not currently canonical", "required historical state unavailable", "world state unavailable", "resource not found",
	"old data not available",
}

// classify classifies what a node answered. The error wraps ErrUnknownBlock if the node lacks the
// block or its state, and ErrNode for any other JSON-RPC error. An error without an answer is
// returned without the node's URL. Errors that are classified already stay as they are.
func classify(err error) error {
	var said rpc.Error
	switch {
	case err == nil || errors.Is(err, exec.ErrUnknownBlock) || errors.Is(err, exec.ErrNode):
		return err
	case errors.Is(err, ethereum.NotFound):
		return exec.ErrUnknownBlock
	case errors.As(err, &said) && saysAbsent(said):
		return fmt.Errorf("%w: %s", exec.ErrUnknownBlock, said.Error())
	case errors.As(err, &said):
		return fmt.Errorf("%w: answer %d: %s", exec.ErrNode, said.ErrorCode(), said.Error())
	}
	return withoutURL("call", err)
}

func saysAbsent(said rpc.Error) bool {
	if code := said.ErrorCode(); code == codeNoResource || code == codePruned {
		return true
	}
	text := strings.ToLower(said.Error())
	for _, words := range absences {
		if strings.Contains(text, words) {
			return true
		}
	}
	return false
}

// isRefused says that the node's answer is an error with one of these codes.
func isRefused(err error, codes ...int) bool {
	var said rpc.Error
	if !errors.As(err, &said) {
		return false
	}
	for _, code := range codes {
		if said.ErrorCode() == code {
			return true
		}
	}
	return false
}

// withoutURL wraps an error without the URL, whose path and query may hold secrets, and without the
// body of an answer that is not JSON-RPC, which may be long.
func withoutURL(action string, err error) error {
	if status := (rpc.HTTPError{}); errors.As(err, &status) {
		return fmt.Errorf("%s: status %d", action, status.StatusCode)
	}
	return fmt.Errorf("%s: %w", action, upstream.WithoutURL(err))
}

// impossible is the error for an answer that is well-formed but cannot be true.
func impossible(format string, args ...any) error {
	return fmt.Errorf("%w: %w", exec.ErrNode, fmt.Errorf(format, args...))
}
