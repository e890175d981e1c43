package replay

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"encoding/csv"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/params"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/internal/golden"
	"github.com/gavel-relay/gavel/scenarios/dataset"
)

// mempoolSample is a file in mempool-dumpster's columns that TestMempoolSample makes.
const mempoolSample = demo + "mempool-sample.parquet"

// sampleTx is transaction i of the sample, by one of five senders. Senders begin at some nonce.
// Each tenth transaction is followed by one that replaces it.
func sampleTx(i int) (key *ecdsa.PrivateKey, tx types.TxData) {
	sender, turn := i%5, i/5
	key, err := crypto.ToECDSA(bytes.Repeat([]byte{byte(sender) + 1}, 32))
	if err != nil {
		panic(err)
	}
	to := &common.Address{0x77, byte(i * 7)}
	if i%13 == 5 {
		to = nil
	}
	nonce, data, chain := uint64(100*sender+turn), make([]byte, i*37%300), big.NewInt(1)
	for j := range data {
		data[j] = byte(j * i % 3)
	}
	gwei := func(n int) *big.Int { return new(big.Int).Mul(big.NewInt(int64(n)), big.NewInt(params.GWei)) }
	tip, fee, gas, value := gwei(1+i%7), gwei(40+i%7), uint64(70_000+i*1_000), big.NewInt(int64(i)*1_000_003)
	switch {
	case i == 17:
		return key, &types.BlobTx{ChainID: uint256.NewInt(1), Nonce: nonce, Gas: gas, To: common.Address{0x78},
			GasTipCap: uint256.MustFromBig(tip), GasFeeCap: uint256.MustFromBig(fee), BlobFeeCap: uint256.NewInt(1),
			BlobHashes: []common.Hash{{1}}}
	case i%4 == 0:
		return key, &types.LegacyTx{Nonce: nonce, Gas: gas, GasPrice: fee, To: to, Value: value, Data: data}
	case i%11 == 3:
		return key, &types.AccessListTx{ChainID: chain, Nonce: nonce, Gas: gas, GasPrice: fee, To: to, Value: value,
			Data: data}
	}
	return key, &types.DynamicFeeTx{ChainID: chain, Nonce: nonce, Gas: gas, GasTipCap: tip, GasFeeCap: fee, To: to,
		Value: value, Data: data}
}

// sampleRows are the sample as a collector's file.
func sampleRows(t *testing.T) []byte {
	t.Helper()
	var out bytes.Buffer
	out.WriteString("timestamp_ms,hash,raw_tx\n")
	signer := types.LatestSignerForChainID(big.NewInt(1))
	add := func(ms int64, key *ecdsa.PrivateKey, data types.TxData) {
		tx, err := types.SignNewTx(key, signer, data)
		if err != nil {
			t.Fatal(err)
		}
		raw, err := tx.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&out, "%d,%s,%#x\n", ms, tx.Hash(), raw)
	}
	for i := range 45 {
		key, data := sampleTx(i)
		ms := int64(1697628035_000 - 3_000 + 400*i)
		add(ms, key, data)
		if dynamic, ok := data.(*types.DynamicFeeTx); ok && i%10 == 2 {
			bumped := *dynamic
			bumped.GasTipCap = new(big.Int).Mul(dynamic.GasTipCap, big.NewInt(2))
			bumped.GasFeeCap = new(big.Int).Mul(dynamic.GasFeeCap, big.NewInt(2))
			add(ms+150, key, &bumped)
		}
	}
	return out.Bytes()
}

// The sample of the demo is what this test makes, imported and exported again, with sources, and
// with blocks for most of its rows.
func TestMempoolSample(t *testing.T) {
	dir := options(t.TempDir())
	rows := imported(t, dir, write(t, "collector.csv", sampleRows(t)))[0]
	if rows.Bad > 0 || rows.Added < 45 {
		t.Fatalf("%+v", rows.Input)
	}
	out, _ := mustExport(t, dir.Into, "csv", "")
	lines, err := csv.NewReader(strings.NewReader(content(t, out, "transactions.csv"))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	at := func(name string) int { return slices.Index(lines[0], name) }
	for i, line := range lines[1:] {
		line[at("sources")] = []string{"local", "local blx", "blx"}[i%3]
		if i%6 != 0 {
			line[at("included_block")], line[at("included_at")] = "18376893", "2023-10-18T11:20:59Z"
			line[at("inclusion_delay_ms")] = fmt.Sprint(1697628059_000 - (1697628035_000 - 3_000 + 400*i))
		}
	}
	var edited bytes.Buffer
	if err := csv.NewWriter(&edited).WriteAll(lines); err != nil {
		t.Fatal(err)
	}
	dir.Into = t.TempDir()
	imported(t, dir, write(t, "transactions.csv", edited.Bytes()))
	out, _ = mustExport(t, dir.Into, "mempool-dumpster", "")
	golden.File(t, mempoolSample, content(t, out, "mempool-dumpster.parquet"))
}

// Transactions come back from each export that has their table, and importing them twice changes
// nothing. What a format cannot say is counted.
func TestTransactionsThereAndBack(t *testing.T) {
	o := options(t.TempDir())
	first := imported(t, o, mempoolSample)[0]
	if first.Bad > 0 || first.Added != first.Rows {
		t.Fatalf("%+v", first.Input)
	}
	before := tree(t, o.Into)
	if again := imported(t, o, mempoolSample)[0]; !again.Before || !maps.Equal(before, tree(t, o.Into)) {
		t.Error("importing twice changed the data set")
	}
	want := tables(before)
	for format, files := range map[string][]string{
		"parquet": {"transactions.parquet"}, "csv": {"transactions.csv"},
		"mempool-dumpster": {"mempool-dumpster.parquet", "mempool-dumpster.csv"},
	} {
		out, done := mustExport(t, o.Into, format, "")
		for i, file := range files {
			back := options(t.TempDir())
			imported(t, back, filepath.Join(out, file))
			lost := done[i].Lost
			whole := maps.Equal(tables(tree(t, back.Into)), want)
			if withoutRaw := file == "mempool-dumpster.csv"; whole == withoutRaw || (lost["raw"] == first.Rows) != withoutRaw ||
				done[i].Rows != first.Rows {
				t.Errorf("%s: the same data set: %v; %+v", file, whole, done[i])
			}
		}
	}
	if _, done := mustExport(t, o.Into, "csv", "flashbots"); done[0].LeftOut["it is of no relay"] != first.Rows {
		t.Errorf("%+v", done)
	}
}

// A file that is cut in the middle is imported up to there, and goes on when it is whole; bad rows
// are named, in the same places however the batches lie.
func TestTransactionsCut(t *testing.T) {
	content := sampleRows(t)
	packed := gzipped(t, content)
	o := options(t.TempDir())
	o.BatchRows = 7
	cut := write(t, "cut.csv.gz", packed[:len(packed)*2/3])
	results, err := Import(context.Background(), []string{cut}, o)
	if !errors.Is(err, ErrIncomplete) || results[0].Added < 5 || !strings.Contains(results[0].Failure, "unexpected EOF") {
		t.Fatalf("%v: %+v", err, results[0].Input)
	}
	whole := imported(t, o, write(t, "whole.csv", content))[0]
	if whole.Known < results[0].Added || whole.Bad > 0 {
		t.Errorf("%+v", whole.Input)
	}
	straight := options(t.TempDir())
	imported(t, straight, write(t, "whole.zip", zipped(t, map[string][]byte{"a.csv": content})))
	if !maps.Equal(tables(tree(t, o.Into)), tables(tree(t, straight.Into))) {
		t.Error("the table is another than without the break")
	}
	bad := slices.Concat(content, []byte("-1,0x"+strings.Repeat("ab", 32)+",0x02\n1697628035000,0xab,0x\n"))
	r := imported(t, options(t.TempDir()), write(t, "bad.csv", bad))[0]
	if r.Bad != 2 || r.Rows != whole.Rows+2 {
		t.Errorf("%+v", r.Input)
	}
	damaged, err := os.ReadFile(mempoolSample)
	if err != nil {
		t.Fatal(err)
	}
	results, err = Import(context.Background(), []string{write(t, "x.parquet", damaged[:len(damaged)/2])}, straight)
	if !errors.Is(err, ErrIncomplete) || results[0].Failure == "" {
		t.Errorf("%v: %+v", err, results[0].Input)
	}
}

// Day and hour are those of the moment at which a transaction was seen.
func TestTransactionsHaveAnHour(t *testing.T) {
	o := options(t.TempDir())
	imported(t, o, mempoolSample)
	want := []string{"dataset.json", dataset.Transactions.Name + "/day=2023-10-18/11.parquet"}
	if got := names(tree(t, o.Into)); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}
