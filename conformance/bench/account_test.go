package bench

import (
	"fmt"
	"testing"
	"time"
)

func TestQuantile(t *testing.T) {
	var hundred []time.Duration
	for i := range 100 {
		hundred = append(hundred, time.Duration(i+1))
	}
	for _, row := range []struct {
		sorted []time.Duration
		share  float64
		want   time.Duration
	}{
		{nil, 0.5, 0}, {hundred[:1], 0.001, 1}, {hundred[:1], 1, 1}, {hundred, 0.5, 50}, {hundred, 0.99, 99},
		{hundred, 0.999, 100}, {hundred, 1, 100}, {hundred[:3], 0.5, 2}, {hundred[:4], 0.5, 2}, {hundred[:4], 0.51, 3},
	} {
		if got := quantile(row.sorted, row.share); got != row.want {
			t.Errorf("%v of %d: %d, want %d", row.share, len(row.sorted), got, row.want)
		}
	}
}

func TestAccount(t *testing.T) {
	ms := func(n int) time.Duration { return time.Duration(n) * time.Millisecond }
	samples := []Sample{
		{Headers, ms(10_000), ms(1), 200, true, 0}, {Headers, ms(10_100), ms(3), 204, true, 0},
		{Headers, ms(11_000), ms(2), 200, true, 0}, {Headers, ms(11_500), ms(900), 500, false, 0},
		{Headers, ms(11_500), ms(5000), 0, false, 0}, {Headers, ms(10_999), ms(2), 200, true, 0},
		{Headers, ms(12_400), ms(1), 200, true, 0}, // in a second that the phase does not fill
		{Submissions, ms(10_000), ms(7), 200, true, 1500},
	}
	all := Account([]Kind{Submissions, Headers, Data}, samples, ms(10_000), ms(12_500), ms(2000))
	if len(all) != 2 || all[0].Kind != Submissions || all[1].Kind != Headers {
		t.Fatalf("measures of %v, want those of submissions and headers", all)
	}
	h := all[1]
	if h.Requests != 7 || h.Good != 5 || h.PerSecond != 2.5 || all[0].Bytes != 1500 {
		t.Errorf("%d requests, %d good, %v a second, %d bytes submitted", h.Requests, h.Good, h.PerSecond, all[0].Bytes)
	}
	if got := fmt.Sprint(h.Statuses); got != "map[200:4 204:1 500:1 none:1]" {
		t.Error(got)
	}
	if h.At(0.5) != 2 || h.At(1) != 3 || h.At(0.42) != 0 {
		t.Errorf("median %v, longest %v", h.At(0.5), h.At(1))
	}
	// the answer to the request at 10.999 came in the second after it
	want := "[{10 2 1 3} {11 2 2 2}]"
	if got := fmt.Sprint(h.Course); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
