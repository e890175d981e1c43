package app

import (
	"bytes"
	"crypto/ecdsa"
	"encoding/json"
	"io"
	"net/http"
	"strings"

	"github.com/ethereum/go-ethereum/common/hexutil"

	"github.com/gavel-relay/gavel/rpc"
	"github.com/gavel-relay/gavel/rpc/jsonrpc"
)

// answer is a JSON-RPC answer.
type answer struct {
	Status int
	Result json.RawMessage `json:"result"`
	Error  *answerError    `json:"error"`
}

type answerError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

// call sends a signed request.
func (s *service) call(key *ecdsa.PrivateKey, method string, params ...any) answer {
	s.Helper()
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
	if err != nil {
		s.Fatal(err)
	}
	r, err := http.NewRequestWithContext(s.Context(), http.MethodPost, s.url, bytes.NewReader(body))
	if err != nil {
		s.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-Flashbots-Signature", jsonrpc.SignatureHeader(key, body))
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		s.Fatal(err)
	}
	defer response.Body.Close()
	raw, err := io.ReadAll(response.Body)
	if err != nil {
		s.Fatal(err)
	}
	got := answer{Status: response.StatusCode}
	if err := json.Unmarshal(raw, &got); err == nil {
		return got
	}
	var legacy struct{ Error string } // the dialect of --literal
	if err := json.Unmarshal(raw, &legacy); err != nil {
		s.Fatalf("%s: %v: %s", method, err, raw)
	}
	got.Error = &answerError{Message: legacy.Error}
	return got
}

// want calls and reads the result, which must be one.
func (s *service) want(into any, key *ecdsa.PrivateKey, method string, params ...any) {
	s.Helper()
	got := s.call(key, method, params...)
	if got.Error != nil {
		s.Fatalf("%s: %d %s", method, got.Error.Code, got.Error.Message)
	}
	if err := json.Unmarshal(got.Result, into); err != nil {
		s.Fatalf("%s: %v: %s", method, err, got.Result)
	}
}

// refused calls and wants an error that begins so.
func (s *service) refused(refusal rpc.Refusal, key *ecdsa.PrivateKey, method string, params ...any) {
	s.Helper()
	got := s.call(key, method, params...)
	if got.Error == nil || got.Error.Code != jsonrpc.Forms[refusal.ID].Code && got.Error.Code != 0 ||
		!strings.HasPrefix(got.Error.Message, refusal.Short) {
		s.Errorf("%s: %+v %s, want %d %s", method, got.Error, got.Result, jsonrpc.Forms[refusal.ID].Code, refusal.Short)
	}
}

func hexNumber(n uint64) string { return hexutil.EncodeUint64(n) }
