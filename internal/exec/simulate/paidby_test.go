package simulate_test

import (
	"testing"

	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/internal/exec"
)

// Where single transactions pay for a refund, only theirs counts, also that of the one who is
// refunded; and a refund that is not worth its gas is owed all the same.
func TestPaidBy(t *testing.T) {
	r, env, a, b, c := scenario(t)
	for name, row := range map[string]struct {
		paidBy             []int
		percent            int
		baseFeeWei         uint64
		profit, refundable uint64
		gas                uint64
	}{
		"the last one":      {[]int{2}, 40, baseFeeWei, paysA + 2*paysB - percentOf(paysB, 40), paysB, 81_684 + 30_000},
		"the first one":     {[]int{0}, 40, 1, paysA + 2*paysB - percentOf(paysA, 40), paysA, 81_684 + 30_000},
		"not worth its gas": {[]int{0}, 40, baseFeeWei, paysA + 2*paysB - percentOf(paysA, 40), paysA, 81_684},
		"two of them": {[]int{1, 2}, 10, baseFeeWei, paysA + 2*paysB - percentOf(2*paysB, 10), 2 * paysB,
			81_684 + 30_000},
		"nobody, by other rules": {nil, 10, baseFeeWei, paysA + 2*paysB - percentOf(2*paysB, 10), 2 * paysB, 81_684 + 30_000},
	} {
		env.BaseFeeWei = uint256.NewInt(row.baseFeeWei)
		bundle := bundleOf(a, b, c)
		bundle.Refunds, bundle.PaidBy = []exec.Refund{{Element: 0, Percent: row.percent}}, row.paidBy
		got := r.mustSimulate(t, env, bundle)
		if !got.Success || got.ProfitWei.Uint64() != row.profit || got.RefundableWei.Uint64() != row.refundable ||
			got.GasUsed != row.gas {
			t.Errorf("%s: %t %s, profit %s, refundable %s, gas %d; want %d, %d, %d", name, got.Success, got.Error,
				got.ProfitWei.Dec(), got.RefundableWei.Dec(), got.GasUsed, row.profit, row.refundable, row.gas)
		}
	}
}
