package vectors

import (
	"crypto/ecdsa"
	"encoding/hex"
	"fmt"
	"math/big"
	"strings"

	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/crypto"

	"github.com/gavel-relay/gavel/conformance/probe"
	"github.com/gavel-relay/gavel/devnet/network"
)

// Signatures is a file of requests with the header X-Flashbots-Signature.
type Signatures struct {
	Schema string `json:"$schema"`
	Suite  string `json:"suite"`
	// SecretKey is that of all right signatures, so that a consumer can sign too. Address is its own.
	SecretKey string          `json:"secretKey"`
	Address   string          `json:"address"`
	Cases     []SignatureCase `json:"cases"`
}

// SignatureCase is one request.
type SignatureCase struct {
	Name string `json:"name"`
	Says string `json:"says"`
	// Body is the request's body as UTF-8, byte for byte.
	Body string `json:"body"`
	// BodyHash is the Keccak-256 of the body.
	BodyHash string `json:"bodyHash"`
	// Headers are the names and values of the signature headers, in their order.
	Headers [][2]string `json:"headers"`
	Verdict string      `json:"verdict"`
	Refusal string      `json:"refusal,omitempty"`
	Clauses []string    `json:"clauses,omitempty"`
}

// half of the order of secp256k1: s may not be above it (EIP-2).
var secp256k1Order, _ = new(big.Int).SetString("fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141", 16)

func writeSignatures(out *folder, seed uint64) error {
	key := wallet(seed, "searcher")
	file := Signatures{
		Schema: schemaOf(3, "signatures"), Suite: "rpc/signatures", SecretKey: hexOf(crypto.FromECDSA(key)),
		Address: addressText(network.Address(key)),
	}
	file.Cases = append(goodSignatures(key), badSignatures(key, wallet(seed, "other searcher"))...)
	return out.document(file.Suite+"/cases.json", "signatures", file.Suite, len(file.Cases), file)
}

const (
	signatureBody   = `{"jsonrpc":"2.0","id":1,"method":"flashbots_getUserStatsV2","params":[{"blockNumber":"0x65"}]}`
	signatureHeader = "X-Flashbots-Signature"
)

// makeSigned makes a case with one header.
func makeSigned(name, says, body, header, refusal string, clauses ...string) SignatureCase {
	c := SignatureCase{
		Name: name, Says: says, Body: body, BodyHash: hexOf(crypto.Keccak256([]byte(body))), Verdict: "accepted",
		Headers: [][2]string{{signatureHeader, header}}, Clauses: clauses,
	}
	if refusal != "" {
		c.Verdict, c.Refusal = "refused", refusal
	}
	return c
}

func goodSignatures(key *ecdsa.PrivateKey) []SignatureCase {
	header := probe.BodySignature(key, []byte(signatureBody))
	high := header[:len(header)-2] + fmt.Sprintf("%02x", lastByte(header)+27)
	beyond := `{"jsonrpc":"2.0","id":"größer ✓","method":"eth_sendBundle","params":[]}`
	twice := makeSigned("twice-same", "The header comes twice with one value.", signatureBody, header, "")
	twice.Headers = append(twice.Headers, twice.Headers[0])
	neutral := makeSigned("vendor-name", "The header has its neutral name.", signatureBody, header, "", "RPC-AUT-15")
	neutral.Headers[0][0] = "X-Vendor-Signature"
	return []SignatureCase{
		makeSigned("right", "The personal message is the text 0x… of the body's Keccak-256; v is 0 or 1.", signatureBody,
			header,
			"", "RPC-AUT-02", "RPC-AUT-07"),
		makeSigned("right-v27", "v is 27 or 28.", signatureBody, high, "", "RPC-AUT-07"),
		makeSigned("lower-case", "The address is in lower case.", signatureBody, strings.ToLower(header), "", "RPC-AUT-11"),
		makeSigned("beyond-ascii", "The body has characters beyond ASCII.", beyond, probe.BodySignature(key,
			[]byte(beyond)), "",
			"RPC-AUT-18"),
		makeSigned("no-json", "The body is no JSON: the signature is of its bytes, whatever they say.", "{",
			probe.BodySignature(key, []byte("{")), ""),
		twice, neutral,
	}
}

// lastByte is the v of a header.
func lastByte(header string) byte {
	raw := hexutil.MustDecode("0x" + header[len(header)-2:])
	return raw[0]
}

func badSignatures(key, other *ecdsa.PrivateKey) []SignatureCase {
	const mismatch, malformed, body = "signature-mismatch", "signature-malformed", signatureBody
	header := probe.BodySignature(key, []byte(body))
	address, signature, _ := strings.Cut(header, ":")
	hash := crypto.Keccak256([]byte(body))
	stolen := address + ":" + strings.SplitN(probe.BodySignature(other, []byte(body)), ":", 2)[1]
	none := makeSigned("missing", "There is no header.", body, "", "signature-missing", "RPC-AUT-01")
	none.Headers = [][2]string{}
	differ := makeSigned("twice-different", "The header comes twice with different values.", body, header, malformed,
		"RPC-AUT-19")
	differ.Headers = append(differ.Headers, [2]string{signatureHeader, probe.BodySignature(other, []byte(body))})
	names := makeSigned("names-different", "Two names of the header have different values.", body, header, malformed,
		"RPC-AUT-19")
	names.Headers = append(names.Headers, [2]string{"X-Vendor-Signature", probe.BodySignature(other, []byte(body))})
	return []SignatureCase{
		none, differ, names,
		makeSigned("empty", "The header is empty.", body, "", "signature-missing", "RPC-AUT-01"),
		makeSigned("other-body", "The signature is of another body.", body, probe.BodySignature(key, []byte("{}")), mismatch,
			"RPC-AUT-03"),
		makeSigned("blank-more", "A blank was added to the body after signing.", body+" ", header, mismatch, "RPC-AUT-14"),
		makeSigned("other-key", "Another key signed than the address says.", body, stolen, mismatch, "RPC-AUT-04"),
		makeSigned("of-body", "The body itself was signed as a personal message.", body, probe.SignatureOf(key, []byte(body)),
			mismatch, "RPC-AUT-05"),
		makeSigned("of-raw-hash", "The 32 bytes of the hash were signed.", body, probe.SignatureOf(key, hash), mismatch,
			"RPC-AUT-06"),
		makeSigned("of-hash-without-0x", "The hash was signed as text without 0x.", body,
			probe.SignatureOf(key, []byte(hex.EncodeToString(hash))), mismatch),
		makeSigned("of-hash-in-capitals", "The hash was signed as text in capitals.", body,
			probe.SignatureOf(key, []byte("0x"+strings.ToUpper(hex.EncodeToString(hash)))), mismatch),
		makeSigned("v-other", "v is 2.", body, header[:len(header)-2]+"02", malformed, "RPC-AUT-08"),
		makeSigned("v-29", "v is 29.", body, header[:len(header)-2]+"1d", malformed, "RPC-AUT-08"),
		makeSigned("s-high", "s is above half of the curve's order.", body, address+":"+highS(signature), malformed,
			"RPC-AUT-09"),
		makeSigned("no-colon", "Address and signature have no colon between them.", body, address+signature, malformed,
			"RPC-AUT-10"),
		makeSigned("address-short", "The address has 19 bytes.", body, address[:len(address)-2]+":"+signature, malformed,
			"RPC-AUT-10"),
		makeSigned("signature-short", "The signature has 64 bytes.", body, header[:len(header)-2], malformed, "RPC-AUT-10"),
		makeSigned("signature-long", "The signature has 66 bytes.", body, header+"00", malformed, "RPC-AUT-10"),
		makeSigned("signature-no-hex", "The signature is no hexadecimal text.", body, address+":0x"+strings.Repeat("zz", 65),
			malformed, "RPC-AUT-10"),
	}
}

// highS returns the other signature of the same message by the same key, whose s is high.
func highS(signature string) string {
	raw := hexutil.MustDecode(signature)
	s := new(big.Int).Sub(secp256k1Order, new(big.Int).SetBytes(raw[32:64]))
	s.FillBytes(raw[32:64])
	raw[64] ^= 1
	return hexutil.Encode(raw)
}
