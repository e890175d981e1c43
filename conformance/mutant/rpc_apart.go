package mutant

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/ethereum/go-ethereum/accounts"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/crypto"

	"github.com/gavel-relay/gavel/conformance/probe"
)

// headerForm is the form of the signature header's value.
var headerForm = regexp.MustCompile(`^0x[0-9a-fA-F]{40}:0x[0-9a-fA-F]{130}$`)

const noCall = `{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"no"}}`

// rpcApartMutants returns the mutants that must know more of a call than its parameters: how it is
// signed, what came before it, or what the target says to it.
func rpcApartMutants() []Mutant {
	return []Mutant{
		{"rpc-signature-is-one-of-body-itself", "rpc", "a signature is one of the body itself", []string{"RPC-AUT-02"},
			asks("/", func(e *Exchange) bool {
				address, text, _ := strings.Cut(e.Request.Header.Get(probe.SignatureHeader), ":")
				signature, err := hexutil.Decode(text)
				if err == nil && len(signature) == 65 && signature[64] < 2 {
					key, err := crypto.SigToPub(accounts.TextHash(e.Asked), signature)
					if err == nil && strings.EqualFold(crypto.PubkeyToAddress(*key).Hex(), address) {
						e.signAsImpostor()
						return false
					}
				}
				return e.say(http.StatusForbidden, jsonType, noCall)
			})},
		{"rpc-header-of-another-form-will-do", "rpc", "a header of another form will do", []string{"RPC-AUT-10"}, asks("/",
			func(e *Exchange) bool {
				if value := e.Request.Header.Get(probe.SignatureHeader); value != "" && !headerForm.MatchString(value) {
					e.signAsImpostor()
				}
				return false
			})},
		{"rpc-characters-beyond-ascii-break-signature", "rpc", "characters beyond ASCII break a signature",
			[]string{"RPC-AUT-18"},
			asks("/", func(e *Exchange) bool {
				return slices.ContainsFunc(e.Asked, func(b byte) bool { return b >= 0x80 }) &&
					e.say(http.StatusForbidden, jsonType, noCall)
			})},
		{"rpc-of-two-signature-headers-first-counts", "rpc", "of two signature headers the first counts",
			[]string{"RPC-AUT-19"}, asks("/", func(e *Exchange) bool {
				if values := e.Request.Header.Values(probe.SignatureHeader); len(values) > 1 {
					e.Request.Header.Set(probe.SignatureHeader, values[0])
				}
				return false
			})},
		{"rpc-anybody-says-where-refunds-of-others-go", "rpc", "anybody says where refunds of others go",
			[]string{"RPC-SET-02"}, asks("/", func(e *Exchange) bool {
				var call struct {
					Params []string `json:"params"`
				}
				address, _, _ := strings.Cut(e.Request.Header.Get(probe.SignatureHeader), ":")
				return e.Method == "flashbots_setFeeRefundRecipient" && json.Unmarshal(e.Asked, &call) == nil &&
					len(call.Params) == 2 && !strings.EqualFold(call.Params[0], address) && e.say(http.StatusOK, jsonType,
					fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"result":{"from":"%s","to":"%s"}}`, call.Params[0], call.Params[1]))
			})},
		{"rpc-what-was-sent-cannot-be-cancelled", "rpc", "what was sent cannot be cancelled", []string{"RPC-CAN-01"},
			func() Fault {
				var sent []any
				return Fault{Ask: func(e *Exchange) bool {
					id := e.param()["replacementUuid"]
					if e.Method == "eth_sendBundle" && id != nil {
						sent = append(sent, id)
					}
					return e.Method == "eth_cancelBundle" && slices.Contains(sent, id) && e.say(http.StatusOK, jsonType, noCall)
				}}
			}},
		{"rpc-what-was-sent-cannot-be-simulated", "rpc", "what was sent cannot be simulated", []string{"RPC-SIM-23"},
			func() Fault {
				sent := map[string]bool{}
				return Fault{Ask: func(e *Exchange) bool {
					body, err := json.Marshal(e.param()["body"])
					if e.Method == "mev_sendBundle" {
						sent[string(body)] = true
					}
					return err == nil && e.Method == "mev_simBundle" && sent[string(body)] && e.say(http.StatusOK, jsonType, noCall)
				}}
			}},
		{"rpc-any-hash-can-be-followed", "rpc", "any hash can be followed", []string{"RPC-SHR-12"}, answers("/",
			func(e *Exchange) {
				if e.Method == "mev_sendBundle" && follows(e.param()) && strings.Contains(string(e.Body), `"error"`) {
					e.say(http.StatusOK, jsonType, `{"jsonrpc":"2.0","id":1,"result":`+noBundle+`}`)
				}
			})},
	}
}
