package relay

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// The most specific range counts, wherever it stands; 0 refuses; without a quality it is 1.
func TestForms(t *testing.T) {
	both := []string{jsonType, sszType}
	for _, row := range []struct {
		ranges []mediaRange
		header string
		want   []string
	}{
		{nil, "", both},
		{[]mediaRange{{"*/*", -1}}, "*/*", both},
		{[]mediaRange{{"*/*", 900}, {jsonType, 100}}, "*/*;q=0.9, application/json;q=0.1", []string{sszType}},
		{[]mediaRange{{sszType, 501}, {jsonType, 510}}, "application/octet-stream;q=0.501, application/json;q=0.51",
			[]string{jsonType}},
		{[]mediaRange{{"application/*", 500}, {sszType, 0}}, "application/*;q=0.5, application/octet-stream;q=0",
			[]string{jsonType}},
		{[]mediaRange{{"text/html", 1000}, {"*/*", 0}}, "text/html;q=1, */*;q=0", nil},
		{[]mediaRange{{"Application/JSON", 1}}, "Application/JSON;q=0.001", []string{jsonType}},
		{[]mediaRange{{"application/xml", -1}}, "application/xml", nil},
	} {
		if got := forms(row.ranges); !slices.Equal(got, row.want) {
			t.Errorf("%s: %v", row.header, got)
		}
		if got := acceptOf(row.ranges); got != row.header {
			t.Errorf("%q for %q", got, row.header)
		}
	}
}

// The plans of one run show each of these servers, whatever the seed.
func TestAcceptPlansShowWhatIsWrong(t *testing.T) {
	for what, change := range map[string]func(r *mediaRange){
		"qualities are not read":      func(r *mediaRange) { r.quality = -1 },
		"one digit of them is read":   func(r *mediaRange) { r.quality = r.quality / 100 * 100 },
		"two digits of them are read": func(r *mediaRange) { r.quality = r.quality / 10 * 10 },
		"0 is the least":              func(r *mediaRange) { r.quality = max(r.quality, 1-r.quality*r.quality*2) },
		"application/* is not read": func(r *mediaRange) {
			if r.media == "application/*" {
				r.media = "text/plain"
			}
		},
		"letters count": func(r *mediaRange) {
			if r.media == "Application/JSON" {
				r.media = "text/plain"
			}
		},
	} {
		for seed := range uint64(20) {
			random, shown := rand.New(rand.NewPCG(seed, 4)), false
			for range acceptHeaders {
				ranges := acceptPlan(random)
				read := slices.Clone(ranges)
				for i := range read {
					change(&read[i])
				}
				want, got := forms(ranges), forms(read)
				shown = shown || len(want) == 0 != (len(got) == 0) ||
					slices.ContainsFunc(got, func(form string) bool { return !slices.Contains(want, form) })
			}
			if !shown {
				t.Errorf("%s, seed %d: no header shows it", what, seed)
			}
		}
	}
}
