package dataset

import (
	"bytes"
	"crypto/ecdsa"
	"fmt"
	"math/big"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/holiman/uint256"
)

var mempoolKey, _ = crypto.ToECDSA(bytes.Repeat([]byte{7}, 32))

// signedTxs are a transaction of each type, a legacy one for any chain, and one that creates a
// contract.
func signedTxs(t testing.TB) []*types.Transaction {
	t.Helper()
	to, chain := common.Address{0x22}, big.NewInt(1)
	wei, _ := new(big.Int).SetString("99999999999999999999999999999999999999", 10)
	var all []*types.Transaction
	add := func(key *ecdsa.PrivateKey, signer types.Signer, tx types.TxData) {
		signed, err := types.SignNewTx(key, signer, tx)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, signed)
	}
	latest := types.LatestSignerForChainID(chain)
	add(mempoolKey, latest, &types.LegacyTx{Nonce: 1, To: &to, Gas: 21_000, GasPrice: price, Value: wei})
	add(mempoolKey, types.HomesteadSigner{}, &types.LegacyTx{Nonce: 2, To: &to, Gas: 21_000, GasPrice: price})
	add(mempoolKey, latest, &types.AccessListTx{ChainID: chain, Nonce: 3, To: &to, Gas: 30_000, GasPrice: price,
		AccessList: types.AccessList{{Address: to}}})
	add(mempoolKey, latest, &types.DynamicFeeTx{ChainID: chain, Nonce: 4, To: &to, Gas: 60_000, GasTipCap: big.NewInt(7),
		GasFeeCap: price, Data: []byte{0xa9, 5, 0x9c, 0xbb, 1}})
	add(mempoolKey, latest, &types.DynamicFeeTx{ChainID: chain, Nonce: 5, Gas: 100_000, GasFeeCap: price,
		Data: []byte{0x60}})
	add(mempoolKey, latest, &types.BlobTx{ChainID: uint256.NewInt(1), Nonce: 6, To: to, Gas: 21_000,
		GasFeeCap: uint256.NewInt(9), BlobFeeCap: uint256.NewInt(1), BlobHashes: []common.Hash{{1}}})
	add(mempoolKey, latest, &types.SetCodeTx{ChainID: uint256.NewInt(1), Nonce: 7, To: to, Gas: 90_000,
		GasFeeCap: uint256.NewInt(9), AuthList: []types.SetCodeAuthorization{{Address: to}}})
	return all
}

const seenMs = 1697628036001

var price = big.NewInt(30_000_000_000)

// rawRow is a row as a collector has it: time, hash and raw transaction.
func rawRow(t testing.TB, tx *types.Transaction, ms int64) *Transaction {
	t.Helper()
	raw, err := tx.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	return &Transaction{
		Source: mempoolSource, ObservedAt: Time{ms * 1000, true}, Hash: Hash{tx.Hash(), true}, Raw: Blob(raw),
	}
}

// A raw transaction of any type completes its row.
func TestTransactionOfRaw(t *testing.T) {
	for i, tx := range signedTxs(t) {
		row := rawRow(t, tx, seenMs)
		if err := row.check(mainnet); err != nil {
			t.Errorf("%d: %v", i, err)
			continue
		}
		chain := tx.ChainId().Int64()
		want := fmt.Sprintf("%d %d %x %d %d %s %s %s %d", chain, tx.Type(), crypto.PubkeyToAddress(mempoolKey.PublicKey),
			tx.Nonce(), tx.Gas(), tx.Value(), tx.GasTipCap(), tx.GasFeeCap(), len(tx.Data()))
		got := fmt.Sprintf("%d %d %x %d %d %s %s %s %d", row.ChainID.V, row.TxType.V, row.From.V, row.Nonce.V,
			row.GasLimit.V, row.ValueWei, row.TipCapWei, row.FeeCapWei, row.DataBytes.V)
		if got != want || row.To.Known != (tx.To() != nil) || (row.Selector != "") != (len(tx.Data()) >= 4) {
			t.Errorf("%d: %s in place of %s: %+v", i, got, want, row)
		}
		if err := row.check(Networks[1]); (err == nil) != (chain == 0) {
			t.Errorf("%d, of chain %d, on sepolia: %v", i, chain, err)
		}
	}
}

// What contradicts the raw transaction, or cannot be at all, is a bad row with its reason.
func TestBadTransactions(t *testing.T) {
	txs := signedTxs(t)
	forged, err := txs[3].WithSignature(types.LatestSignerForChainID(big.NewInt(1)), make([]byte, 65))
	if err != nil {
		t.Fatal(err)
	}
	chainless := types.NewTx(&types.DynamicFeeTx{ChainID: new(big.Int), V: big.NewInt(1), R: price, S: price})
	for want, change := range map[string]func(*Transaction){
		"signature: transaction type not":    func(r *Transaction) { *r = *rawRow(t, chainless, seenMs) },
		"no timestamp":                       func(r *Transaction) { r.ObservedAt = Time{} },
		"before mainnet began":               func(r *Transaction) { r.ObservedAt.Micros = seenMs },
		"no hash":                            func(r *Transaction) { r.Hash = Hash{} },
		"the hash is not that of the raw":    func(r *Transaction) { r.Hash.V[5]++ },
		"raw transaction: ":                  func(r *Transaction) { r.Raw = r.Raw[:len(r.Raw)-1] },
		"raw transaction: typed":             func(r *Transaction) { r.Raw = "\x01" },
		"no valid signature":                 func(r *Transaction) { *r = *rawRow(t, forged, seenMs) },
		"from is 0x09":                       func(r *Transaction) { r.From = Address{[20]byte{9}, true} },
		"nonce is 9, and 4 in the raw":       func(r *Transaction) { r.Nonce = Int{9, true} },
		"value_wei is 1, and 0":              func(r *Transaction) { r.ValueWei = Wei{Lo: 1, Known: true} },
		"tx_type is 0, and 2":                func(r *Transaction) { r.TxType = Int{0, true} },
		"selector is 0x00000000, and 0xa905": func(r *Transaction) { r.Selector = "0x00000000" },
		"creates a contract": func(r *Transaction) {
			*r = *rawRow(t, txs[4], seenMs)
			r.To = Address{[20]byte{1}, true}
		},
		"no sender":                   func(r *Transaction) { r.Raw = "" },
		"signed for chain 5, and":     func(r *Transaction) { r.Raw, r.From.Known, r.ChainID = "", true, Int{5, true} },
		"selector: \"abc\" is not 0x": func(r *Transaction) { r.Raw, r.From.Known, r.Selector = "", true, "abc" },
	} {
		row := rawRow(t, txs[3], seenMs)
		change(row)
		if err := row.check(mainnet); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v in place of %s", err, want)
		}
	}
}

// The columns of each kind of CSV, in any case with a header; what is no row is bad, and the others
// stay.
func TestMempoolCSV(t *testing.T) {
	header := strings.Join(mempoolCSVColumns, ",")
	hash, from, to := "0x"+strings.Repeat("ab", 32), "0x"+strings.Repeat("11", 20), "0x"+strings.Repeat("22", 20)
	line := fmt.Sprintf("%d,%s,1,%s,%s,60154123185870503,7,21000,30,1,30,5,0xa9059cbb,", seenMs, hash, from, to)
	const begins = "observed_at=1697628036001000 hash="
	tx := signedTxs(t)[3]
	row := rawRow(t, tx, seenMs)
	// changed is the line with something else in the place of a part.
	changed := func(was, is string) string { return header + "\n" + strings.Replace(line, was, is, 1) + ",0,0,0,2" }
	collector := func(format string, cells ...any) string {
		return "timestamp_ms,hash,raw_tx\n" + fmt.Sprintf(format, cells...) + "\n"
	}
	for name, c := range map[string]struct{ content, want string }{
		"in a block": {header + "\n" + line + "local blx,18376893,1697628035000,-1001,2\n",
			begins + hash + " source=mempool-dumpster chain_id=1 tx_type=2 from=" + from + " to=" + to +
				" value_wei=60154123185870503 nonce=7 gas_limit=21000 gas_price_wei=30 tip_cap_wei=1 fee_cap_wei=30 data_bytes=5 " +
				"selector=0xa9059cbb sources=local blx included_block=18376893 included_at=1697628035000000 " +
				"inclusion_delay_ms=-1001 \n"},
		"in no block, quoted, DOS": {`"` + strings.ReplaceAll(header, ",", `","`) + "\"\r\n" + line + "\"a  b\",0,0,0,0\r\n",
			"tx_type=0 "},
		"sources":             {header + "\n" + line + `" a  b ",0,0,0,0`, "selector=0xa9059cbb sources=a b \n"},
		"the first version":   {strings.Join(mempoolCSVColumns[:13], ",") + "\n" + strings.TrimSuffix(line, ","), begins},
		"two hours joined":    {header + "\n" + line + ",0,0,0,2\n" + header + "\n" + line + ",0,0,0,2\n", begins},
		"cut":                 {header + "\n" + line + ",0,0,0,2\n" + line[:30], "\n3: 2 fields in place of 18"},
		"negative time":       {header + "\n-" + line + ",0,0,0,2", "2: timestamp_ms: \"-1697628036001\" is no number"},
		"seconds":             {changed("36001", "36"), "2: it was seen before"},
		"above 2^256":         {changed("60154", "99"+two256), "2: value: not below 2^256"},
		"above 10^38":         {changed("60154", strings.Repeat("9", 30)), "2: value: more than"},
		"value with a point":  {changed("60154", "1.5"), "2: value: \"1.5"},
		"another chain":       {changed(",1,0x", ",11155111,0x"), "2: it is signed for chain 11155111"},
		"time without block":  {header + "\n" + line + ",0,1697628035000,0,2", "2: it has the time of a block"},
		"a collector's":       {collector("%d,%#x,%#x", seenMs, row.Hash.V, []byte(row.Raw)), "nonce=4 gas_limit=60000 "},
		"no whole bytes":      {collector("%d,%#x,0x123", seenMs, row.Hash.V), "2: raw_tx: \"0x123\" is not 0x"},
		"another transaction": {collector("%d,%s,%#x", seenMs, hash, []byte(row.Raw)), "2: the hash is not that of"},
	} {
		format, rows, err := read(t, c.content)
		got := table(t, Transactions, rows.transactions) + strings.Join(rows.bad, "|")
		if err != nil || format != string(mempoolSource) || !strings.Contains(got, c.want) {
			t.Errorf("%s: %v: %q in place of %q", name, err, got, c.want)
		}
	}
	if _, _, err := read(t, header+",hash\n"+line); err == nil {
		t.Error("a column that is there twice is read")
	}
	_, _, err := read(t, "timestamp_ms,hash,source\n")
	if err == nil || !strings.Contains(err.Error(), "a log of mempool") {
		t.Error(err)
	}
}

// A file that the library of mempool-dumpster (xitongsys/parquet-go) has written by the tags of its
// rows: lists of sources, and the zeros of what is in no block.
func TestMempoolParquet(t *testing.T) {
	content := []byte(testdata(t, "mempool-dumpster.parquet"))
	rows, err := readParquet(content)
	if err != nil || len(rows.bad) > 0 {
		t.Fatal(err, rows.bad)
	}
	if got := table(t, Transactions, rows.transactions); got != testdata(t, "mempool-dumpster.txt") {
		t.Error(got)
	}
	for end := range len(content) { // cut anywhere, it is an error and no panic
		if _, err := readParquet(content[:end]); err == nil {
			t.Errorf("cut at %d of %d, the file is read", end, len(content))
		}
	}
}
