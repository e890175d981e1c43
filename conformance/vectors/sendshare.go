package vectors

import (
	"slices"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"
)

const shareBundle = "mev_sendBundle"

// share makes a mev_sendBundle for the next block; more are further members of its object.
func (m *market) share(more object, refusal string, order *OrderTerms, body ...any) BundleStep {
	param := object{"version": "v0.1", "inclusion": object{"block": nextBlock}, "body": slices.Concat([]any{}, body)}
	for name, value := range more {
		param[name] = value
	}
	return m.step(shareBundle, param, refusal, order)
}

// tx is an element of a body.
func (m *market) tx(i int) object { return object{"tx": encodeTx(m.txs[i]), "canRevert": false} }

// inner is an element that is a bundle.
func (m *market) inner(txs ...int) object {
	body := []any{}
	for _, i := range txs {
		body = append(body, m.tx(i))
	}
	return object{"bundle": object{"version": "v0.1", "inclusion": object{"block": nextBlock}, "body": body}}
}

// shareCases are accepted. The hash of one element is the element's, that of several the Keccak-256
// of theirs.
func (m *market) shareCases() []BundleCase {
	a, b, c := m.txs[0].Hash(), m.txs[1].Hash(), m.txs[2].Hash()
	two := func() *OrderTerms { return &OrderTerms{BundleHash: concat(a, b), TxHashes: m.hashes(0, 1)} }
	wide := two()
	wide.FirstBlock, wide.LastBlock = headNumber+1, headNumber+31
	reverting := two()
	reverting.MayRevert = m.hashes(1)
	refunds := two()
	refunds.Refunds = []RefundTerm{{0, 30}, {1, 70}}
	payees := two()
	payees.Refunds, payees.Payees = []RefundTerm{{0, 90}}, []Payee{{friend, 60}, {m.sender, 40}}
	var hints []string
	for _, hint := range hintNames {
		hints = append(hints, hint.name)
	}
	return []BundleCase{
		makeCase("one", "One transaction: the hash is the transaction's.",
			m.share(nil, "", &OrderTerms{BundleHash: a, TxHashes: m.hashes(0)}, m.tx(0)), "RPC-SHR-23", "RPC-SHR-02"),
		makeCase("two", "Two transactions: the hash is that of both hashes, one after the other.",
			m.share(nil, "", two(), m.tx(0), m.tx(1)), "RPC-SHR-24"),
		makeCase("inner", "A transaction after a bundle: the bundle's hash stands for it.",
			m.share(nil, "", &OrderTerms{BundleHash: concat(concat(a, b), c), TxHashes: m.hashes(0, 1, 2)},
				m.inner(0, 1), m.tx(2)),
			"RPC-SHR-11"),
		makeCase("inner-one", "A bundle of one transaction has that transaction's hash also inside.",
			m.share(nil, "", &OrderTerms{BundleHash: concat(a, b), TxHashes: m.hashes(0, 1)}, m.inner(0), m.tx(1)),
			"RPC-SHR-11"),
		makeCase("window", "For 31 blocks: the hash is the same.", m.share(object{"inclusion": object{"block": nextBlock,
			"maxBlock": "0x83"}}, "", wide, m.tx(0), m.tx(1)), "RPC-SHR-24"),
		makeCase("may-revert", "The second transaction may revert: the hash is the same.", m.share(nil, "", reverting,
			m.tx(0),
			object{"tx": encodeTx(m.txs[1]), "canRevert": true}), "RPC-SHR-10"),
		makeCase("hints", "Everything is shared: the hash is the same.",
			m.share(object{"privacy": object{"hints": hints}}, "", two(), m.tx(0), m.tx(1)), "RPC-SHR-18"),
		makeCase("refunds", "30 % of what the first element pays is given back, and 70 % of what the second one pays.",
			m.share(object{"validity": object{"refund": []object{{"bodyIdx": 0, "percent": 30},
				{"bodyIdx": 1, "percent": 70}}}}, "", refunds, m.tx(0), m.tx(1))),
		makeCase("refund-payees", "A refund is split among two addresses.",
			m.share(object{"validity": object{"refund": []object{{"bodyIdx": 0, "percent": 90}},
				"refundConfig": []object{{"address": friend, "percent": 60}, {"address": m.sender, "percent": 40}}}}, "", payees,
				m.tx(0), m.tx(1))),
		m.followed(),
	}
}

// followed is an order that follows another one by its matching hash. The order's own hash is made
// with the matching hash; when it is matched, the other order takes its place.
func (m *market) followed() BundleCase {
	leader := &OrderTerms{BundleHash: m.txs[0].Hash(), TxHashes: m.hashes(0)}
	match := crypto.Keccak256Hash(leader.BundleHash[:])
	follower := &OrderTerms{BundleHash: concat(match, m.txs[2].Hash()), TxHashes: m.hashes(2)}
	return BundleCase{
		Name: "backrun", Says: "The second order follows the first one, by the hash of its hash.",
		Steps: []BundleStep{
			m.share(object{"privacy": object{"hints": []string{"hash"}}}, "", leader, m.tx(0)),
			setSigner(m.other, m.share(nil, "", follower, object{"hash": match}, m.tx(2))),
		},
		Live: []common.Hash{leader.BundleHash, follower.BundleHash}, Clauses: []string{"RPC-SHR-26"},
	}
}

// refund and inclusion are members of a mev_sendBundle.
func refund(list ...object) object { return object{"validity": object{"refund": list}} }

func inclusion(block, most any) object {
	return object{"inclusion": object{"block": block, "maxBlock": most}}
}

func (m *market) refusedShares() (cases []BundleCase) {
	match := object{"hash": common.Hash{0xaa}}
	deep := m.inner(0)
	deep["bundle"].(object)["body"] = []any{m.inner(0)}
	for _, row := range []struct {
		name, says string
		more       object
		body       []any
		refusal    string
		clauses    []string
	}{
		{"version-unknown", "A version that there is not.", object{"version": "v9"}, []any{m.tx(0)}, "bundle-version",
			[]string{"RPC-SHR-03"}},
		{"block-missing", "inclusion.block is missing.", object{"inclusion": object{}}, []any{m.tx(0)}, "invalid-inclusion",
			[]string{"RPC-SHR-04"}},
		{"window-turned", "maxBlock is below block.", inclusion("0x66", "0x65"), []any{m.tx(0)}, "invalid-inclusion",
			[]string{"RPC-SHR-05"}},
		{"window-wide", "The last block is 31 after the first one.", inclusion("0x65", "0x84"), []any{m.tx(0)},
			"invalid-inclusion", []string{"RPC-SHR-07"}},
		{"window-over", "All blocks are there already.", inclusion("0x60", "0x64"), []any{m.tx(0)}, "invalid-inclusion",
			[]string{"RPC-SHR-08"}},
		{"body-empty", "The body is empty.", nil, nil, "invalid-bundle-body-size", []string{"RPC-SHR-09"}},
		{"body-long", "51 transactions.", nil, slices.Repeat([]any{m.tx(0)}, 51), "invalid-bundle-body-size",
			[]string{"RPC-SHR-25"}},
		{"hash-second", "A hash stands after a transaction.", nil, []any{m.tx(0), match}, "invalid-bundle-body",
			[]string{"RPC-SHR-13"}},
		{"backruns-two", "Two transactions follow the hash.", nil, []any{match, m.tx(0), m.tx(1)}, "invalid-bundle-body",
			[]string{"RPC-SHR-14"}},
		{"element-two-kinds", "An element has a hash and a transaction.", nil,
			[]any{object{"hash": common.Hash{0xaa}, "tx": encodeTx(m.txs[0])}, m.tx(1)}, "invalid-bundle-body",
			[]string{"RPC-SHR-30"}},
		{"element-no-kind", "An element is none of hash, tx and bundle.", nil, []any{object{}}, "invalid-bundle-body",
			[]string{"RPC-SHR-30"}},
		{"deep", "A bundle in a bundle in a bundle.", nil, []any{deep}, "bundle-too-deep", nil},
		{"refunds-above-all", "The refunds sum to 101 %.", refund(object{"bodyIdx": 0, "percent": 50},
			object{"bodyIdx": 1, "percent": 51}), []any{m.tx(0), m.tx(1)}, "invalid-bundle-constraints",
			[]string{"RPC-SHR-15"}},
		{"refund-no-element", "bodyIdx is an element that there is not.", refund(object{"bodyIdx": 1, "percent": 10}),
			[]any{m.tx(0)}, "invalid-bundle-constraints", []string{"RPC-SHR-16"}},
		{"refund-twice", "Two refunds are for one element.", refund(object{"bodyIdx": 0, "percent": 10},
			object{"bodyIdx": 0, "percent": 10}), []any{m.tx(0)}, "invalid-bundle-constraints", nil},
		{"payees-above-all", "The recipients' percentages sum to 101.", object{"validity": object{
			"refund": []object{{"bodyIdx": 0, "percent": 10}}, "refundConfig": []object{{"address": friend, "percent": 60},
				{"address": m.sender, "percent": 41}}}}, []any{m.tx(0)}, "invalid-bundle-constraints", []string{"RPC-SHR-17"}},
		{"hint-unknown", "A hint that there is not.", object{"privacy": object{"hints": []string{"everything"}}},
			[]any{m.tx(0)}, "invalid-bundle-privacy", []string{"RPC-SHR-19"}},
		{"follower-hints", "A bundle that follows a hash has hints of its own.",
			object{"privacy": object{"hints": []string{"hash"}}}, []any{match, m.tx(0)}, "invalid-bundle-privacy",
			[]string{"RPC-SHR-29"}},
		{"revert-mode-unknown", "A revertMode that there is not.", nil,
			[]any{object{"tx": encodeTx(m.txs[0]), "revertMode": "perhaps"}}, "invalid-revert-mode", nil},
	} {
		cases = append(cases, makeCase(row.name, row.says, m.share(row.more, row.refusal, nil, row.body...), row.clauses...))
	}
	cut := object{"tx": encodeTx(m.txs[0])[:len(encodeTx(m.txs[0]))-2]}
	return append(cases,
		makeCase("hash-alone", "Nothing follows the hash.", m.share(nil, "invalid-bundle-body", nil, match)),
		makeCase("tx-cut", "The last byte of a transaction is missing.", m.share(nil, "bundle-undecodable", nil, cut)))
}
