package dataset

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/parquet"
)

// byteOrder is the order of the bytes in a column of 32-byte numbers.
type byteOrder int

const (
	// noBytes: the column is decimal text, or an integer of Parquet.
	noBytes byteOrder = iota
	littleEndian
	bigEndian
)

func (o byteOrder) String() string {
	return [...]string{"is no bytes", "has the least byte first", "has the least byte last"}[o]
}

// Why the values of a file cannot be read.
var (
	errMixedOrders = errors.New("value: some numbers are below 10^38 only in big-endian order, others only in " +
		"little-endian order")
	errNoOrder = errors.New("value: no number is below 10^38 in exactly one byte order, so that the order cannot " +
		"be known")
	errNotDelivered = errors.New("value: the blocks of the file that were delivered have other values there than here, " +
		"in either byte order")
)

// fewDelivered are too few delivered blocks to say that a file's values are no bids in wei.
const fewDelivered = 10

// orderOfValues finds out in which order the bytes of the values are, and notes how. ClickHouse
// writes a UInt256 with the least byte first, while Parquet's decimals have it last. An amount
// below 10^38 wei read in the wrong order is at least 2^128 (unless it is 0), and so not an amount:
// each value but 0 says which order it has. All of a file must say the same. Where the data set
// knows what was delivered, the values of these blocks must be found among the file's, too.
func orderOfValues(in parquet.ReaderAtSeeker, from Origin, to Sink) (byteOrder, error) {
	names := []string{"value"}
	if from.Delivered != nil {
		names = append(names, "slot", "block_hash")
	}
	cols, err := openColumns(in, names)
	if err != nil || cols.open[0].kind != parquet.Types.FixedLenByteArray {
		return noBytes, err
	}
	seen := orders{delivered: map[Hash]bool{}}
	for {
		n, err := cols.next()
		if err != nil {
			return noBytes, err
		}
		if n == 0 {
			break
		}
		for i := range n {
			if err := seen.look(cols, i, from); err != nil {
				return noBytes, err
			}
		}
	}
	order, note, err := seen.decide()
	if err != nil || note == "" {
		return order, err
	}
	return order, to.Note(note)
}

// orders counts in which order values are amounts.
type orders struct {
	rows, little, big int
	// delivered has the blocks that were delivered, and whether one of the file's bids for it has the
	// delivered value.
	delivered map[Hash]bool
}

func (o *orders) look(cols *columns, i int, from Origin) error {
	raw := cols.open[0].bytes(i)
	if len(bytes.Trim(raw, "\x00")) == 0 {
		return nil
	}
	o.rows++
	asBig, notBig := weiOfBytes(raw)
	asLittle, notLittle := weiOfBytes(reversed(raw))
	value := asBig
	switch {
	case notBig == nil && notLittle != nil:
		o.big++
	case notLittle == nil && notBig != nil:
		o.little++
		value = asLittle
	default:
		return nil
	}
	if from.Delivered == nil {
		return nil
	}
	var slot Int
	var block Hash
	if cols.open[1].fill(&slot, i) != nil || cols.open[2].fill(&block, i) != nil || !slot.Known || !block.Known {
		return nil // a bad row, which the second reading tells
	}
	paid, err := from.Delivered(slot.V, block)
	if err != nil || len(paid) == 0 {
		return err
	}
	o.delivered[block] = o.delivered[block] || slices.Contains(paid, value)
	return nil
}

// decide also says in words how the order is known.
func (o *orders) decide() (order byteOrder, note string, err error) {
	switch {
	case o.rows == 0:
		return littleEndian, "", nil // nothing but zeros, which are the same in both
	case o.little > 0 && o.big > 0:
		return noBytes, "", errMixedOrders
	case o.big > 0:
		order = bigEndian
	case o.little > 0:
		order = littleEndian
	default:
		return noBytes, "", errNoOrder
	}
	same := 0
	for _, agrees := range o.delivered {
		if agrees {
			same++
		}
	}
	switch compared := len(o.delivered); {
	case compared == 0:
		return order, fmt.Sprintf("value %s: in the other order no amount is possible; the data set has none of the blocks "+
			"as delivered, to compare with", order), nil
	case same == 0 && compared >= fewDelivered:
		return noBytes, "", errNotDelivered
	default:
		return order, fmt.Sprintf("value %s: %d of %d delivered blocks have the delivered value", order, same, compared), nil
	}
}

func reversed(raw []byte) []byte {
	raw = slices.Clone(raw)
	slices.Reverse(raw)
	return raw
}
