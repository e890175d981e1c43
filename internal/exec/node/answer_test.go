package node

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/exec"
)

// Error objects as nodes give them, and what they mean. The first column says who speaks.
func TestErrorObjects(t *testing.T) {
	for _, row := range []struct {
		node     string
		code     int
		message  string
		class    exec.Class
		rule     exec.Rule
		standing standing
	}{
		{"reth", -32602, "block hash mismatch: got 0x01, expected 0x02", exec.Invalid, exec.RuleBlockHash, judging},
		{"reth", -32602, "block gas limit mismatch: got 1, expected 2", exec.Invalid, exec.RuleGasLimit, judging},
		{"reth", -32602, "could not verify proposer payment", exec.Invalid, exec.RulePayment, judging},
		{"reth", -32602, "invalid blobs bundle", exec.Invalid, exec.RuleBlobs, judging},
		{"reth", -32603, "mismatched block state root: got 0x01, expected 0x02", exec.Invalid, exec.RuleState, judging},
		{"reth", -32603, "block gas used mismatch: got 1, expected 2; gas spent by each transaction: []", exec.Invalid,
			exec.RuleState, judging},
		{"reth", -32602, "block accesses blacklisted address: 0x01", exec.Invalid, exec.RuleRejected, judging},
		{"reth", -32603, "parent block not found", exec.Infrastructure, exec.RuleParent, behind},
		{"reth", -32603, "block is too old, outside validation window", exec.Infrastructure, exec.RuleParent, behind},
		{"reth", -32603, "state at block #5 is pruned", exec.Infrastructure, exec.RuleMissingState, behind},
		{"reth", -32603, "missing latest block in database", exec.Infrastructure, exec.RuleUnavailable, broken},
		{"reth", -32603, "failed to open the database: too many open files (24)", exec.Infrastructure,
			exec.RuleUnavailable, broken},
		{"reth", -32603, "internal blocking task error", exec.Infrastructure, exec.RuleUnavailable, broken},
		{"reth", -32603, "Internal error", exec.Infrastructure, exec.RuleUnavailable, broken},
		{"reth", -32603, "unimplemented", exec.Infrastructure, exec.RuleUnsupported, broken},
		{"reth", -32602, "Invalid params", exec.Infrastructure, exec.RuleUnsupported, broken},
		{"reth", -32601, "Method not found", exec.Infrastructure, exec.RuleUnsupported, broken},
		{"reth", -32009, "Server is busy, try again later", exec.Infrastructure, exec.RuleUnavailable, broken},
		{"reth", -32007, "Request is too big", exec.Infrastructure, exec.RuleUnavailable, broken},
		{"geth", -32000, "invalid merkle root (remote: 01 local: 02) dberr: <nil>", exec.Invalid, exec.RuleState, judging},
		{"geth", -32000, "invalid gas used (remote: 1 local: 2)", exec.Invalid, exec.RuleState, judging},
		{"geth", -32000, "incorrect GasLimit 1, expected 2", exec.Invalid, exec.RuleGasLimit, judging},
		{"geth", -32000, "incorrect gas limit set, expected: 1, got: 2", exec.Invalid, exec.RuleGasLimit, judging},
		{"geth", -32000, "inaccurate payment 1, expected 2", exec.Invalid, exec.RulePayment, judging},
		{"geth", -32000, "could not apply tx 0 [0x01]: nonce too high", exec.Invalid, exec.RuleExecution, judging},
		{"geth", -32000, "invalid baseFee: have 1, want 2", exec.Invalid, exec.RuleHeader, judging},
		{"geth", -32000, "unknown ancestor", exec.Infrastructure, exec.RuleParent, behind},
		{"geth", -32000, "block requires a reorg", exec.Infrastructure, exec.RuleParent, behind},
		{"geth", -32000, "missing trie node 01 (path ) <nil>", exec.Infrastructure, exec.RuleMissingState, behind},
		{"geth", -32000, "pruned ancestor", exec.Infrastructure, exec.RuleMissingState, behind},
		{"geth", -32000, "block already known", exec.Infrastructure, exec.RuleUnsupported, judging},
		{"geth", -32603, "method handler crashed", exec.Infrastructure, exec.RuleUnavailable, broken},
		{"geth", -32002, "request timed out", exec.Infrastructure, exec.RuleUnavailable, broken},
		{"geth", -32602, "invalid argument 0: json: cannot unmarshal", exec.Infrastructure, exec.RuleUnsupported, broken},
		{"geth", -32601, "the method flashbots_validateBuilderSubmissionV5 does not exist/is not available",
			exec.Infrastructure, exec.RuleUnsupported, broken},
		{"balancer", -32000, "no node synced: all are syncing", exec.Infrastructure, exec.RuleUnavailable, broken},
		{"balancer", -32005, "slow down", exec.Infrastructure, exec.RuleUnavailable, broken},
		{"nobody", 0, "", exec.Infrastructure, exec.RuleUnavailable, broken},
		{"nobody", -32000, "no", exec.Invalid, exec.RuleRejected, judging},
		{"ours", -32000, "payment: the fee recipient gained 1 wei of 2", exec.Invalid, exec.RulePayment, judging},
		// a named rule counts, not the words behind it
		{"ours", -32000, "state: parent not found", exec.Invalid, exec.RuleState, judging},
		{"ours", -32000, "missing_state: gone", exec.Infrastructure, exec.RuleMissingState, behind},
		{"ours", -32000, "interrupted: the caller left", exec.Infrastructure, exec.RuleUnavailable, broken},
	} {
		t.Run(row.node+" "+row.message, func(t *testing.T) {
			got := judge(row.code, row.message)
			if got.verdict.Class != row.class || got.verdict.Rule != row.rule || got.standing != row.standing {
				t.Errorf("%+v", got)
			}
		})
	}
}

// Bodies with status 200: what passes, with what payment, and what is no answer.
func TestAnswers(t *testing.T) {
	block := filled(eth.Fulu, 0, 0)
	promised := block.ValueWei.Dec()
	more := new(uint256.Int).AddUint64(block.ValueWei, 5)
	for body, paid := range map[string]string{
		`{"jsonrpc":"2.0","id":1,"result":null}`:                               promised,
		`{"jsonrpc":"2.0","id":1,"result":null,"error":null}`:                  promised,
		`{"id":1,"result":{}}`:                                                 promised,
		`{"id":1,"result":""}`:                                                 promised,
		`{"id":1,"result":true}`:                                               promised,
		`{"id":1,"result":{"block_value":null}}`:                               promised,
		`{"id":1,"result":{"block_value":"1"}}`:                                promised,
		fmt.Sprintf(`{"id":1,"result":{"block_value":"%s"}}`, more.Dec()):      more.Dec(),
		fmt.Sprintf(`{"id":1,"result":{"block_value":"%s"}}`, more.Hex()):      more.Dec(),
		fmt.Sprintf(`{"id":1,"result":{"block_value":%s,"x":[]}}`, more.Dec()): more.Dec(),
		`{}`:                                   "",
		``:                                     "",
		`null`:                                 "",
		`[]`:                                   "",
		`<html>`:                               "",
		`{"result":{}} and more`:               "",
		`{"error":"text"}`:                     "",
		`{"error":{"code":"x","message":"y"}}`: "",
		`{"result":{"block_value":"many"}}`:    "",
		`{"result":{"block_value":-1}}`:        "",
	} {
		got := read([]byte(body), block)
		switch {
		case paid == "" && (got.verdict.Class != exec.Infrastructure || got.standing != broken ||
			got.verdict.Rule != exec.RuleUnavailable):
			t.Errorf("%s: %+v", body, got)
		case paid != "" && (got.verdict.Class != exec.Valid || got.standing != judging || got.verdict.PaidWei.Dec() != paid):
			t.Errorf("%s: %+v, want %s", body, got, paid)
		}
	}
}

func TestDetailsAreBounded(t *testing.T) {
	for _, text := range []string{strings.Repeat("é", 1000), "x" + strings.Repeat("é", 1000), "\xff\xfe", ""} {
		if got := truncate(text); len(got) > maxDetail+len("…") || !utf8.ValidString(got) {
			t.Errorf("%d bytes: %q", len(got), got)
		}
	}
}

// Whatever a node answers, there is a verdict with a rule exactly if it is not Valid, and a payment
// of at least the promise if it is.
func FuzzRead(f *testing.F) {
	f.Add(`{"result":{"block_value":"0x12"}}`)
	f.Add(`{"error":{"code":-32000,"message":"payment: no"}}`)
	f.Add(`{"error":{"code":-32602,"message":""}}`)
	block := filled(eth.Fulu, 0, 0)
	f.Fuzz(func(t *testing.T, body string) {
		got := read([]byte(body), block)
		if (got.verdict.Class == exec.Valid) != (got.verdict.Rule == "") || got.standing == unknownStanding {
			t.Errorf("%+v", got)
		}
		if got.verdict.Class == exec.Valid && (!json.Valid([]byte(body)) || got.verdict.PaidWei.Lt(block.ValueWei)) {
			t.Errorf("%+v", got)
		}
	})
}
