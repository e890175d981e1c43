package bundle

import (
	"encoding/json"
	"errors"
	"math/big"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/core/types"
	"pgregory.net/rapid"

	"github.com/gavel-relay/gavel/rpc"
)

// What is refused without recovering is what recovering would refuse first, with the same words;
// what passes can at most turn out to be nobody's.
func TestCheckSignatureIsTheCheapPartOfRecovery(t *testing.T) {
	number := rapid.OneOf(
		rapid.SampledFrom([]*big.Int{
			big.NewInt(0), big.NewInt(1), big.NewInt(2), big.NewInt(26), big.NewInt(27), big.NewInt(28), big.NewInt(35),
			big.NewInt(36), big.NewInt(37),
			big.NewInt(38), big.NewInt(39), big.NewInt(283), new(big.Int).Lsh(big.NewInt(1), 70),
			new(big.Int).Lsh(big.NewInt(1), 255),
			new(big.Int).Lsh(big.NewInt(1), 300),
		}),
		rapid.Map(rapid.SliceOfN(rapid.Byte(), 31, 32), func(b []byte) *big.Int { return new(big.Int).SetBytes(b) }),
	)
	rapid.Check(t, func(t *rapid.T) {
		chainID := big.NewInt(rapid.Int64Range(0, 2).Draw(t, "chain"))
		v, r, s := number.Draw(t, "v"), number.Draw(t, "r"), number.Draw(t, "s")
		var data types.TxData
		switch rapid.IntRange(0, 2).Draw(t, "type") {
		case 0:
			data = &types.LegacyTx{V: v, R: r, S: s}
		case 1:
			data = &types.AccessListTx{ChainID: chainID, V: v, R: r, S: s}
		case 2:
			data = &types.DynamicFeeTx{ChainID: chainID, V: v, R: r, S: s}
		}
		tx := types.NewTx(data)
		signer := rapid.SampledFrom([]types.Signer{mainnet, otherChain.Signer, types.NewEIP2930Signer(big.NewInt(1))}).Draw(t,
			"signer")
		early := checkSignature(tx, NewChain(signer))
		_, late := types.Sender(signer, tx)
		switch known := cheap(late); {
		case known == nil && early != nil:
			t.Fatalf("%v, but the recovery says %v", early, late)
		case known != nil && !errors.Is(early, known):
			t.Fatalf("%v, but the recovery says %v", early, late)
		case early != nil && errors.Is(known, types.ErrInvalidChainId) && early.Error() != late.Error():
			t.Fatalf("%v in other words: %v", late, early)
		}
	})
}

// cheap is the error that a recovery has before it computes anything, nil if it has none.
func cheap(err error) error {
	for _, known := range []error{types.ErrTxTypeNotSupported, types.ErrInvalidChainId, types.ErrInvalidSig} {
		if errors.Is(err, known) {
			return known
		}
	}
	return nil
}

// nobodys is the text of a transaction whose signature has values as they must be, and belongs to
// nobody: no point has 5 for x.
func nobodys(t *testing.T) string {
	t.Helper()
	tx := types.NewTx(&types.DynamicFeeTx{ChainID: big.NewInt(1), Gas: 21_000, To: &recipient, V: big.NewInt(0),
		R: big.NewInt(5), S: big.NewInt(1)})
	return rawOf(t, tx).String()
}

// A signature that is nobody's is refused where a sender is needed: for a simulation, a private
// transaction, a refund. A bundle that needs none is taken, and comes to its end when it is to be
// simulated.
func TestSignatureOfNobody(t *testing.T) {
	tx := nobodys(t)
	for _, params := range []string{`[{"txs":["$A","` + tx + `"]}]`, `[{"txs":["$A","` + tx + `"],"refundPercent":50}]`} {
		order := sendBundle(t, params)
		if _, err := ToExec(&order.Bundle, chain); !errors.Is(err, ErrSignature) ||
			!strings.Contains(err.Error(), order.Bundle.Elements[1].Tx.Hash.Hex()) {
			t.Errorf("%s: to the simulator: %v", params, err)
		}
	}
	if _, err := ToExec(&sendShare(t, share+`"body":[{"tx":"`+tx+`"}]}]`).Bundle, chain); !errors.Is(err,
		ErrSignature) {
		t.Errorf("to the simulator: %v", err)
	}
	sendBundleOf := func(params json.RawMessage, in Intake) error { _, _, err := ReadSendBundle(params, in); return err }
	sendShareOf := func(params json.RawMessage, in Intake) error { _, err := ReadSendShare(params, in); return err }
	for _, c := range []struct {
		params, path string
		read         func(json.RawMessage, Intake) error
	}{
		{`[{"txs":["` + tx + `"],"refundPercent":50}]`, "params[0].txs[0]", sendBundleOf},
		{share + `"body":[{"tx":"` + tx + `"},{"tx":"$A"}],"validity":{"refund":[{"bodyIdx":0,"percent":50}]}}]`,
			"params[0].body[0].tx", sendShareOf},
		{share + `"body":[{"tx":"` + tx + `"}],"privacy":{"hints":["hash"]}}]`, "params[0].body[0].tx", sendShareOf},
		{`[{"tx":"` + tx + `"}]`, "params[0].tx", func(p json.RawMessage, in Intake) error {
			_, err := ReadSendPrivate(p, in)
			return err
		}},
		{`[{"txs":["` + tx + `"],"blockNumber":1}]`, "params[0].txs[0]",
			func(p json.RawMessage, in Intake) error { _, err := ReadCallBundle(p, in); return err }},
		{share + `"body":[{"tx":"` + tx + `"}]}]`, "params[0].body[0].tx",
			func(p json.RawMessage, in Intake) error { _, err := ReadSimBundle(p, in); return err }},
	} {
		if got := refusal(t, c.read(fill(c.params), intake())); !strings.HasPrefix(got, rpc.BundleUndecodable.Short+": "+
			c.path+": ") {
			t.Errorf("%s: %s", c.params, got)
		}
	}
}
