package clock

import "testing"

// A thread that waits for a disk is not idle: the file that it syncs is not written yet.
func TestThreadWorks(t *testing.T) {
	for stat, want := range map[string]bool{
		"12 (gavel) R 1 12 12 0": true, "12 (gavel) D 1 12 12 0": true, "12 (gavel) S 1 12 12 0": false,
		"12 (gavel) t 1 12 12 0": false, "12 (a) S) (b) D 1 12": true, "12 (a) D 1) S 1 12": false, "": true,
		"12 (gavel) ": true,
	} {
		if got := works([]byte(stat)); got != want {
			t.Errorf("%q works: %v, want %v", stat, got, want)
		}
	}
}
