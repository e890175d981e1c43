package stream

import (
	"encoding/hex"
	"math/big"

	"github.com/holiman/uint256"
)

// object writes a JSON object, key by key.
type object struct {
	to    []byte
	begun bool
}

// key writes a key, and returns the slice to which the value must be appended.
func (o *object) key(key string) []byte {
	if o.begun {
		o.to = append(o.to, ',')
	}
	o.begun = true
	o.to = append(append(append(o.to, '"'), key...), `":`...)
	return o.to
}

func (o *object) bytes(key string, value []byte) { o.to = appendBytes(o.key(key), value) }

// big adds a quantity of any size, because a signed value may have more than 256 bits.
func (o *object) big(key string, value *big.Int) {
	o.to = append(value.Append(append(o.key(key), `"0x`...), 16), '"')
}

func (o *object) end() []byte { return append(o.to, '}') }

// appendBytes writes bytes in lower-case hex.
func appendBytes(to, value []byte) []byte {
	return append(hex.AppendEncode(append(to, `"0x`...), value), '"')
}

// appendQuantity writes a number in hex without leading zeros.
func appendQuantity(to []byte, n *uint256.Int) []byte {
	return append(append(append(to, '"'), n.Hex()...), '"')
}

// appendList writes a list. elements must each be followed by a comma; without elements the list is
// null.
func appendList(to, elements []byte) []byte {
	if len(elements) == 0 {
		return append(to, "null"...)
	}
	to = append(append(to, '['), elements...)
	to[len(to)-1] = ']'
	return to
}
