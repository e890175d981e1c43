package probe

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"

	"github.com/ethereum/go-ethereum/crypto"
)

// SignatureHeader is the header that deployed services read; the neutral name is
// X-Vendor-Signature.
const SignatureHeader = "X-Flashbots-Signature"

// BodySignature returns the header's value for a body: the address, and a signature over a personal
// message (EIP-191). The message is the text of the body's Keccak-256 in hexadecimal with 0x.
func BodySignature(key *ecdsa.PrivateKey, body []byte) string {
	return SignatureOf(key, fmt.Appendf(nil, "%#x", crypto.Keccak256(body)))
}

// SignatureOf signs any text as a personal message (EIP-191), and puts the key's address before it.
func SignatureOf(key *ecdsa.PrivateKey, text []byte) string {
	digest := crypto.Keccak256([]byte("\x19Ethereum Signed Message:\n"+strconv.Itoa(len(text))), text)
	signature, err := crypto.Sign(digest, key)
	if err != nil {
		panic(fmt.Sprintf("sign 32 bytes: %v", err)) // cannot fail with a key of this curve
	}
	return fmt.Sprintf("%s:%#x", crypto.PubkeyToAddress(key.PublicKey), signature)
}

// Call is one JSON-RPC request. If ID is nil, it is sent without an id.
type Call struct {
	Method string
	Params any
	ID     any
}

// Body returns the request as it is sent.
func (c Call) Body() []byte {
	document := map[string]any{"jsonrpc": "2.0", "method": c.Method, "params": c.Params}
	if c.ID != nil {
		document["id"] = c.ID
	}
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(document); err != nil {
		panic(fmt.Sprintf("encode a request: %v", err)) // specs only use values that can be encoded
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// RPCAnswer is the answer to one call.
type RPCAnswer struct {
	*Answer
	// Members are the members of the answer's object; nil if the body is no object.
	Members map[string]json.RawMessage
}

// Refused says whether the answer is a refusal: a status of 400 or above, or an error member that
// is not null.
func (a *RPCAnswer) Refused() bool {
	raw, found := a.Members["error"]
	return a.Status >= 400 || found && string(raw) != "null"
}

// Code returns the code of a JSON-RPC error; 0 if there is none.
func (a *RPCAnswer) Code() int {
	var e struct {
		Code int `json:"code"`
	}
	if json.Unmarshal(a.Members["error"], &e) != nil {
		return 0
	}
	return e.Code
}

// Result decodes the answer's result. It returns an error if there is none.
func (a *RPCAnswer) Result(into any) error {
	raw, found := a.Members["result"]
	if !found {
		return fmt.Errorf("there is no result: %s", a)
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return fmt.Errorf("the result is not what it should be (%w): %.200s", err, raw)
	}
	return nil
}

// Call signs a call and sends it to the base address. If key is nil, the call is sent without a
// signature.
func (c *Client) Call(ctx context.Context, key *ecdsa.PrivateKey, call Call) (*RPCAnswer, error) {
	body := call.Body()
	header := map[string]string{"Content-Type": "application/json"}
	if key != nil {
		header[SignatureHeader] = BodySignature(key, body)
	}
	return c.Post(ctx, header, body)
}

// Post sends any body to the base address.
func (c *Client) Post(ctx context.Context, header map[string]string, body []byte) (*RPCAnswer, error) {
	answer, err := c.Do(ctx, Request{Method: http.MethodPost, Path: "/", Header: header, Body: body})
	if err != nil {
		return nil, err
	}
	return ReadRPC(answer), nil
}

// ReadRPC reads an answer as JSON-RPC.
func ReadRPC(answer *Answer) *RPCAnswer {
	result := &RPCAnswer{Answer: answer}
	if json.Unmarshal(answer.Body, &result.Members) != nil {
		result.Members = nil
	}
	return result
}
