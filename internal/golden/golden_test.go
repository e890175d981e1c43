package golden

import "testing"

func TestReplaceSection(t *testing.T) {
	const before, after = "# By hand\n<!-- generated: x -->\n", "<!-- end: x -->\nBy hand again.\n"
	for _, old := range []string{"", "old\n", "\n| old |\n\n"} {
		got, err := replaceSection(before+old+after, "x", "\nnew\n")
		if want := before + "\nnew\n\n" + after; err != nil || got != want {
			t.Errorf("%q: %q, %v; want %q", old, got, err, want)
		}
	}
	for _, broken := range []string{"", before, after, "<!-- generated: y -->\n<!-- end: y -->"} {
		if got, err := replaceSection(broken, "x", "new"); err == nil {
			t.Errorf("%q gives %q", broken, got)
		}
	}
}
