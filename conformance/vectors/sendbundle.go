package vectors

import (
	"slices"

	"github.com/ethereum/go-ethereum/common"
)

const (
	sendBundle   = "eth_sendBundle"
	cancelBundle = "eth_cancelBundle"
	uuidA        = "3a1f6f2e-5b7c-4d8e-9f00-112233445566"
	uuidB        = "7c0de0de-0000-4000-8000-00000000000b"
	nextBlock    = "0x65" // headNumber + 1
	friend       = "0x00000000000000000000000000000000000000fa"
)

// send makes an eth_sendBundle for the next block; more are further members of its object.
func (m *market) send(more object, refusal string, order *OrderTerms, txs ...int) BundleStep {
	param := object{"txs": m.raws(txs...), "blockNumber": nextBlock}
	for name, value := range more {
		param[name] = value
	}
	return m.step(sendBundle, param, refusal, order)
}

// terms are those of an eth_sendBundle of some transactions.
func (m *market) terms(txs ...int) *OrderTerms {
	return &OrderTerms{BundleHash: concat(m.hashes(txs...)...), TxHashes: m.hashes(txs...)}
}

// sendCases are accepted. The hash is that of the transactions alone: no other term changes it.
func (m *market) sendCases() []BundleCase {
	last, first := 1, 0
	later := m.terms(0, 1)
	later.FirstBlock, later.LastBlock = headNumber+5, headNumber+5
	reverting := m.terms(0, 1)
	reverting.MayRevert = m.hashes(1)
	refund, named := m.terms(0, 1), m.terms(0, 1)
	refund.Refunds, refund.Payees, refund.PaidBy = []RefundTerm{{0, 40}}, []Payee{{m.sender, 100}}, &last
	named.Refunds, named.Payees, named.PaidBy = []RefundTerm{{0, 99}}, []Payee{{friend, 100}}, &first
	hash := []string{"RPC-BUN-01"}
	return []BundleCase{
		makeCase("one", "One transaction: the hash is that of its hash, and not its hash.",
			m.send(nil, "", m.terms(0), 0), hash...),
		makeCase("two", "Two transactions: the hash is that of both hashes, one after the other.",
			m.send(nil, "", m.terms(0, 1), 0, 1), hash...),
		makeCase("two-turned", "The same in another order have another hash.",
			m.send(nil, "", m.terms(1, 0), 1, 0), hash...),
		makeCase("three", "Three transactions.", m.send(nil, "", m.terms(0, 1, 2), 0, 1, 2), hash...),
		makeCase("later-block", "For another block the hash is the same.",
			m.send(object{"blockNumber": "0x69"}, "", later, 0, 1), hash...),
		makeCase("no-block", "Without blockNumber it is for the next block.",
			m.send(object{"blockNumber": nil}, "", m.terms(0, 1), 0, 1), "RPC-BUN-20"),
		makeCase("timestamps", "With bounds of the time the hash is the same.",
			m.send(object{"minTimestamp": headTime, "maxTimestamp": headTime + 12}, "", m.terms(0, 1), 0, 1), "RPC-BUN-08"),
		makeCase("may-revert", "The second transaction may revert; the hash is the same.",
			m.send(object{"revertingTxHashes": m.hashes(1)}, "", reverting, 0, 1), "RPC-BUN-10"),
		makeCase("refund", "40 % of what the last transaction pays, for the sender of the first one.",
			m.send(object{"refundPercent": 40}, "", refund, 0, 1)),
		makeCase("refund-named", "99 % of what the named transaction pays, for the named recipient.",
			m.send(object{"refundPercent": 99, "refundTxHashes": m.hashes(0), "refundRecipient": friend}, "", named, 0, 1)),
		makeCase("replaceable", "With a replacementUuid the hash is the same.",
			m.send(object{"replacementUuid": uuidA}, "", m.terms(0, 1), 0, 1), "RPC-BUN-11"),
		makeCase("builders", "With named builders the hash is the same.",
			m.send(object{"builders": []string{"default"}}, "", m.terms(0, 1), 0, 1)),
	}
}

func (m *market) refusedSends() (cases []BundleCase) {
	cut := encodeTx(m.txs[0])
	cut = cut[:len(cut)-2]
	many := slices.Repeat([]int{0}, 101)
	for _, row := range []struct {
		name, says string
		more       object
		txs        []int
		refusal    string
		clauses    []string
	}{
		{"empty", "There is no transaction and nothing to cancel.", nil, nil, "bundle-empty", []string{"RPC-BUN-02"}},
		{"too-many", "101 transactions.", nil, many, "bundle-too-many-txs", []string{"RPC-BUN-03"}},
		{"tx-cut", "The last byte of a transaction is missing.", object{"txs": []string{cut}}, nil, "bundle-undecodable",
			[]string{"RPC-BUN-05"}},
		{"tx-no-hex", "A transaction is no hexadecimal text.", object{"txs": []string{"transaction"}}, nil,
			"bundle-undecodable", []string{"RPC-BUN-05"}},
		{"tx-other-chain", "A transaction of another chain.", object{"txs": []string{encodeTx(m.foreign)}}, nil,
			"bundle-undecodable", []string{"RPC-BUN-16"}},
		{"block-over", "The block is there already.", object{"blockNumber": "0x64"}, []int{0}, "invalid-inclusion",
			[]string{"RPC-BUN-06"}},
		{"block-no-number", "blockNumber is no number.", object{"blockNumber": "next"}, []int{0}, "invalid-params",
			[]string{"RPC-BUN-07"}},
		{"timestamps-turned", "maxTimestamp is before minTimestamp.",
			object{"minTimestamp": headTime + 24, "maxTimestamp": headTime + 12}, []int{0}, "invalid-timestamps",
			[]string{"RPC-BUN-09"}},
		{"timestamp-over", "maxTimestamp is that of the newest block.", object{"maxTimestamp": headTime}, []int{0},
			"invalid-timestamps", nil},
		{"uuid-no-uuid", "replacementUuid is another text.", object{"replacementUuid": "mine"}, []int{0}, "invalid-params",
			[]string{"RPC-BUN-11"}},
		{"refund-all", "100 % is more than can be given back.", object{"refundPercent": 100}, []int{0},
			"invalid-refund", nil},
		{"refund-stranger", "refundTxHashes names a transaction that is not in the bundle.",
			object{"refundPercent": 10, "refundTxHashes": m.hashes(2)}, []int{0}, "invalid-refund", nil},
		{"refund-two", "refundTxHashes names two transactions.",
			object{"refundPercent": 10, "refundTxHashes": m.hashes(0, 1)}, []int{0, 1}, "invalid-refund", nil},
		{"version-unknown", "A version that there is not.", object{"version": "v9"}, []int{0}, "bundle-version", nil},
	} {
		cases = append(cases, makeCase(row.name, row.says, m.send(row.more, row.refusal, nil, row.txs...), row.clauses...))
	}
	return cases
}

// setSigner returns a step with another signer.
func setSigner(signer string, s BundleStep) BundleStep {
	s.Signer = signer
	return s
}

// replacements are sequences: a replacementUuid is a name that its signer gives to an order.
func (m *market) replacements() []BundleCase {
	named := func(uuid string, txs ...int) BundleStep {
		return m.send(object{"replacementUuid": uuid}, "", m.terms(txs...), txs...)
	}
	cancel := func(uuid string) BundleStep {
		return m.step(cancelBundle, object{"replacementUuid": uuid}, "", nil)
	}
	first, second := m.terms(0).BundleHash, m.terms(1).BundleHash
	seq := func(name, says string, live []common.Hash, steps ...BundleStep) BundleCase {
		return BundleCase{Name: name, Says: says, Live: live, Steps: steps}
	}
	replaced := seq("same-name", "A second order of this name takes the first one's place.", []common.Hash{second},
		named(uuidA, 0), named(uuidA, 1))
	replaced.Clauses = []string{"RPC-BUN-21"}
	nilUUID := "00000000-0000-0000-0000-000000000000"
	unnamed := seq("nil-name", "The nil UUID is no name.", []common.Hash{first, second}, named(nilUUID, 0),
		named(nilUUID, 1))
	unnamed.Clauses = []string{"RPC-BUN-17"}
	again := seq("again", "The same order again is the same order.", []common.Hash{first}, named(uuidA, 0),
		named(uuidA, 0))
	again.Clauses = []string{"RPC-BUN-15"}
	return []BundleCase{
		replaced, unnamed, again,
		seq("other-name", "Orders of two names stay beside each other.", []common.Hash{first, second}, named(uuidA, 0),
			named(uuidB, 1)),
		seq("other-signer", "A name is its signer's: another signer's order of this name replaces nothing.",
			[]common.Hash{first, second}, named(uuidA, 0), setSigner(m.other, named(uuidA, 1))),
		seq("cancelled", "eth_cancelBundle ends the order of a name.", []common.Hash{}, named(uuidA, 0), cancel(uuidA)),
		seq("cancelled-by-other", "Another signer's cancel ends nothing.", []common.Hash{first}, named(uuidA, 0),
			setSigner(m.other, cancel(uuidA))),
		seq("cancelled-other-name", "A cancel of another name ends nothing.", []common.Hash{first}, named(uuidA, 0),
			cancel(uuidB)),
		seq("cancelled-by-empty", "An eth_sendBundle without transactions cancels.", []common.Hash{}, named(uuidA, 0),
			m.send(object{"replacementUuid": uuidA}, "", nil)),
		seq("three-versions", "Only the newest of three versions counts.", []common.Hash{first}, named(uuidA, 1),
			named(uuidA, 2), named(uuidA, 0)),
	}
}
