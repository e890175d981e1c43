package bundle

import (
	"math/big"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/internal/orderflow"
	"github.com/gavel-relay/gavel/rpc"
)

// The vectors of docs/spec.md, Bundle hash 4, through the whole parser: clients compute the same
// hashes and ask by them.
func TestHashVectors(t *testing.T) {
	for _, c := range []struct{ name, txs, want string }{
		{"[A]", `["$A"]`, "0xbd23068a4aada3bc666eeedac89c74d206f3f0633c095c29db8f90870d0b4f6d"},
		{"[A,B]", `["$A","$B"]`, hashAB.Hex()},
	} {
		order, _, err := ReadSendBundle(fill(`[{"txs":`+c.txs+`,"blockNumber":"0x65"}]`), intake())
		if err != nil || order.Hash().Hex() != c.want {
			t.Errorf("eth_sendBundle %s: %v, want %s", c.name, err, c.want)
		}
	}
	const ab = `{"bundle":{"version":"v0.1","inclusion":{"block":"0x65"},"body":[{"tx":"$A"},{"tx":"$B"}]}}`
	const a = `{"bundle":{"version":"v0.1","inclusion":{"block":"0x65"},"body":[{"tx":"$A"}]}}`
	match := orderflow.MatchingHash(hashA).Hex()
	for _, c := range []struct{ name, body, want string }{
		{"[A]", `[{"tx":"$A"}]`, hashA.Hex()},
		{"[A,B]", `[{"tx":"$A"},{"tx":"$B"}]`, hashAB.Hex()},
		{"[{[A,B]}, C]", `[` + ab + `,{"tx":"$C"}]`, "0x3b1994ad123d089f978074cfa197811b644e43b2b44b4c4710614f3a30ee0744"},
		{"[{[A]}, C]", `[` + a + `,{"tx":"$C"}]`, "0xa50c1d76dc8d571aea190c18849a1bcaa1a502704f4f2e3a0c80ee4094f9b26e"},
		{"[{hash}, C]", `[{"hash":"` + match + `"},{"tx":"$C"}]`,
			"0x4432706c91b49fcb71d01f671a5df38e369a2fe1e91e4a4f7503d701b218366c"},
	} {
		order, err := ReadSendShare(fill(`[{"version":"v0.1","inclusion":{"block":"0x65"},"body":`+c.body+`}]`), intake())
		if err != nil {
			t.Errorf("mev_sendBundle %s: %v", c.name, err)
		} else if order.Hash().Hex() != c.want {
			t.Errorf("mev_sendBundle %s: %s, want %s", c.name, order.Hash(), c.want)
		}
	}
}

// A bundle in a bundle counts with its own hash, whichever that is.
func TestShareHashOfInnerBundle(t *testing.T) {
	inner := &rpc.Bundle{Hash: hashB}
	if got, want := ShareHash([]rpc.Element{{Bundle: inner}, {Tx: &rpc.Transaction{Hash: hashC}}}), Hash([]common.Hash{
		hashB, hashC}); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// A blob transaction comes with its blobs, but its hash does not count them.
func TestBlobTransaction(t *testing.T) {
	tx := blobTransfer()
	order, err := ReadSendPrivateRaw([]byte(`["`+rawOf(t, tx).String()+`"]`), intake())
	if err != nil {
		t.Fatal(err)
	}
	bare := tx.WithoutBlobTxSidecar()
	if order.Hash() != bare.Hash() || len(order.Bundle.Elements[0].Tx.Raw) < 131_072 {
		t.Errorf("hash %s, want %s; %d bytes", order.Hash(), bare.Hash(), len(order.Bundle.Elements[0].Tx.Raw))
	}
	converted, err := ToExec(&order.Bundle, chain)
	if err != nil || converted.Elements[0].Tx.BlobTxSidecar() != nil || converted.Elements[0].Tx.Hash() != bare.Hash() {
		t.Errorf("to the simulator: %v", err)
	}
}

// The hash of what came is the hash of the transaction, whatever its type.
func TestHashOfWhatCame(t *testing.T) {
	one, auth := big.NewInt(1), types.SetCodeAuthorization{ChainID: *uint256.NewInt(1), Address: recipient}
	access := types.AccessList{{Address: recipient, StorageKeys: []common.Hash{hashA}}}
	signed := []*types.Transaction{
		blobTransfer(), blobTransfer().WithoutBlobTxSidecar(), transfer(1, 0, 0), transfer(2, 1<<40, 300),
		types.MustSignNewTx(key(1), types.HomesteadSigner{}, &types.LegacyTx{GasPrice: one, Gas: 21_000}),
		types.MustSignNewTx(key(1), mainnet, &types.LegacyTx{GasPrice: one, Gas: 21_000, To: &recipient}),
		types.MustSignNewTx(key(1), mainnet, &types.AccessListTx{ChainID: one, GasPrice: one, AccessList: access}),
		types.MustSignNewTx(key(1), mainnet, &types.SetCodeTx{ChainID: uint256.NewInt(1), AccessList: access,
			AuthList: []types.SetCodeAuthorization{auth}}),
	}
	for i, tx := range signed {
		raw := rawOf(t, tx)
		again := new(types.Transaction)
		if err := again.UnmarshalBinary(raw); err != nil {
			t.Fatal(err)
		}
		if got := hashOf(raw, again); got != tx.Hash() {
			t.Errorf("transaction %d of type %d: %s, want %s", i, tx.Type(), got, tx.Hash())
		}
	}
}
