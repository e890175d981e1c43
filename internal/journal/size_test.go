package journal

import "testing"

// Each part says what it takes, however the journal is kept.
func TestBytes(t *testing.T) {
	manners(t, func(t *testing.T, cfg Config) {
		j := open(t, cfg)
		before := map[Part]int64{}
		for _, part := range []Part{Facts, Escrow, Evidence} {
			before[part] = j.Bytes(part)
		}
		value := make([]byte, 1<<20)
		if _, err := j.Append(t.Context(), "fact", value); err != nil {
			t.Fatal(err)
		}
		if err := j.Put(t.Context(), "key", value); err != nil {
			t.Fatal(err)
		}
		if err := j.Keep(t.Context(), "key", value); err != nil {
			t.Fatal(err)
		}
		for part, was := range before {
			if more := j.Bytes(part) - was; was < 0 || more < 1<<20 || more > 1<<20+1<<10 {
				t.Errorf("%s took %d bytes, and %d more", part, was, more)
			}
		}
		if got := j.Bytes("nothing"); got != -1 {
			t.Errorf("%d", got)
		}
	})
}
