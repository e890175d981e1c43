package chain

import (
	"embed"
	"encoding/json"
	"fmt"

	"github.com/ethereum/go-ethereum/accounts/abi"
	"github.com/ethereum/go-ethereum/common/hexutil"
)

//go:embed contracts/*.json
var files embed.FS

// compiled is a contract in the form that scripts/contracts.sh writes.
type compiled struct {
	ABI  abi.ABI       `json:"abi"`
	Code hexutil.Bytes `json:"code"`
}

var (
	token   = load("Token")
	wrapped = load("WrappedEther")
	pool    = load("Pool")
	router  = load("Router")
	backrun = load("Backrun")
)

// load reads a contract that is embedded in this program. It panics if the file is broken.
func load(name string) compiled {
	text, err := files.ReadFile("contracts/" + name + ".json")
	if err != nil {
		panic(err)
	}
	var c compiled
	if err := json.Unmarshal(text, &c); err != nil {
		panic(fmt.Sprintf("%s.json: %v", name, err))
	}
	return c
}
