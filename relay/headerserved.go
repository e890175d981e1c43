package relay

import (
	"encoding/hex"
	"strconv"
	"time"
)

// AppendJSON appends the fact as encoding/json writes it. It is written by hand because it is written once for every header a proposer asks for,
// on the same processors that serve the next one.
func (h HeaderServed) AppendJSON(to []byte) []byte {
	to = append(to, `{"at":"`...)
	to = h.At.AppendFormat(to, time.RFC3339Nano)
	to = append(to, `","slot":"`...)
	to = strconv.AppendUint(to, uint64(h.Slot), 10)
	to = append(to, `","proposer_pubkey":"0x`...)
	to = hex.AppendEncode(to, h.Proposer[:])
	to = append(to, `","block_hash":"0x`...)
	to = hex.AppendEncode(to, h.BlockHash[:])
	to = append(to, `","builder_pubkey":"0x`...)
	to = hex.AppendEncode(to, h.Builder[:])
	to = append(to, `","value":`...)
	if h.ValueWei == nil {
		return append(to, "null}"...)
	}
	to = append(to, '"')
	if h.ValueWei.IsUint64() { // any value below 18.4 ether
		to = strconv.AppendUint(to, h.ValueWei.Uint64(), 10)
	} else {
		to = append(to, h.ValueWei.Dec()...)
	}
	return append(to, `"}`...)
}
