package dataset

import (
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"math/big"
	"strings"

	"github.com/ethereum/go-ethereum/core/types"
)

// Transaction is a transaction that a collector has seen before it was in a block.
type Transaction struct {
	ObservedAt                        Time
	Hash                              Hash
	Source                            Text
	ChainID, TxType                   Int
	From, To                          Address
	ValueWei                          Wei
	Nonce, GasLimit                   Int
	GasPriceWei, TipCapWei, FeeCapWei Wei
	DataBytes                         Int
	Selector, Sources                 Text
	IncludedBlock                     Int
	IncludedAt                        Time
	InclusionDelayMs                  Signed
	Raw                               Blob
}

// transactionBytes is about what a transaction takes in memory beside its raw one.
const transactionBytes = 500

// Transactions is the table of transactions. A replay of auctions does not read it.
var Transactions = &Table[Transaction]{
	Name: "transactions",
	Doc: "Transactions that collectors saw in the mempool, in the order in which they did. Day and hour are those of " +
		"`observed_at`. A transaction that two collectors saw at two moments is two rows.",
	At:      func(_ Network, t *Transaction) int64 { return t.ObservedAt.Micros },
	check:   (*Transaction).check,
	weight:  func(t *Transaction) int { return transactionBytes + len(t.Raw) },
	Columns: transactionColumns,
}

var transactionColumns = []Column[Transaction]{
	{"observed_at", "UTC, collector's clock", "when a collector first saw the transaction",
		func(t *Transaction) any { return &t.ObservedAt }},
	{"hash", "0x, 32 bytes", "", func(t *Transaction) any { return &t.Hash }},
	{"source", "", "the format that the row is from", func(t *Transaction) any { return &t.Source }},
	{"chain_id", "", "0: it is signed for any chain", func(t *Transaction) any { return &t.ChainID }},
	{"tx_type", "", "EIP-2718: 0 legacy, 1 with access list, 2 with tip, 3 with blobs, 4 with authorizations",
		func(t *Transaction) any { return &t.TxType }},
	{"from", "0x, 20 bytes", "", func(t *Transaction) any { return &t.From }},
	{"to", "0x, 20 bytes", "null: it creates a contract", func(t *Transaction) any { return &t.To }},
	{"value_wei", "wei", "", func(t *Transaction) any { return &t.ValueWei }},
	{"nonce", "", "", func(t *Transaction) any { return &t.Nonce }},
	{"gas_limit", "gas", "", func(t *Transaction) any { return &t.GasLimit }},
	{"gas_price_wei", "wei per gas", "of types 0 and 1; of others as the archive has it, usually the fee cap",
		func(t *Transaction) any { return &t.GasPriceWei }},
	{"tip_cap_wei", "wei per gas", "of types 0 and 1 the gas price", func(t *Transaction) any { return &t.TipCapWei }},
	{"fee_cap_wei", "wei per gas", "of types 0 and 1 the gas price", func(t *Transaction) any { return &t.FeeCapWei }},
	{"data_bytes", "bytes", "length of the calldata or init code", func(t *Transaction) any { return &t.DataBytes }},
	{"selector", "0x, 4 bytes", "the first bytes of calldata that has so many",
		func(t *Transaction) any { return &t.Selector }},
	{"sources", "", "names of the collector's sources, with a space between two",
		func(t *Transaction) any { return &t.Sources }},
	{"included_block", "block", "the block that it is in; null: in none when the archive was made",
		func(t *Transaction) any { return &t.IncludedBlock }},
	{"included_at", "UTC", "that block's timestamp", func(t *Transaction) any { return &t.IncludedAt }},
	{"inclusion_delay_ms", "ms", "from `observed_at` to `included_at`, as the archive says; negative if it was seen " +
		"later", func(t *Transaction) any { return &t.InclusionDelayMs }},
	{"raw", "", "the signed transaction (EIP-2718), if the archive has it; hexadecimal in CSV",
		func(t *Transaction) any { return &t.Raw }},
}

// Why a row is no transaction.
var (
	errNoMoment  = errors.New("no timestamp")
	errNoHash    = errors.New("no hash")
	errNoSender  = errors.New("no sender")
	errRawHash   = errors.New("the hash is not that of the raw transaction")
	errRawSigner = errors.New("the raw transaction has no valid signature")
)

// check completes a row and says why it cannot be one. Everything that the row says beside its raw
// transaction must follow from it.
func (t *Transaction) check(n Network) error {
	switch {
	case !t.ObservedAt.Known:
		return errNoMoment
	case t.ObservedAt.Micros < n.startMicros(0):
		return fmt.Errorf("it was seen before %s began: another unit of time, or another network", n.Name)
	case !t.Hash.Known:
		return errNoHash
	}
	if t.Raw != "" {
		if err := t.checkRaw(); err != nil {
			return err
		}
	}
	if !t.From.Known {
		return errNoSender
	}
	chain, isPublic := n.chainID()
	anyChain := t.ChainID.V == 0 && t.TxType.V == 0 // signed before or without EIP-155
	if isPublic && t.ChainID.Known && t.ChainID.V != chain && !anyChain {
		return fmt.Errorf("it is signed for chain %d, and %s is chain %d", t.ChainID.V, n.Name, chain)
	}
	if t.Selector != "" {
		var selector [4]byte
		if _, err := parseHex(string(t.Selector), selector[:]); err != nil {
			return fmt.Errorf("selector: %w", err)
		}
	}
	t.Sources = Text(strings.Join(strings.Fields(string(t.Sources)), " "))
	return nil
}

// checkRaw compares the row with its raw transaction, and takes from it what the row does not say.
func (t *Transaction) checkRaw() error {
	tx := new(types.Transaction)
	if err := tx.UnmarshalBinary([]byte(t.Raw)); err != nil {
		return fmt.Errorf("raw transaction: %w", err)
	}
	if tx.Hash() != t.Hash.V {
		return errRawHash
	}
	raw, err := transactionOf(tx)
	if err != nil {
		return err
	}
	raw.Raw, raw.Hash = t.Raw, t.Hash
	for _, c := range transactionColumns {
		said, is := c.Cell(t), c.Cell(raw)
		if c.Name == "gas_price_wei" && tx.Type() > types.AccessListTxType {
			continue // archives differ in what the gas price of such a transaction is
		}
		if cellText(is) != "" {
			Complete(said, is)
			if compareCells(said, is) != 0 {
				return fmt.Errorf("%s is %s, and %s in the raw transaction", c.Name, cut(cellText(said)), cut(cellText(is)))
			}
		}
	}
	if t.To.Known && !raw.To.Known {
		return fmt.Errorf("to is %s, and the raw transaction creates a contract", cellText(&t.To))
	}
	return nil
}

// NewTransaction is the row of a transaction that was seen at a moment. It lacks blobs, as a block
// does.
func NewTransaction(tx *types.Transaction, observedAt Time, source Text) (*Transaction, error) {
	row, err := transactionOf(tx)
	if err != nil {
		return nil, err
	}
	raw, err := tx.WithoutBlobTxSidecar().MarshalBinary()
	if err != nil {
		return nil, fmt.Errorf("encode a transaction: %w", err)
	}
	row.Raw, row.Hash, row.ObservedAt, row.Source = Blob(raw), Hash{tx.Hash(), true}, observedAt, source
	return row, nil
}

// transactionOf is what a raw transaction says.
func transactionOf(tx *types.Transaction) (*Transaction, error) {
	chain := tx.ChainId()
	signer := types.Signer(types.HomesteadSigner{}) // of transactions for any chain
	if chain.Sign() > 0 {
		signer = types.LatestSignerForChainID(chain)
	}
	from, err := types.Sender(signer, tx)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errRawSigner, err)
	}
	if !chain.IsInt64() || int64(tx.Nonce()) < 0 || int64(tx.Gas()) < 0 {
		return nil, fmt.Errorf("raw transaction: chain, nonce or gas: %w", errNotInt)
	}
	t := &Transaction{
		ChainID: Int{chain.Int64(), true}, TxType: Int{int64(tx.Type()), true}, From: Address{from, true},
		Nonce: Int{int64(tx.Nonce()), true}, GasLimit: Int{int64(tx.Gas()), true},
		DataBytes: Int{int64(len(tx.Data())), true},
	}
	if to := tx.To(); to != nil {
		t.To = Address{*to, true}
	}
	if data := tx.Data(); len(data) >= 4 {
		t.Selector = Text("0x" + hex.EncodeToString(data[:4]))
	}
	for _, amount := range []struct {
		name string
		v    *big.Int
		into *Wei
	}{
		{"value", tx.Value(), &t.ValueWei}, {"gas price", tx.GasPrice(), &t.GasPriceWei},
		{"tip cap", tx.GasTipCap(), &t.TipCapWei}, {"fee cap", tx.GasFeeCap(), &t.FeeCapWei},
	} {
		if *amount.into, err = weiOfBytes(amount.v.Bytes()); err != nil {
			return nil, fmt.Errorf("%s: %w", amount.name, err)
		}
	}
	return t, nil
}

// Calldata is the calldata or init code, if the row has its raw transaction.
func (t *Transaction) Calldata() (data []byte, known bool) {
	tx := new(types.Transaction)
	if t.Raw == "" || tx.UnmarshalBinary([]byte(t.Raw)) != nil {
		return nil, false
	}
	return tx.Data(), true
}

// Uint64 is an amount that is at most 2^64-1, and that number for what is more.
func (w Wei) Uint64() uint64 {
	if w.Hi > 0 {
		return math.MaxUint64
	}
	return w.Lo
}
