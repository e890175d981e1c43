package bundle

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/gavel-relay/gavel/rpc"
)

// no is a request that must be refused with exactly this message.
type no struct{ params, want string }

const share = `[{"version":"v0.1","inclusion":{"block":"0x65"},`

// asElement is a bundle in a bundle, with more fields.
func inner(more string) string {
	return `{"bundle":{"version":"v0.1","inclusion":{"block":"0x65"},"body":[{"tx":"$A"}]` + more + `}}`
}

var sendBundleNos = []no{
	{`[{"txs":["$A"],"signingAddress":"@"}]`, "invalid params: params[0].signingAddress: the request is signed by " +
		intake().Signer.Hex() + ": want that or none"},
	{`[{"txs":["$A"],"refundIndex":0}]`,
		"invalid params: params[0].refundIndex: is not known; known are txs, blockNumber, minTimestamp, maxTimestamp, " +
			"revertingTxHashes, replacementUuid, builders, uuid, version, droppingTxHashes, refundPercent, refundRecipient, " +
			"refundTxHashes, delayedRefund, signingAddress"},
	{`[]`, "bundle missing txs"},
	{`[{"txs":null,"blockNumber":"0x65"}]`, "bundle missing txs"},
	{`[{"txs":[],"replacementUuid":"00000000-0000-0000-0000-000000000000"}]`, "bundle missing txs"},
	{`[{"txs":["$A"],"version":"v3"}]`, `unsupported bundle version: params[0].version: "v3", want v1 or v2`},
	{`[{"txs":` + list(101, `""`) + `}]`, "too many txs in bundle: params[0].txs has 101, want at most 100"},
	{`[{"txs":["0x` + strings.Repeat("00", 300_001) + `"]}]`,
		"bundle too large: 300001 bytes of raw transactions, want at most 300000"},
	{`[{"txs":["` + strings.Repeat("00", 150_000) + `","` + strings.Repeat("00", 150_001) + `"]}]`,
		"bundle too large: 300001 bytes of raw transactions, want at most 300000"},
	{`[{"txs":["$A"],"blockNumber":"0x64"}]`,
		"invalid inclusion: params[0].blockNumber: 100 is not above the newest block 100"},
	{`[{"txs":["$A"],"blockNumber":1}]`, "invalid inclusion: params[0].blockNumber: 1 is not above the newest block 100"},
	{`[{"txs":["$A"],"blockNumber":1101}]`,
		"invalid inclusion: params[0].blockNumber: 1101 is more than 1000 above the newest block 100"},
	{`[{"txs":["$A"],"blockNumber":"soon"}]`,
		"invalid params: params[0].blockNumber: want a whole number from 0 to 2^64-1, as a number, 0x-hex or decimal text"},
	{`[{"txs":["$A"],"minTimestamp":1300,"maxTimestamp":1299}]`,
		"invalid timestamps: params[0].maxTimestamp: 1299 is before minTimestamp 1300"},
	{`[{"txs":["$A"],"maxTimestamp":1200}]`,
		"invalid timestamps: params[0].maxTimestamp: 1200 is over, the newest block has 1200"},
	{`[{"txs":["$A"],"replacementUuid":"mine"}]`,
		"invalid params: params[0].replacementUuid: want a UUID like 123e4567-e89b-42d3-a456-426614174000"},
	{`[{"txs":["$A"],"builders":["` + strings.Repeat("x", 101) + `"]}]`,
		"invalid params: params[0].builders[0]: want at most 100 names of at most 100 bytes"},
	{`[{"txs":["$A"],"refundPercent":100}]`, "invalid refund: params[0].refundPercent: 100 is not between 1 and 99"},
	{`[{"txs":["$A"],"refundPercent":-1}]`, "invalid refund: params[0].refundPercent: -1 is not between 1 and 99"},
	{`[{"txs":["$A","$B"],"refundPercent":90,"refundTxHashes":["#A","#B"]}]`,
		"invalid refund: params[0].refundTxHashes: 2 hashes, want at most 1"},
	{`[{"txs":["$A"],"refundPercent":90,"refundTxHashes":["#B"]}]`,
		"invalid refund: params[0].refundTxHashes[0]: " + hashB.Hex() + " is not in the bundle"},
	{`[{"txs":["$A","0xzz"]}]`, "unable to decode bundle: params[0].txs[1]: want hexadecimal bytes"},
	{`[{"txs":["$A",""]}]`, "unable to decode bundle: params[0].txs[1]: typed transaction too short"},
	{`[{"txs":["0x05aa"]}]`, "unable to decode bundle: params[0].txs[0]: transaction type not supported"},
	{`[{"txs":[7]}]`, "invalid params: params[0].txs[0]: want hexadecimal bytes"},
	{`[{"txs":["$A"],"refundRecipient":"0x11"}]`,
		"invalid params: params[0].refundRecipient: want 0x and 40 hexadecimal digits"},
}

var sendShareNos = []no{
	{share + `"body":[{"tx":"$A"}],"simOptions":{}}]`,
		"invalid params: params[0].simOptions: only the outermost bundle of mev_simBundle has options of a simulation"},
	{share + `"body":[` + inner(`,"replacementUuid":"$U"`) + `]}]`,
		"invalid params: params[0].body[0].bundle.replacementUuid: only the outermost bundle has a name"},
	{share + `"body":[` + inner(`,"privacy":{"builders":["titan"]}`) + `]}]`,
		"invalid params: params[0].body[0].bundle.privacy.builders: builders are those of the outermost bundle"},
	{share + `"body":[{"tx":"$A"}],"metadata":{"cancelled":true}}]`,
		"invalid params: params[0].metadata.cancelled: want false: a bundle is cancelled by eth_cancelBundle"},
	{`[]`, "invalid params: params[0]: want an object"},
	{`[{},{"a":1},7]`, "invalid params: too many params: want at most 1"},
	{share + `"body":["$A"]}]`, "invalid params: params[0].body[0]: want an object"},
	{share + `"body":[{"tx":"$A"}],"privacy":{"builders":["` + strings.Repeat("x", 101) + `"]}}]`,
		"invalid params: params[0].privacy.builders[0]: want at most 100 names of at most 100 bytes"},
	{share + `"body":[{"tx":"$A","revertMode":"` + strings.Repeat("ä", 50) + `"}]}]`,
		`invalid revert mode: params[0].body[0].revertMode: "` + strings.Repeat("ä", 20) + `…", want allow, drop or fail`},
	{share + `"body":[{"bundle":{"version":"v0.1","body":[` + inner("") + `]}}]}]`,
		"bundle too deep: params[0].body[0].bundle.body[0].bundle"},
	{`[{"inclusion":{"block":"0x65"},"body":[{"tx":"$A"}]}]`,
		`unsupported bundle version: params[0].version: "", want v0.1, beta-1 or version-1`},
	{share + `"body":[{"bundle":{"version":"v2"}}]}]`,
		`unsupported bundle version: params[0].body[0].bundle.version: "v2", want v0.1, beta-1 or version-1`},
	{`[{"version":"v0.1","inclusion":{"block":"0x70","maxBlock":"0x6f"}}]`,
		"invalid inclusion: params[0].inclusion: maxBlock 111 is below block 112"},
	{`[{"version":"v0.1","inclusion":{"block":101,"maxBlock":132}}]`,
		"invalid inclusion: params[0].inclusion: maxBlock 132 is more than 30 above block 101"},
	{`[{"version":"v0.1","inclusion":{"block":90,"maxBlock":100}}]`,
		"invalid inclusion: params[0].inclusion: the last block 100 is not above the newest block 100"},
	{`[{"version":"v0.1","body":[{"tx":"$A"}]}]`,
		"invalid inclusion: params[0].inclusion.block: missing: want the first block that may have the bundle"},
	{`[{"version":"v0.1","inclusion":{"maxBlock":110},"body":[{"tx":"$A"}]}]`,
		"invalid inclusion: params[0].inclusion.block: missing: want the first block that may have the bundle"},
	{`[{"version":"v0.1","inclusion":{"block":106}}]`,
		"invalid inclusion: params[0].inclusion: block 106 is more than 5 above the newest block 100"},
	{share + `"body":[]}]`, "invalid bundle body size: params[0].body is empty"},
	{share + `"body":[{"bundle":{"version":"v0.1","inclusion":{},"body":[]}}]}]`,
		"invalid bundle body size: params[0].body[0].bundle.body is empty"},
	{share + `"body":[{"hash":"#A","tx":"$A"},{"tx":"$B"}]}]`,
		"invalid bundle body: params[0].body[0]: has hash and tx, want exactly one of hash, tx and bundle"},
	{share + `"body":[{"tx":"$A","bundle":{}}]}]`,
		"invalid bundle body: params[0].body[0]: has tx and bundle, want exactly one of hash, tx and bundle"},
	{share + `"body":[{"bundle":{"version":"v0.1","body":[{"bundle":{},"tx":"$A","hash":"#C"}]}}]}]`,
		"invalid bundle body: params[0].body[0].bundle.body[0]: has hash and tx and bundle, want exactly one of hash, tx " +
			"and bundle"},
	{share + `"body":[{}]}]`, "invalid bundle body: params[0].body[0]: want a hash, a tx or a bundle"},
	{share + `"body":[{"hash":"#A"}]}]`,
		"invalid bundle body: params[0].body[0]: a hash may only be the first of several elements of the outermost bundle"},
	{share + `"body":[{"tx":"$A"},{"hash":"#A"}]}]`,
		"invalid bundle body: params[0].body[1]: a hash may only be the first of several elements of the outermost bundle"},
	{share + `"body":[{"bundle":{"version":"v0.1","body":[{"hash":"#A"},{"tx":"$A"}]}}]}]`,
		"invalid bundle body: params[0].body[0].bundle.body[0]: a hash may only be the first of several elements of the " +
			"outermost bundle"},
	{share + `"body":[{"hash":"#A"},{"tx":"$B"},{"tx":"$C"}]}]`,
		"invalid bundle body: params[0].body: 2 elements follow the first one, want at most 1 (one backrun)"},
	{share + `"body":[{"hash":"#A"},` + inner("") + `]}]`, "invalid bundle body: params[0].body[1]: a backrun is a tx"},
	{share + `"body":[` + inner("") + `,{"tx":"$B"},{"tx":"$C"}],"validity":{"refund":[{"bodyIdx":0,"percent":90}]}}]`,
		"invalid bundle body: params[0].body: 2 elements follow the first one, want at most 1 (one backrun)"},
	{share + `"body":[{"tx":"$A","revertMode":"maybe"}]}]`,
		`invalid revert mode: params[0].body[0].revertMode: "maybe", want allow, drop or fail`},
	{share + `"body":[{"bundle":{"version":"v0.1","inclusion":{"block":102},"body":[{"tx":"$A"}]}}]}]`,
		"invalid inclusion: params[0].body[0].bundle.inclusion: no block in common with the outer bundle's 101 to 101"},
	{`[{"version":"v0.1","inclusion":{"block":95,"maxBlock":110},"body":[{"bundle":{"version":"v0.1","inclusion":{"block":95,"maxBlock":98},` +
		`"body":[{"tx":"$A"}]}}]}]`,
		"invalid inclusion: params[0]: the last common block 98 is not above the newest block 100"},
	{share + `"body":` + list(51, `{"tx":"0x"}`) + `}]`,
		"invalid bundle body size: params[0].body has 51 elements, want at most 50"},
	{share + `"body":[{"bundle":{"version":"v0.1","body":` + list(50, `{"tx":"0x"}`) + `}},{"tx":"0x"}]}]`,
		"invalid bundle body size: params[0].body[1]: more than 50 transactions in all"},
	{share + `"body":[{"tx":"` + strings.Repeat("00", 300_001) + `"}]}]`,
		"bundle too large: 300001 bytes of raw transactions, want at most 300000"},
	{share + `"body":[{"tx":"0x05aa"}]}]`,
		"unable to decode bundle: params[0].body[0].tx: transaction type not supported"},
	{share + `"body":[{"hash":"#A"},{"tx":"$B"}],"validity":{"refund":[{"bodyIdx":0,"percent":1}]}}]`,
		"invalid bundle constraints: params[0].validity.refund: who follows a hash cannot set refunds"},
	{share + `"body":[{"tx":"$A"}],"validity":{"refundConfig":[{"address":"@","percent":101}]}}]`,
		"invalid bundle constraints: params[0].validity.refundConfig[0].percent: 101 is not between 0 and 100"},
	{share + `"body":[{"tx":"$A"}],"validity":{"refundConfig":[{"address":"@","percent":"0x33"},{"address":"@","percent":50}]}}]`,
		"invalid bundle constraints: params[0].validity.refundConfig: the percentages sum to more than 100"},
	{share + `"body":[{"tx":"$A"}],"validity":{"refundConfig":[{"percent":10}]}}]`,
		"invalid params: params[0].validity.refundConfig[0].address: missing"},
	{share + `"body":[{"tx":"$A"}],"validity":{"refund":[{"bodyIdx":1,"percent":1}]}}]`,
		"invalid bundle constraints: params[0].validity.refund[0].bodyIdx: 1, but the body has 1 elements"},
	{share + `"body":[{"tx":"$A"}],"validity":{"refund":[{"bodyIdx":0,"percent":1},{"bodyIdx":"0x0","percent":1}]}}]`,
		"invalid bundle constraints: params[0].validity.refund[1].bodyIdx: element 0 is refunded twice"},
	{share + `"body":[{"tx":"$A"},{"tx":"$B"}],"validity":{"refund":[{"bodyIdx":0,"percent":60},{"bodyIdx":1,"percent":41}]}}]`,
		"invalid bundle constraints: params[0].validity.refund: the percentages sum to more than 100"},
	{share + `"body":[` + inner(`,"validity":{"refund":[{"bodyIdx":0,"percent":-1}]}`) + `]}]`,
		"invalid bundle constraints: params[0].body[0].bundle.validity.refund[0].percent: -1 is not between 0 and 100"},
	{share + `"body":[{"hash":"#A"},{"tx":"$B"}],"privacy":{"hints":["hash"]}}]`,
		"invalid bundle privacy: params[0].privacy.hints: who follows a hash cannot share hints"},
	{share + `"body":[{"tx":"$A"}],"privacy":{"hints":["hash","everything"]}}]`,
		`invalid bundle privacy: params[0].privacy.hints[1]: unknown hint "everything"`},
	{share + `"body":[{"tx":"$A"}],"privacy":{"wantRefund":101}}]`,
		"invalid bundle privacy: params[0].privacy.wantRefund: 101 is not between 0 and 100"},
}

var callBundleNos = []no{
	{`[]`, "bundle missing txs"},
	{`[{"txs":[],"blockNumber":"0x65"}]`, "bundle missing txs"},
	{`[{"txs":["$A"],"stateBlockNumber":"latest"}]`, "bundle missing blockNumber"},
	{`[{"txs":["$A"],"blockNumber":"0x"}]`, "bundle missing blockNumber"},
	{`[{"txs":` + list(101, `""`) + `}]`, "too many txs in bundle: params[0].txs has 101, want at most 100"},
	{`[{"txs":["$A"],"blockNumber":"0x65","stateBlockNumber":"safe"}]`,
		"invalid params: params[0].stateBlockNumber: want a block: its number, its hash, latest, pending or earliest"},
	{`[{"txs":["zz"],"blockNumber":"0x65"}]`, "unable to decode bundle: params[0].txs[0]: want hexadecimal bytes"},
	{`[{"txs":["$A"],"blockNumber":"0x65","transactionIndex":1}]`,
		"invalid params: params[0].transactionIndex: a bundle is simulated at the top of a block: leave it out, or " +
			"simulate the transactions before it, too"},
	{`[{"txs":["$A"],"blockNumber":"0x65","timeout":1.5}]`,
		"invalid params: params[0].timeout: want a whole number from 0 to 2^64-1, as a number, 0x-hex or decimal text"},
}

var simBundleNos = []no{
	{share + `"body":[` + inner(`,"simOptions":{"timeout":1}`) + `]}]`,
		"invalid params: params[0].body[0].bundle.simOptions: only the outermost bundle of mev_simBundle has options of a " +
			"simulation"},
	{share + `"body":[{"hash":"#A"},{"tx":"$B"}]}]`, "unmatched bundle"},
	{`[{"version":"v0.1","body":[{"tx":"$A"}]}]`,
		"invalid inclusion: params[0].inclusion.block: missing: want the first block that may have the bundle"},
	{`[{"version":"v0.1","inclusion":{"block":9,"maxBlock":8}}]`,
		"invalid inclusion: params[0].inclusion: maxBlock 8 is below block 9"},
	{share + `"body":[{"tx":"$A"}]},{"coinbase":"0x1"}]`,
		"invalid params: params[1].coinbase: want 0x and 40 hexadecimal digits"},
	{share + `"body":[{"tx":"$A"}]},{},7]`, "invalid params: too many params: want at most 2"},
	{share + `"body":[{"tx":"$A"}]},{"blockHeight":"0x9"}]`,
		`invalid params: params[1].blockHeight: is not known; known are parentBlock, blockNumber, number, coinbase, timestamp, time, gasLimit, baseFee, timeout`},
	{share + `"body":[{"tx":"$A"}],"simOptions":{"Coinbase":null}}]`,
		`invalid params: params[0].simOptions.Coinbase: is not known; known are parentBlock, blockNumber, number, coinbase, timestamp, time, gasLimit, baseFee, timeout`},
	{share + `"body":[{"tx":"$A"}]},{"number":"0x9","blockNumber":8}]`,
		"invalid params: params[1]: blockNumber and number differ, and mean the same"},
}

var sendPrivateNos = []no{
	{`[]`, "invalid params: params[0].tx: missing"},
	{`[{"tx":"$A","maxBlockNumber":"0x64"}]`,
		"invalid inclusion: params[0].maxBlockNumber: 100 is not above the newest block 100"},
	{`[{"tx":"` + strings.Repeat("00", 300_001) + `"}]`,
		"bundle too large: 300001 bytes of raw transactions, want at most 300000"},
	{`[{"tx":"$A","preferences":{"builders":["` + strings.Repeat("x", 101) + `"]}}]`,
		"invalid params: params[0].preferences.builders[0]: want at most 100 names of at most 100 bytes"},
	{`[{"tx":"0x02"}]`, "unable to decode bundle: params[0].tx: typed transaction too short"},
	{`[{"tx":"$A","preferences":{"privacy":{"hints":["x"]}}}]`,
		`invalid bundle privacy: params[0].preferences.privacy.hints[0]: unknown hint "x"`},
	{`[{"tx":"$A","preferences":{"validity":{"refund":[{"address":"@","percent":60},{"address":"@","percent":60}]}}}]`,
		"invalid bundle constraints: params[0].preferences.validity.refund: the percentages sum to more than 100"},
	{`[{"tx":"$A","preferences":{"fast":1}}]`, "invalid params: params[0].preferences.fast: want true or false"},
}

var sendPrivateRawNos = []no{
	{`[]`, "invalid params: params[0]: missing"},
	{`["0x02"]`, "unable to decode bundle: params[0]: typed transaction too short"},
	{`["$A",{"privacy":{"hints":["x"]}}]`, `invalid bundle privacy: params[1].privacy.hints[0]: unknown hint "x"`},
	{`["$A",{},"0x70"]`, "invalid params: too many params: want at most 2"},
}

var cancelBundleNos = []no{
	{`[{"replacementUuid":"$U","signingAddress":"@"}]`,
		"invalid params: params[0].signingAddress: the request is signed by " + intake().Signer.Hex() +
			": want that or none"},
	{`[]`, "invalid params: params[0].replacementUuid: missing"},
	{`[{"replacementUuid":"00000000-0000-0000-0000-000000000000"}]`, "invalid params: params[0].replacementUuid: missing"},
	{`[{"replacementUuid":"mine"}]`,
		"invalid params: params[0].replacementUuid: want a UUID like 123e4567-e89b-42d3-a456-426614174000"},
}

var cancelPrivateNos = []no{
	{`[{}]`, "invalid params: params[0].txHash: missing"},
	{`[{"txHash":"0x12"}]`, "invalid params: params[0].txHash: want 0x and 64 hexadecimal digits"},
}

// reader is a method by name: what it must refuse, and how.
type reader struct {
	method string
	nos    []no
	read   func(params []byte, in Intake) error
}

var readers = []reader{
	{"eth_sendBundle", sendBundleNos, func(p []byte, in Intake) error { _, _, err := ReadSendBundle(p, in); return err }},
	{"mev_sendBundle", sendShareNos, func(p []byte, in Intake) error { _, err := ReadSendShare(p, in); return err }},
	{"eth_callBundle", callBundleNos, func(p []byte, in Intake) error { _, err := ReadCallBundle(p, in); return err }},
	{"mev_simBundle", simBundleNos, func(p []byte, in Intake) error { _, err := ReadSimBundle(p, in); return err }},
	{"eth_sendPrivateTransaction", sendPrivateNos, func(p []byte, in Intake) error {
		_, err := ReadSendPrivate(p, in)
		return err
	}},
	{"eth_sendPrivateRawTransaction", sendPrivateRawNos, func(p []byte, in Intake) error {
		_, err := ReadSendPrivateRaw(p, in)
		return err
	}},
	{"eth_cancelBundle", cancelBundleNos, func(p []byte, in Intake) error {
		_, err := ReadCancelBundle(p, in.Signer)
		return err
	}},
	{"eth_cancelPrivateTransaction", cancelPrivateNos, func(p []byte, _ Intake) error {
		_, err := ReadCancelPrivate(p)
		return err
	}},
}

// Each rule of each method has its message, and the message the way to the field.
func TestRefusals(t *testing.T) {
	for _, r := range readers {
		for i, no := range r.nos {
			t.Run(fmt.Sprint(r.method, "/", i), func(t *testing.T) {
				if got := refusal(t, r.read(fill(no.params), intake())); got != no.want {
					t.Errorf("%.300s\n got %s\nwant %s", no.params, got, no.want)
				}
			})
		}
	}
}

// No refusal of the catalogue's section "Bundles" is without a request that gets it here, but the
// one that only the pool can know.
func TestAllRefusalsAreTested(t *testing.T) {
	first := slices.Index(rpc.Refusals, rpc.BundleUndecodable)
	last := slices.Index(rpc.Refusals, rpc.BackrunNotFound)
	for _, r := range rpc.Refusals[first:last] {
		tested := slices.ContainsFunc(readers, func(reader reader) bool {
			return slices.ContainsFunc(reader.nos, func(no no) bool {
				return no.want == r.Short || strings.HasPrefix(no.want, r.Short+": ")
			})
		})
		if !tested {
			t.Errorf("nothing is refused with %s", r.ID)
		}
	}
}

// A transaction of another chain, and one whose signature is none, have no sender here.
func TestSendersAreOfThisChain(t *testing.T) {
	in := intake()
	in.Chain = otherChain
	for _, r := range readers {
		params := map[string]string{
			"eth_sendBundle": `[{"txs":["$A"]}]`, "mev_sendBundle": share + `"body":[{"tx":"$A"}]}]`, "mev_simBundle": share +
				`"body":[{"tx":"$A"}]}]`,
			"eth_callBundle": `[{"txs":["$A"],"blockNumber":1}]`, "eth_sendPrivateTransaction": `[{"tx":"$A"}]`,
			"eth_sendPrivateRawTransaction": `["$A"]`,
		}[r.method]
		if params == "" {
			continue
		}
		got := refusal(t, r.read(fill(params), in))
		if !strings.HasPrefix(got, "unable to decode bundle: params[0]") ||
			!strings.Contains(got, "invalid chain id for signer") {
			t.Errorf("%s: %s", r.method, got)
		}
	}
}

// What is cheap to find wrong is found before what is dear: a request that breaks all rules is
// refused for the first one.
func TestCheapRulesComeFirst(t *testing.T) {
	for _, c := range []struct{ params, want string }{
		{`[{"version":"v9","txs":["zz"],"blockNumber":1,"refundPercent":100}]`, "unsupported bundle version"},
		{`[{"txs":` + list(101, `7`) + `,"blockNumber":1,"refundPercent":100}]`, "too many txs in bundle"},
		{`[{"txs":["` + strings.Repeat("z", 600_002) + `"],"blockNumber":1,"refundPercent":100}]`, "bundle too large"},
		{`[{"txs":["zz"],"blockNumber":1,"refundPercent":100}]`, "invalid inclusion"},
		{`[{"txs":["zz"],"refundPercent":100}]`, "invalid refund"},
		{`[{"txs":["$A","zz"],"refundPercent":50,"refundTxHashes":["#C"]}]`, "unable to decode bundle"},
	} {
		_, _, err := ReadSendBundle(fill(c.params), intake())
		if got := refusal(t, err); !strings.HasPrefix(got, c.want) {
			t.Errorf("%.80s: %s, want %s", c.params, got, c.want)
		}
	}
}
