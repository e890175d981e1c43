package generate

import (
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/scenarios/dataset"
)

// Source is what the column source has in all rows.
const Source dataset.Text = "generated"

func intOf[T ~int | ~int64 | ~uint64](n T) dataset.Int { return dataset.Int{V: int64(n), Known: true} }

func boolOf(v bool) dataset.Bool { return dataset.Bool{V: v, Known: true} }

func timeOf(at time.Time) dataset.Time { return dataset.Time{Micros: at.UnixMicro(), Known: true} }

func hashOf[T ~[32]byte](h T) dataset.Hash { return dataset.Hash{V: h, Known: true} }

func keyOf[T ~[48]byte](k T) dataset.Key { return dataset.Key{V: k, Known: true} }

func addressOf[T ~[20]byte](a T) dataset.Address { return dataset.Address{V: a, Known: true} }

// weiOf is null for nil. No amount here comes near 2^128.
func weiOf(v *uint256.Int) dataset.Wei {
	if v == nil {
		return dataset.Wei{}
	}
	return dataset.Wei{Hi: v[1], Lo: v[0], Known: true}
}

// hashOrNull is null for the zero hash.
func hashOrNull(h common.Hash) dataset.Hash { return dataset.Hash{V: h, Known: h != common.Hash{}} }
