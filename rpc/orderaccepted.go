package rpc

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/google/uuid"
)

// AppendJSON appends the fact as encoding/json would write it. It is written by hand for speed:
// each accepted order is encoded once, on the processors that also read the next requests. Members
// that few orders have are left to encoding/json. The error is about a time that JSON can't
// express.
func (f OrderAccepted) AppendJSON(to []byte) ([]byte, error) {
	to, err := appendTime(append(to, `{"at":`...), f.At)
	if err != nil {
		return nil, err
	}
	to = append(to, `,"order":`...)
	if f.Order == nil {
		to = append(to, "null"...)
	} else if to, err = f.Order.appendJSON(to); err != nil {
		return nil, err
	}
	return append(appendNumber(to, `,"from":`, f.From), '}'), nil
}

func (o *Order) appendJSON(to []byte) (_ []byte, err error) {
	to = strconv.AppendUint(append(to, `{"id":`...), o.ID, 10)
	to = append(append(to, `,"kind":"`...), o.Kind...) // a constant of this package, which needs no escapes
	to = appendHex(append(to, `","signer":`...), o.Signer[:])
	if to, err = appendTime(append(to, `,"received_at":`...), o.ReceivedAt); err != nil {
		return nil, err
	}
	if to, err = o.Bundle.appendJSON(append(to, `,"bundle":`...)); err != nil {
		return nil, err
	}
	if o.Replacement != uuid.Nil {
		to = append(append(append(to, `,"replacement":"`...), o.Replacement.String()...), '"')
	}
	if to, err = appendList(to, `,"builders":`, o.Builders); err != nil {
		return nil, err
	}
	to = appendTrue(to, `,"all_builders":true`, o.AllBuilders)
	to = appendNumber(to, `,"follows":`, o.Follows)
	return append(to, '}'), nil
}

func (b *Bundle) appendJSON(to []byte) (_ []byte, err error) {
	to = appendHex(append(to, `{"hash":`...), b.Hash[:])
	if to, err = appendElements(append(to, `,"elements":`...), b.Elements); err != nil {
		return nil, err
	}
	to = b.Window.appendJSON(append(to, `,"window":`...))
	if to, err = appendList(to, `,"refunds":`, b.Refunds); err != nil {
		return nil, err
	}
	if to, err = appendList(to, `,"paid_by":`, b.PaidBy); err != nil {
		return nil, err
	}
	to = appendTrue(to, `,"delayed_refund":true`, b.DelayedRefund)
	if to, err = appendList(to, `,"shares":`, b.Shares); err != nil {
		return nil, err
	}
	to = appendNumber(to, `,"hints":`, b.Hints)
	to = appendNumber(to, `,"want_refund_percent":`, b.WantRefundPercent)
	return append(to, '}'), nil
}

func appendElements(to []byte, elements []Element) (_ []byte, err error) {
	if elements == nil {
		return append(to, "null"...), nil
	}
	to = append(to, '[')
	for i := range elements {
		if i > 0 {
			to = append(to, ',')
		}
		if to, err = elements[i].appendJSON(to); err != nil {
			return nil, err
		}
	}
	return append(to, ']'), nil
}

// appendJSON does not check that exactly one of the three members is set: it writes those that are.
func (e *Element) appendJSON(to []byte) (_ []byte, err error) {
	begin := len(to)
	if e.Tx != nil {
		to = e.Tx.appendJSON(append(to, `,"tx":`...))
	}
	if e.Match != nil {
		to = appendHex(append(to, `,"match":`...), e.Match[:])
	}
	if e.Bundle != nil {
		if to, err = e.Bundle.appendJSON(append(to, `,"bundle":`...)); err != nil {
			return nil, err
		}
	}
	if len(to) == begin {
		return append(to, "{}"...), nil
	}
	to[begin] = '{' // in place of the first comma
	return append(to, '}'), nil
}

func (t *Transaction) appendJSON(to []byte) []byte {
	to = appendHex(append(to, `{"raw":`...), t.Raw)
	to = appendHex(append(to, `,"hash":`...), t.Hash[:])
	if t.From != (common.Address{}) {
		to = appendHex(append(to, `,"from":`...), t.From[:])
	}
	to = strconv.AppendUint(append(to, `,"nonce":`...), t.Nonce, 10)
	to = appendTrue(to, `,"can_revert":true`, t.CanRevert)
	to = appendTrue(to, `,"can_drop":true`, t.CanDrop)
	return append(to, '}')
}

func (w *Window) appendJSON(to []byte) []byte {
	to = strconv.AppendUint(append(to, `{"first_block":`...), w.FirstBlock, 10)
	to = strconv.AppendUint(append(to, `,"last_block":`...), w.LastBlock, 10)
	to = appendNumber(to, `,"min_timestamp":`, w.MinTimestamp)
	to = appendNumber(to, `,"max_timestamp":`, w.MaxTimestamp)
	return append(to, '}')
}

func appendHex(to, bytes []byte) []byte {
	return append(hex.AppendEncode(append(to, `"0x`...), bytes), '"')
}

func appendTime(to []byte, at time.Time) ([]byte, error) {
	to, err := at.AppendText(append(to, '"'))
	if err != nil {
		return nil, fmt.Errorf("write a time: %w", err)
	}
	return append(to, '"'), nil
}

// appendTrue, appendNumber and appendList append a member that is left out when it is empty.
func appendTrue(to []byte, member string, value bool) []byte {
	if value {
		to = append(to, member...)
	}
	return to
}

func appendNumber[N ~int | ~uint16 | ~uint64](to []byte, key string, value N) []byte {
	switch {
	case value == 0:
		return to
	case value < 0:
		return strconv.AppendInt(append(to, key...), int64(value), 10)
	}
	return strconv.AppendUint(append(to, key...), uint64(value), 10)
}

func appendList[T any](to []byte, key string, list []T) ([]byte, error) {
	if len(list) == 0 {
		return to, nil
	}
	data, err := json.Marshal(list)
	if err != nil {
		return nil, fmt.Errorf("write a list: %w", err)
	}
	return append(append(to, key...), data...), nil
}
