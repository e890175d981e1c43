package bundle

import (
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"
)

func TestBlock(t *testing.T) {
	hash := common.HexToHash("0x00ab" + strings.Repeat("12", 30))
	quoted := `"` + hash.Hex() + `"`
	for _, c := range []struct {
		by, json string
		want     Block
	}{
		{"nothing", `null`, Block{}},
		{"flashbotsrpc: no text", `""`, Block{}},
		{"a tag", `"latest"`, Block{Set: true, Latest: true}},
		{"another", `"pending"`, Block{Set: true, Latest: true}},
		{"the first", `"earliest"`, Block{Set: true}},
		{"a number", `19000000`, Block{Set: true, Number: 19000000}},
		{"ethers: hex", `"0x121eac0"`, Block{Set: true, Number: 19000000}},
		{"decimal text", `"19000000"`, Block{Set: true, Number: 19000000}},
		{"a hash", quoted, Block{Set: true, Hash: hash}},
		{"mev-share-client-ts: a hash that was a number", `"0x` + strings.TrimLeft(hash.Hex()[2:], "0") + `"`,
			Block{Set: true, Hash: hash}},
		{"an object with a number", `{"blockNumber":"0x10"}`, Block{Set: true, Number: 16}},
		{"an object with a hash", `{"blockHash":` + quoted + `,"requireCanonical":false}`, Block{Set: true, Hash: hash}},
		{"an object with both keys", `{"blockHash":null,"blockNumber":16}`, Block{Set: true, Number: 16}},
	} {
		var got Block
		if err := got.Read([]byte(c.json)); err != nil || got != c.want {
			t.Errorf("%s: %s is %+v, %v; want %+v", c.by, c.json, got, err, c.want)
		}
	}
	for _, text := range []string{
		`"safe"`, `"Latest"`, `-1`, `1.5`, `{}`, `[]`, `true`, `"0x` + strings.Repeat("1", 65) + `"`, `"0x` +
			strings.Repeat("g", 64) + `"`,
		`{"blockNumber":"x"}`, `{"blockHash":"0x12"}`, `{"blockNumber":1,"blockNumber":2}`, `{"blockNumber":1,"hash":null}`,
		`{"blockHash":` + quoted + `,"requireCanonical":true}`, `{"blockHash":` + quoted + `,"blockNumber":1}`,
	} {
		var got Block
		if err := got.Read([]byte(text)); err == nil {
			t.Errorf("%s is %+v; want a refusal", text, got)
		}
	}
}
