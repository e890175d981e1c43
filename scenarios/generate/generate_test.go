package generate

import (
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"
)

func TestTry(t *testing.T) {
	n, _ := strconv.Atoi(os.Getenv("N"))
	began := time.Now()
	out := map[string]int{}
	err := Run(t.Context(), Config{Seed: 1, Slots: n}, 300, func(slot int, rows *Rows) error {
		if rows == nil {
			return nil
		}
		for _, b := range rows.Bids {
			out[fmt.Sprintf("builder %x", b.Builder.V[:3])]++
			out["bid "+string(b.Refusal)+fmt.Sprint(b.Optimistic, b.Verified)]++
		}
		for _, b := range rows.Slots {
			out[fmt.Sprintf("winner %x", b.Builder.V[:3])]++
			out["slot "+string(b.Outcome)+" "+string(b.Because)+" "+string(b.Relay)]++
		}
		for _, b := range rows.Requests {
			out["request "+string(b.Kind)+" "+string(b.Outcome)+" "+string(b.Refusal)]++
		}
		for _, b := range rows.Orders {
			out["order "+string(b.Kind)+" "+string(b.State)+" "+string(b.Reason)]++
		}
		out["deliveries"] += len(rows.Deliveries)
		for _, b := range rows.Deliveries {
			if b.PaidWei != b.ValueWei {
				out["unpaid"]++
			}
		}
		out["stages"] += len(rows.Stages)
		out["reg"] += len(rows.Registrations)
		return nil
	})
	for k, v := range out {
		fmt.Println(v, k)
	}
	fmt.Println(time.Since(began))
	if err != nil {
		t.Fatal(err)
	}
}
