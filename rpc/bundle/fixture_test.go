package bundle

import (
	"crypto/ecdsa"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/crypto/kzg4844"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/rpc"
)

// Three published mainnet transactions (docs/spec.md, Bundle hash 4): A of one sender, B and C of
// another.
const (
	rawA = "0x02f86b0180843b9aca00852ecc889a0082520894c87037874aed04e51c29f582394217a0a2b89d808080c080a0a463985c616dd8e" +
		"e17d7ef9112af4e6e06a27b07" +
		"1525b42182fe7b0b5c8b4925a00af5ca177ffef2ff28449292505d41be578bebb77110dfc09361d2fb56998260"
	rawB = "0x02f8730180843b9aca00852ecc889a008288b894c10000000000000000000000000000000000000088016345785d8a000080c001a" +
		"07c8890151fed9a826f241d5a37c8" +
		"4062ebc55ca7f5caef4683dcda6ac99dbffba069108de72e4051a764f69c51a6b718afeff4299107963a5d84d5207b2d6932a4"
	rawC = "0x02f8730101843b9aca00852ecc889a008288b894c10000000000000000000000000000000000000088016345785d8a000080c001a" +
		"0650c394d77981e46be3d8cf766ec" +
		"c435ec3706375baed06eb9bef21f9da2828da064965fdf88b91575cd74f20301649c9d011b234cefb6c1761cc5dd579e4750b1"
)

var (
	hashA  = common.HexToHash("0xec5dd7d793a20885a822169df4030d92fbc8d3ac5bd9eaa190b82196ea2858da")
	hashB  = common.HexToHash("0xba8dd77f4e9cf3c833399dc7f25408bb35fee78787a039e0ce3c80b04c537a71")
	hashC  = common.HexToHash("0xe8953f516797ef26566c705be13c7cc77dd0f557c734b8278fac091f13b0d46a")
	hashAB = common.HexToHash("0xaea81b2ade05a68bc49abc821be36061fff982a311e1648a84df591a7c43740d")

	senderA   = common.HexToAddress("0xC87037874aed04e51c29f582394217a0a2b89D80")
	senderB   = must(types.Sender(mainnet, decoded(rawB)))
	recipient = common.HexToAddress("0x1111111111111111111111111111111111111111")
	mainnet   = types.LatestSignerForChainID(big.NewInt(1))
	chain     = NewChain(mainnet)
	// otherChain knows no sender of any transaction here.
	otherChain = NewChain(types.LatestSignerForChainID(big.NewInt(2)))
)

const replacement = "d9a3ae52-47a2-4b3e-9d29-6d3bd2d1b7f0"

// intake is a request when block 100, of second 1,200, is the newest.
func intake() Intake {
	return Intake{
		Signer: common.HexToAddress("0x5167e5"), At: time.Unix(1205, 0), Head: rpc.Head{Number: 100, Timestamp: 1200},
		Chain:  chain,
		Limits: Defaults(),
	}
}

// fill puts transactions and hashes in the places of a text: $A, $B, $C are transactions, #A, #B,
// #C their hashes, $U the replacementUuid.
func fill(text string) json.RawMessage {
	return json.RawMessage(strings.NewReplacer(
		"$A", rawA, "$B", rawB, "$C", rawC, "#A", hashA.Hex(), "#B", hashB.Hex(), "#C", hashC.Hex(), "$U", replacement, "@",
		recipient.Hex(),
	).Replace(text))
}

func key(i int) *ecdsa.PrivateKey {
	k, err := crypto.ToECDSA(common.LeftPadBytes([]byte{1, byte(i)}, 32))
	if err != nil {
		panic(err)
	}
	return k
}

// transfer is a signed transaction of that key and nonce with so much calldata.
func transfer(sender int, nonce uint64, data int) *types.Transaction {
	return types.MustSignNewTx(key(sender), mainnet, &types.DynamicFeeTx{
		ChainID: big.NewInt(1), Nonce: nonce, Gas: 21_000, GasFeeCap: big.NewInt(1e9), To: &recipient,
		Data: make([]byte, data),
	})
}

// blobTransfer is a blob transaction with its blob, as wallets send it. The blob is empty, so that
// its commitment and proof are the point at infinity.
func blobTransfer() *types.Transaction {
	infinity := [48]byte{0xc0}
	sidecar := types.NewBlobTxSidecar(types.BlobSidecarVersion0, make([]kzg4844.Blob, 1), []kzg4844.Commitment{infinity},
		[]kzg4844.Proof{infinity})
	return types.MustSignNewTx(key(1), mainnet, &types.BlobTx{
		ChainID: uint256.NewInt(1), Gas: 21_000, GasFeeCap: uint256.NewInt(1e9), BlobFeeCap: uint256.NewInt(1),
		BlobHashes: sidecar.BlobHashes(),
		Sidecar:    sidecar, To: recipient,
	})
}

func decoded(raw string) *types.Transaction {
	tx := new(types.Transaction)
	if err := tx.UnmarshalBinary(common.FromHex(raw)); err != nil {
		panic(err)
	}
	return tx
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func rawOf(tb testing.TB, tx *types.Transaction) hexutil.Bytes {
	tb.Helper()
	raw, err := tx.MarshalBinary()
	if err != nil {
		tb.Fatal(err)
	}
	return raw
}

// list is n times the same JSON value as a list.
func list(n int, value string) string {
	return "[" + strings.TrimSuffix(strings.Repeat(value+",", n), ",") + "]"
}

// refusal is the message of a *rpc.Refused; anything else fails the test.
func refusal(tb testing.TB, err error) string {
	tb.Helper()
	var refused *rpc.Refused
	if !errors.As(err, &refused) {
		tb.Errorf("%T %v is no refusal", err, err)
		return fmt.Sprint(err)
	}
	return err.Error()
}

func join(values []string) string { return strings.Join(values, ",") }

func addressOf(sender int) common.Address { return crypto.PubkeyToAddress(key(sender).PublicKey) }
