package node

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/internal/exec"
)

// standing is what a try says about the node.
type standing uint8

const (
	unknownStanding standing = iota // the caller left before there was an answer
	judging                         // it judged the block
	// it lacks the parent or its state: the block's fault, or the node's if that goes on
	behind
	// no answer within the time of one try: the node's fault, or the block's if others were answered
	// meanwhile
	slow
	broken // it cannot judge at all
)

// outcome is the result of asking one node.
type outcome struct {
	verdict  exec.Verdict
	standing standing
}

// response is a JSON-RPC answer.
type response struct {
	Result json.RawMessage
	Error  *struct {
		Code    int
		Message string
	}
}

// read turns an answer with status 200 into an outcome.
func read(body []byte, block *exec.Block) outcome {
	var r response
	if err := json.Unmarshal(body, &r); err != nil {
		return unusable(fmt.Errorf("decode the answer: %w", err))
	}
	switch {
	case r.Error != nil:
		return judge(r.Error.Code, r.Error.Message)
	case r.Result == nil:
		return unusable(errors.New("the answer has neither result nor error"))
	}
	paid, err := paidWei(r.Result)
	if err != nil {
		return unusable(err)
	}
	// the node accepted the promised payment, so a lower block_value only counts in another way
	if paid == nil || paid.Lt(block.ValueWei) {
		paid = block.ValueWei.Clone()
	}
	return outcome{exec.Verdict{Class: exec.Valid, PaidWei: paid}, judging}
}

// paidWei is the block_value of a result: a decimal or 0x text, or a number; nil if the result is
// empty or has no such field.
func paidWei(result json.RawMessage) (*uint256.Int, error) {
	if !bytes.HasPrefix(result, []byte("{")) {
		return nil, nil // null, true, "": nodes differ in their empty results
	}
	var fields struct {
		Value json.RawMessage `json:"block_value"`
	}
	if err := json.Unmarshal(result, &fields); err != nil {
		return nil, fmt.Errorf("decode the result: %w", err)
	}
	text := strings.Trim(string(fields.Value), `"`)
	if text == "" || text == "null" {
		return nil, nil
	}
	var value uint256.Int
	parse := value.SetFromDecimal
	if strings.HasPrefix(text, "0x") {
		parse = value.SetFromHex
	}
	if err := parse(text); err != nil {
		return nil, fmt.Errorf("block_value: %w", err)
	}
	return &value, nil
}

// brokenCodes are error codes that are about the request or the node and never about the block
// (JSON-RPC 2.0 and what servers added): not JSON, no request, no such method, timeout, limits, too
// large, busy.
var brokenCodes = []int{-32700, -32600, -32601, -32002, -32005, -32007, -32008, -32009}

// invalidParams is the code that nodes give both for a block that they judged invalid and for
// parameters that they could not read.
const invalidParams = -32602

// reason recognises an error by words in it, in lower case.
type reason struct {
	words    []string
	class    exec.Class
	rule     exec.Rule
	standing standing
}

func (r reason) fits(message string) bool {
	return slices.ContainsFunc(r.words, func(words string) bool { return strings.Contains(message, words) })
}

// reasons are searched in their order. The node's own trouble comes first, because blaming a
// builder for it could cost an innocent builder money. The codes do not tell the difference (reth
// gives a wrong state root the code of an internal error), so the words must. They are the words of
// reth and geth.
var reasons = []reason{
	{[]string{
		"unknown ancestor", "parent block not found", "unknown parent", "parent not found", "block is too old",
		"outside validation window",
		"requires a reorg", "no header found for", "header not found",
	}, exec.Infrastructure, exec.RuleParent, behind},
	{[]string{
		"missing trie node", "pruned ancestor", "is pruned", "no state found", "state not found", "state not available",
		"state is not available",
		"historical state", "is not here",
	}, exec.Infrastructure, exec.RuleMissingState, behind},
	{[]string{"block already known"}, exec.Infrastructure, exec.RuleUnsupported, judging},
	{[]string{
		"unimplemented", "not implemented", "does not exist/is not available", "method not found",
	}, exec.Infrastructure, exec.RuleUnsupported, broken},
	{[]string{
		"syncing", "missing latest block", "database", "internal error", "handler crashed", "panicked", "request timed out",
		"timeout exceeded",
		"too many requests", "server is busy", "rate limit", "limit exceeded", "context canceled",
		"context deadline exceeded", "shutting down", "interrupted: ",
		"task was cancelled", "blocking task", "channel closed", "i/o error", "no space left", "too many open files",
	}, exec.Infrastructure, exec.RuleUnavailable, broken},

	{[]string{"hash mismatch", "incorrect blockhash", "blockhash mismatch", "incorrect parenthash"}, exec.Invalid,
		exec.RuleBlockHash, judging},
	{[]string{"payment", "profit", "payout"}, exec.Invalid, exec.RulePayment, judging},
	{[]string{"blob"}, exec.Invalid, exec.RuleBlobs, judging},
	{[]string{"gas limit", "gaslimit"}, exec.Invalid, exec.RuleGasLimit, judging},
	{[]string{
		"state root", "merkle root", "receipt root", "receipts root", "bloom", "gas used", "gasused", "requests hash",
	}, exec.Invalid, exec.RuleState, judging},
	{[]string{"base fee", "basefee", "excess", "timestamp", "extra data", "extra-data"}, exec.Invalid,
		exec.RuleHeader, judging},
	{[]string{"transaction root", "transactions root", "withdrawals root", "block size", "rlp"}, exec.Invalid,
		exec.RuleBody, judging},
	{[]string{"nonce", "insufficient funds", "could not apply tx", "transaction"}, exec.Invalid,
		exec.RuleExecution, judging},
}

// named are the rules that a message may name in the form "rule: detail", as those of
// devnet/network do.
var named = map[exec.Rule]outcome{
	exec.RuleParent:       {exec.Verdict{Class: exec.Infrastructure}, behind},
	exec.RuleMissingState: {exec.Verdict{Class: exec.Infrastructure}, behind},
	exec.RuleUnsupported:  {exec.Verdict{Class: exec.Infrastructure}, broken},
	exec.RuleUnavailable:  {exec.Verdict{Class: exec.Infrastructure}, broken},
	exec.RuleBlockHash:    {exec.Verdict{Class: exec.Invalid}, judging},
	exec.RuleHeader:       {exec.Verdict{Class: exec.Invalid}, judging},
	exec.RuleGasLimit:     {exec.Verdict{Class: exec.Invalid}, judging},
	exec.RuleBody:         {exec.Verdict{Class: exec.Invalid}, judging},
	exec.RuleExecution:    {exec.Verdict{Class: exec.Invalid}, judging},
	exec.RuleState:        {exec.Verdict{Class: exec.Invalid}, judging},
	exec.RulePayment:      {exec.Verdict{Class: exec.Invalid}, judging},
	exec.RuleBlobs:        {exec.Verdict{Class: exec.Invalid}, judging},
	exec.RuleRejected:     {exec.Verdict{Class: exec.Invalid}, judging},
}

// judge says what an error object means: the block is invalid, unless code or words are about the
// node or the request.
func judge(code int, message string) outcome {
	if rule, detail, found := strings.Cut(message, ": "); found {
		if o, known := named[exec.Rule(rule)]; known {
			o.verdict.Rule, o.verdict.Detail = exec.Rule(rule), truncate(detail)
			return o
		}
	}
	said := func(class exec.Class, rule exec.Rule, s standing) outcome {
		return outcome{exec.Verdict{Class: class, Rule: rule, Detail: truncate(message)}, s}
	}
	lower := strings.ToLower(message)
	switch {
	case code == -32601, code == invalidParams && unread(lower):
		return said(exec.Infrastructure, exec.RuleUnsupported, broken)
	case slices.Contains(brokenCodes, code), lower == "":
		return said(exec.Infrastructure, exec.RuleUnavailable, broken)
	}
	for _, r := range reasons {
		if r.fits(lower) {
			return said(r.class, r.rule, r.standing)
		}
	}
	return said(exec.Invalid, exec.RuleRejected, judging)
}

// unread says that the node could not read the parameters, because it knows another version of the
// method.
func unread(message string) bool {
	return message == "invalid params" || strings.HasPrefix(message, "invalid argument") ||
		strings.HasPrefix(message, "missing value for") ||
		strings.HasPrefix(message, "too many arguments")
}

// unusable is the outcome if there is no answer, or one without a verdict. Its details must not be
// published, because they may name hosts (see public).
func unusable(err error) outcome {
	return outcome{exec.Verdict{Class: exec.Infrastructure, Rule: exec.RuleUnavailable, Detail: err.Error()}, broken}
}

// maxDetail is how many bytes of a node's message are passed on.
const maxDetail = 300

func truncate(text string) string {
	if len(text) <= maxDetail {
		return strings.ToValidUTF8(text, "?")
	}
	end := maxDetail
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return strings.ToValidUTF8(text[:end], "?") + "…"
}
