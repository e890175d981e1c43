package rpc

import (
	"context"
	"crypto/ecdsa"
	"encoding/json"
	"fmt"
	"math/big"
	"net/http"
	"strings"

	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/crypto"

	"github.com/gavel-relay/gavel/conformance/probe"
	"github.com/gavel-relay/gavel/conformance/suite"
)

// postSigned posts a body with the given value of the signature header.
func postSigned(t *suite.T, body []byte, value string) *probe.RPCAnswer {
	answer, err := client(t).Post(t, map[string]string{"Content-Type": "application/json", probe.SignatureHeader: value},
		body)
	t.Check(err == nil, "an answer", err)
	return answer
}

// checkAccepted fails the spec unless the call succeeded.
func checkAccepted(t *suite.T, answer *probe.RPCAnswer) {
	var any json.RawMessage
	readResult(t, answer, &any)
}

// splitSignature splits a value of the signature header into the address and the signature.
func splitSignature(value string) (address string, signature []byte) {
	address, text, _ := strings.Cut(value, ":")
	return address, hexutil.MustDecode(text)
}

// methods are methods that the interface description names.
var methods = []string{
	"eth_sendBundle", "mev_sendBundle", "eth_callBundle", "mev_simBundle", "eth_cancelBundle",
	"eth_sendPrivateTransaction",
	"eth_sendPrivateRawTransaction", "eth_cancelPrivateTransaction", "flashbots_getFeeRefundTotalsByRecipient",
	"flashbots_getFeeRefundsByRecipient",
	"flashbots_getFeeRefundsByBundle", "flashbots_getFeeRefundsByBlock", "flashbots_setFeeRefundRecipient",
	"buildernet_getDelayedRefunds",
	"buildernet_getDelayedRefundTotalsByRecipient",
}

// describeAuthentication adds specs about the signature header.
func describeAuthentication(s *suite.Set) {
	s.It("RPC-AUT-01", "refuses a request without the header", func(t *suite.T) {
		checkAccepted(t, postSigned(t, harmlessBody(t), probe.BodySignature(key(t), harmlessBody(t))))
		checkRefused(t, postSigned(t, harmlessBody(t), ""))
	})
	s.It("RPC-AUT-02", "takes the signature of the hash's hex text", func(t *suite.T) {
		checkAccepted(t, postSigned(t, harmlessBody(t), probe.BodySignature(key(t), harmlessBody(t))))
	})
	s.It("RPC-AUT-02", "takes the signature of a body of 100,000 bytes", func(t *suite.T) {
		body := []byte(string(harmlessBody(t)) + strings.Repeat(" ", 100_000))
		checkAccepted(t, postSigned(t, body, probe.BodySignature(key(t), body)))
	})
	s.It("RPC-AUT-03", "refuses the signature of a body that was sent before", func(t *suite.T) {
		good := probe.BodySignature(key(t), harmlessBody(t))
		checkAccepted(t, postSigned(t, harmlessBody(t), good))
		checkRefused(t, postSigned(t, harmlessCall(t, 2).Body(), good))
	})
	s.It("RPC-AUT-03", "refuses the signature of another body", func(t *suite.T) {
		checkAccepted(t, postSigned(t, harmlessBody(t), probe.BodySignature(key(t), harmlessBody(t))))
		checkRefused(t, postSigned(t, harmlessBody(t), probe.BodySignature(key(t), []byte("another body"))))
	})
	s.It("RPC-AUT-04", "refuses the signature of another key than the address's", func(t *suite.T) {
		checkAccepted(t, postSigned(t, harmlessBody(t), probe.BodySignature(key(t), harmlessBody(t))))
		_, signature := splitSignature(probe.BodySignature(key(t), harmlessBody(t)))
		checkRefused(t, postSigned(t, harmlessBody(t), fmt.Sprintf("%s:%#x", crypto.PubkeyToAddress(key(t).PublicKey),
			signature)))
	})
	s.It("RPC-AUT-04", "refuses an address that differs in one byte", func(t *suite.T) {
		good := probe.BodySignature(key(t), harmlessBody(t))
		checkAccepted(t, postSigned(t, harmlessBody(t), good))
		text, signature := splitSignature(good)
		for _, at := range []int{0, 10, 19} {
			address := hexutil.MustDecode(text)
			address[at] ^= 1
			checkRefused(t, postSigned(t, harmlessBody(t), fmt.Sprintf("%#x:%#x", address, signature)))
		}
	})
	s.It("RPC-AUT-05", "refuses the signature of the body itself", func(t *suite.T) {
		checkAccepted(t, postSigned(t, harmlessBody(t), probe.BodySignature(key(t), harmlessBody(t))))
		checkRefused(t, postSigned(t, harmlessBody(t), probe.SignatureOf(key(t), harmlessBody(t))))
	})
	s.It("RPC-AUT-06", "refuses the signature of the raw hash", func(t *suite.T) {
		checkAccepted(t, postSigned(t, harmlessBody(t), probe.BodySignature(key(t), harmlessBody(t))))
		checkRefused(t, postSigned(t, harmlessBody(t), probe.SignatureOf(key(t), crypto.Keccak256(harmlessBody(t)))))
	})
	for _, v := range []byte{0, 27} {
		s.It("RPC-AUT-07", fmt.Sprintf("takes v from %d", v), func(t *suite.T) {
			address, signature := splitSignature(probe.BodySignature(key(t), harmlessBody(t)))
			signature[64] += v
			checkAccepted(t, postSigned(t, harmlessBody(t), fmt.Sprintf("%s:%#x", address, signature)))
		})
	}
	for _, v := range []byte{2, 26, 29, 255} {
		s.It("RPC-AUT-08", fmt.Sprintf("refuses v of %d", v), func(t *suite.T) {
			checkAccepted(t, postSigned(t, harmlessBody(t), probe.BodySignature(key(t), harmlessBody(t))))
			address, signature := splitSignature(probe.BodySignature(key(t), harmlessBody(t)))
			signature[64] = v
			checkRefused(t, postSigned(t, harmlessBody(t), fmt.Sprintf("%s:%#x", address, signature)))
		})
	}
	s.It("RPC-AUT-09", "refuses high s", func(t *suite.T) {
		checkAccepted(t, postSigned(t, harmlessBody(t), probe.BodySignature(key(t), harmlessBody(t))))
		address, signature := splitSignature(probe.BodySignature(key(t), harmlessBody(t)))
		high := new(big.Int).Sub(crypto.S256().Params().N, new(big.Int).SetBytes(signature[32:64]))
		high.FillBytes(signature[32:64])
		signature[64] ^= 1
		checkRefused(t, postSigned(t, harmlessBody(t), fmt.Sprintf("%s:%#x", address, signature)))
	})
	s.It("RPC-AUT-10", "refuses other header values", func(t *suite.T) {
		checkAccepted(t, postSigned(t, harmlessBody(t), probe.BodySignature(key(t), harmlessBody(t))))
		good := probe.BodySignature(key(t), harmlessBody(t))
		address, signature := splitSignature(good)
		for _, value := range []string{
			"x", ":", address, address + ":", address + ":0x", address + ":0x1234", ":" + hexutil.Encode(signature),
			strings.Replace(good, ":", " ", 1), good + ":x", good + "00",
			good[2:4] + ":" + hexutil.Encode(signature), address + ":" + hexutil.Encode(signature[:64]), "0x" +
				strings.Repeat("z", 40) + ":" + hexutil.Encode(signature),
		} {
			checkRefused(t, postSigned(t, harmlessBody(t), value))
		}
	})
	s.It("RPC-AUT-11", "takes the address in lower case", func(t *suite.T) {
		checkAccepted(t, postSigned(t, harmlessBody(t), strings.ToLower(probe.BodySignature(key(t), harmlessBody(t)))))
	})
	s.It("RPC-AUT-12", "takes any key", func(t *suite.T) {
		for range 24 { // a server that refuses a quarter of all keys passes once in a thousand runs
			checkAccepted(t, postSigned(t, harmlessBody(t), probe.BodySignature(key(t), harmlessBody(t))))
		}
	})
	for _, method := range methods {
		s.It("RPC-AUT-13", "refuses "+method+" without a signature", func(t *suite.T) {
			call(t, key(t), method) // ends the spec if the method is not known; the parameters may be refused
			answer := postSigned(t, probe.Call{Method: method, Params: []any{}, ID: 1}.Body(), "")
			checkRefused(t, answer)
			t.Check(answer.Code() != -32601 && answer.Code() != -32602, "a refusal for the signature and not for the parameters",
				answer)
		})
	}
	for _, method := range methods {
		neutral := neutralNames.Replace(method)
		if neutral == method {
			continue
		}
		s.It("RPC-AUT-13", "refuses "+neutral+" without a signature, if it is known", func(t *suite.T) {
			if isUnknownMethod(tryCall(t, key(t), neutral)) {
				return
			}
			answer := postSigned(t, probe.Call{Method: neutral, Params: []any{}, ID: 1}.Body(), "")
			checkRefused(t, answer)
			t.Check(answer.Code() != -32602, "a refusal for the signature and not for the parameters", answer)
		})
	}
	s.It("RPC-AUT-14", "refuses a body with another blank", func(t *suite.T) {
		checkAccepted(t, postSigned(t, harmlessBody(t), probe.BodySignature(key(t), harmlessBody(t))))
		body := harmlessBody(t)
		for _, changed := range []string{" " + string(body), string(body) + " ", string(body) + "\n"} {
			checkRefused(t, postSigned(t, []byte(changed), probe.BodySignature(key(t), body)))
		}
	})
	s.It("RPC-AUT-15", "takes X-Vendor-Signature", func(t *suite.T) {
		answer, err := client(t).Post(t, map[string]string{
			"Content-Type": "application/json", "X-Vendor-Signature": probe.BodySignature(key(t), harmlessBody(t)),
		}, harmlessBody(t))
		t.Check(err == nil, "an answer", err)
		if answer.Refused() {
			t.Unsupported("the neutral name is not known: %s", answer)
		}
		checkAccepted(t, answer)
	})
	s.It("RPC-AUT-16", "refuses with 403 or a JSON-RPC error", func(t *suite.T) {
		checkAccepted(t, postSigned(t, harmlessBody(t), probe.BodySignature(key(t), harmlessBody(t))))
		answer := postSigned(t, harmlessBody(t), "")
		t.Status(answer.Answer, http.StatusForbidden, http.StatusOK, http.StatusUnauthorized, http.StatusBadRequest)
		t.Check(answer.Members["error"] != nil, "an error member", answer)
	})
	s.It("RPC-AUT-17", "answers a signer's statistics", func(t *suite.T) {
		var params []any
		if t.World != nil { // some services need the number of a block near the newest one
			params = append(params, object{"blockNumber": hexNumber(head(t))})
		}
		answer := call(t, key(t), "flashbots_getUserStatsV2", params...)
		if answer.Refused() && (answer.Code() == -32601 || t.World == nil) {
			t.Unsupported("no statistics: %s", answer)
		}
		var members object
		readResult(t, answer, &members)
		t.Check(len(members) > 0, "an object", answer)
	})
	s.It("RPC-AUT-18", "takes the signature of UTF-8", func(t *suite.T) {
		answer, err := client(t).Call(t, key(t), harmlessCall(t, "é✓𝄞"))
		t.Check(err == nil && !answer.Refused(), "a result", answer)
		var id string
		t.Check(json.Unmarshal(answer.Members["id"], &id) == nil && id == "é✓𝄞", "the id é✓𝄞", string(answer.Members["id"]))
	})
	s.It("RPC-AUT-19", "refuses two headers that differ", func(t *suite.T) {
		checkAccepted(t, postSigned(t, harmlessBody(t), probe.BodySignature(key(t), harmlessBody(t))))
		checkRefused(t, callSignedTwice(t, probe.SignatureHeader, key(t), key(t)))
	})
	s.It("RPC-AUT-19", "refuses two headers of different names that differ, if it knows both", func(t *suite.T) {
		k := key(t)
		if callSignedTwice(t, "X-Vendor-Signature", nil, k).Refused() {
			return
		}
		checkAccepted(t, callSignedTwice(t, "X-Vendor-Signature", k, k))
		checkRefused(t, callSignedTwice(t, "X-Vendor-Signature", k, key(t)))
	})
}

// neutralNames makes the description's own names of methods.
var neutralNames = strings.NewReplacer("flashbots_", "vendor_", "buildernet_", "pool_")

// callSignedTwice sends a harmless call with two signature headers; the second one has the given
// name. A header without a key is left out.
func callSignedTwice(t *suite.T, second string, one, other *ecdsa.PrivateKey) *probe.RPCAnswer {
	request, err := http.NewRequestWithContext(context.Context(t), http.MethodPost, t.Target.RPC.URL,
		strings.NewReader(string(harmlessBody(t))))
	t.Ready(err, "make a request")
	request.Header.Set("Content-Type", "application/json")
	if one != nil {
		request.Header.Add(probe.SignatureHeader, probe.BodySignature(one, harmlessBody(t)))
	}
	request.Header.Add(second, probe.BodySignature(other, harmlessBody(t)))
	answer, err := client(t).Send(request, harmlessBody(t))
	t.Check(err == nil, "an answer", err)
	return probe.ReadRPC(answer)
}

// describeVersions adds specs about neutral names and versions of methods.
func describeVersions(s *suite.Set) {
	for _, row := range []struct {
		clause, method string
		params         any
	}{
		{"RPC-VER-01", "vendor_getFeeRefundTotalsByRecipient", sink.Hex()},
		{"RPC-VER-02", "pool_getDelayedRefundTotalsByRecipient", object{"recipient": sink.Hex()}},
	} {
		s.It(row.clause, "knows "+row.method, func(t *suite.T) {
			known := call(t, key(t), row.method, row.params)
			if known.Code() == -32601 {
				t.Unsupported("the neutral name is not known")
			}
			var members map[string]json.RawMessage
			readResult(t, known, &members)
			readQuantity(t, members, "pending")
		})
	}
	s.It("RPC-VER-03", "knows all methods", func(t *suite.T) {
		for _, method := range methods {
			answer := tryCall(t, key(t), method)
			t.Check(answer.Members != nil && answer.Code() != -32601, method+" to be known", answer)
		}
	})
}
