package bundle

import (
	"slices"
	"testing"

	"github.com/gavel-relay/gavel/internal/mutate"
)

// Params say one thing, whoever reads them. What clients write in several forms is taken in all of them.
func TestMutatedParams(t *testing.T) {
	exceptions := []mutate.Exception{
		{Where: "0.*", What: "null", Why: "null is as good as nothing"},
		{Where: "0.*", What: "missing", Why: "all can be left out: without transactions the name is cancelled"},
		{Where: "0.blockNumber", What: "no bytes", Why: "a block of 0 is the next one"},
		{Where: "0.minTimestamp", What: "bare", Why: "numbers come in all forms"},
		{Where: "0.minTimestamp", What: "a leading zero", Why: "numbers come in all forms"},
		{Where: "0.minTimestamp", What: "hexadecimal", Why: "numbers come in all forms"},
		{Where: "0.replacementUuid", What: "no text", Why: "some clients send an empty name with every bundle"},
		{Where: "0.txs.0", What: "no 0x", Why: "hex comes without 0x too"},
		{Where: "", What: "tail *", Why: "the envelope passes on one whole list, and nothing behind it"},
	}
	for _, where := range []string{"0.blockNumber", "0.revertingTxHashes.0", "0.txs.0"} {
		exceptions = append(exceptions, mutate.Exception{Where: where, What: "0X", Why: "hex comes with 0X too"})
	}
	for _, what := range []string{"*in capitals", "*with a capital", "*with a Kelvin sign", "*with a long s"} {
		exceptions = append(exceptions, mutate.Exception{Where: "0.*", What: what, Why: "names are exact, and others count for nothing"})
	}
	good := fill(`[{"txs":["$A"],"blockNumber":"0x65","revertingTxHashes":["#A"],"replacementUuid":"$U","minTimestamp":"1"}]`)
	mutate.Check(t, good, func(params []byte) error {
		_, _, err := ReadSendBundle(slices.Clone(params), intake())
		return err
	}, exceptions...)
}
