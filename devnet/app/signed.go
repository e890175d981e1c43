package app

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"fmt"
	"io"
	"net/http"

	"github.com/ethereum/go-ethereum/accounts"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/rpc"
)

// Dial returns a client whose requests are signed with a key. It connects at the first request.
func Dial(ctx context.Context, url string, key *ecdsa.PrivateKey) (*rpc.Client, error) {
	client, err := rpc.DialOptions(ctx, url, rpc.WithHTTPClient(&http.Client{Transport: transport{key}}))
	if err != nil {
		return nil, fmt.Errorf("dial %s: %w", url, err)
	}
	return client, nil
}

// transport signs the requests that it sends.
type transport struct{ key *ecdsa.PrivateKey }

// RoundTrip implements http.RoundTripper.
func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, fmt.Errorf("read the request: %w", err)
	}
	if err := r.Body.Close(); err != nil {
		return nil, fmt.Errorf("read the request: %w", err)
	}
	header, err := Header(t.key, body)
	if err != nil {
		return nil, err
	}
	signed := r.Clone(r.Context())
	signed.Body = io.NopCloser(bytes.NewReader(body))
	signed.Header.Set("X-Flashbots-Signature", header)
	return http.DefaultTransport.RoundTrip(signed)
}

// Header returns the signature header of a body: the key's address, and a signature of the personal
// message (EIP-191) that is the hex text of the body's Keccak-256 hash.
func Header(key *ecdsa.PrivateKey, body []byte) (string, error) {
	signature, err := crypto.Sign(accounts.TextHash([]byte(crypto.Keccak256Hash(body).Hex())), key)
	if err != nil {
		return "", fmt.Errorf("sign the request: %w", err)
	}
	return crypto.PubkeyToAddress(key.PublicKey).Hex() + ":" + hexutil.Encode(signature), nil
}
