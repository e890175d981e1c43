package eth

import (
	"fmt"
	"strconv"
)

// ParseDecimal reads a decimal number of at most so many bits: digits only, without a leading zero.
func ParseDecimal(text string, bits int) (uint64, error) {
	n, err := strconv.ParseUint(text, 10, bits)
	if err != nil || len(text) > 1 && (text[0] == '0' || text[0] == '+') {
		return 0, fmt.Errorf("want a decimal number below 2^%d, without leading zeros", bits)
	}
	return n, nil
}
