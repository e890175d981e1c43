package chain

import (
	"slices"

	"github.com/ethereum/go-ethereum/common"
)

// DepositContract is the address whose logs are deposits (EIP-6110).
var DepositContract = common.HexToAddress("0x00000000219ab540356cBB839Cbe05303d7705Fa")

// depositEvent is the topic of DepositEvent(bytes,bytes,bytes,bytes,bytes): public key, withdrawal
// credentials, amount, signature, index.
var depositEvent = common.HexToHash("0x649bbc62d0e31342afea4e5cd82d4049e7e1ee912fc0889aa790803be39038c5")

// depositCode stands in for the deposit contract: it logs its 576 bytes of call data as a deposit
// event. It keeps no tree and takes no ether, because no validator is ever activated here. It
// reverts on call data of another length, because a deposit log that cannot be read makes a block
// invalid.
var depositCode = slices.Concat(
	[]byte{0x61, 0x02, 0x40, 0x36, 0x14, 0x60, 0x0d, 0x57}, // if calldatasize == 576 goto 0x0d
	[]byte{0x60, 0x00, 0x60, 0x00, 0xfd},                   // revert(0, 0)
	[]byte{0x5b, 0x36, 0x60, 0x00, 0x60, 0x00, 0x37},       // 0x0d: calldatacopy(0, 0, calldatasize)
	[]byte{0x7f}, depositEvent[:], []byte{0x36, 0x60, 0x00, 0xa1, 0x00}, // log1(0, calldatasize, event), stop
)
