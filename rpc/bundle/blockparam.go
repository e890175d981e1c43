package bundle

import (
	"errors"
	"reflect"
	"strings"

	"github.com/ethereum/go-ethereum/common"
)

// Block names a block whose state is wanted: by number, by hash, as {"blockNumber": …} or
// {"blockHash": …}, or by a tag: latest, pending (which means latest, there is no other state for
// it) and earliest. Some clients send a hash as a number, which drops its leading zeros. So hex
// text of more than 16 digits is read as a hash and padded.
type Block struct {
	// Set says that the request names a block: the latest one, or the one with Hash if that is not
	// zero, else the one with Number.
	Set    bool
	Latest bool
	Hash   common.Hash
	Number uint64
}

var errBlock = errors.New("want a block: its number, its hash, latest, pending or earliest")

// Read implements Field.
func (b *Block) Read(raw []byte) error {
	*b = Block{}
	if len(raw) > 0 && raw[0] == '{' {
		return b.readObject(raw)
	}
	digits, absent, err := numeral(raw)
	if err != nil || absent {
		return explain(err, errBlock)
	}
	switch digits {
	case "": // Go clients send this for no block
		return nil
	case "latest", "pending":
		*b = Block{Set: true, Latest: true}
		return nil
	case "earliest":
		*b = Block{Set: true}
		return nil
	}
	if rest, hex := isHex(digits); hex && len(rest) > 16 {
		return b.readHash(rest)
	}
	number, err := parseUint(digits)
	if err != nil {
		return errBlock
	}
	*b = Block{Set: true, Number: number}
	return nil
}

func (b *Block) readHash(digits string) error {
	const whole = 2 * common.HashLength
	if len(digits) > whole {
		return errBlock
	}
	padded := "0x" + strings.Repeat("0", whole-len(digits)) + digits
	if err := parseFixed(padded, b.Hash[:]); err != nil {
		return errBlock
	}
	b.Set = true
	return nil
}

// blockObject is the form in which Go and Rust clients write a hash. A state is found by its hash
// whether or not its block is on the chain, so requireCanonical is refused.
type blockObject struct {
	BlockNumber      Number     `json:"blockNumber"`
	BlockHash        *HashParam `json:"blockHash"`
	RequireCanonical bool       `json:"requireCanonical"`
}

var _ = Prepare[blockObject]()

func (b *Block) readObject(raw []byte) error {
	var object blockObject
	if err := decodeParam(raw, reflect.ValueOf(&object).Elem()); err != nil {
		return err
	}
	switch {
	case object.RequireCanonical:
		return withinMember("requireCanonical", errors.New("want false: whether the block is on the chain is not looked at"))
	case object.BlockHash != nil && object.BlockNumber.Set:
		return errors.New("want a blockNumber or a blockHash, not both")
	case object.BlockHash != nil:
		*b = Block{Set: true, Hash: common.Hash(*object.BlockHash)}
	case object.BlockNumber.Set:
		*b = Block{Set: true, Number: object.BlockNumber.Value}
	default:
		return errBlock
	}
	return nil
}
