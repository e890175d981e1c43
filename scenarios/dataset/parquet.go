package dataset

import (
	"fmt"
	"strconv"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/schema"
)

// layout is how cells of a type stand in a Parquet file. Hashes, keys and addresses are text with
// 0x in lower case, as in all archives, so that tables can be joined with them. Amounts are
// DECIMAL(38,0): an exact number for DuckDB, pandas, Spark and ClickHouse, none of which has a
// column type of 256 bits in common with the others.
type layout struct {
	name    string
	logical schema.LogicalType
	kind    parquet.Type
	length  int
	// unique: cells are rarely equal, so that a dictionary of them is of no use.
	unique bool
}

func physical(cell any) layout {
	text := func(length int, unique bool) layout {
		return layout{"UTF8, " + strconv.Itoa(length) + " characters", schema.StringLogicalType{},
			parquet.Types.ByteArray, -1, unique}
	}
	switch cell.(type) {
	case *Int, *Signed:
		return layout{"INT64", schema.NewIntLogicalType(64, true), parquet.Types.Int64, -1, false}
	case *Time:
		return layout{
			"TIMESTAMP(µs, UTC)", schema.NewTimestampLogicalType(true, schema.TimeUnitMicros),
			parquet.Types.Int64, -1, false,
		}
	case *Bool:
		return layout{"BOOLEAN", schema.NoLogicalType{}, parquet.Types.Boolean, -1, false}
	case *Wei, *Change:
		return layout{
			"DECIMAL(38,0), 16 bytes", schema.NewDecimalLogicalType(38, 0), parquet.Types.FixedLenByteArray, 16,
			true,
		}
	case *millisTime:
		return layout{
			"TIMESTAMP(ms, UTC)", schema.NewTimestampLogicalType(true, schema.TimeUnitMillis),
			parquet.Types.Int64, -1, false,
		}
	case *textList:
		return layout{"list of UTF8", schema.StringLogicalType{}, parquet.Types.ByteArray, -1, false}
	case *littleWei:
		return layout{"32 bytes, the least first", schema.NoLogicalType{}, parquet.Types.FixedLenByteArray, 32, true}
	case *Hash:
		return text(66, true)
	case *Key:
		return text(98, false)
	case *Address:
		return text(42, false)
	case *Text:
		return layout{"UTF8", schema.StringLogicalType{}, parquet.Types.ByteArray, -1, false}
	case *Blob:
		return layout{"BYTE_ARRAY", schema.NoLogicalType{}, parquet.Types.ByteArray, -1, true}
	}
	panic(fmt.Sprintf("a cell cannot be a %T", cell))
}
