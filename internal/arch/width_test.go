package arch

import (
	"go/scanner"
	"go/token"
	"strings"
	"testing"
	"unicode/utf8"
)

// Widths in characters; a tab counts as one. Text in comments wraps early, because it is read like
// a book. A picture (an indented line of a comment) can't wrap.
const (
	textCols    = 100
	codeCols    = 120
	pictureCols = 140
)

// Every line of Go can be read without scrolling. Raw strings are exempt: they are documents of
// other languages (SQL, JSON, HTML), and a break would change them.
func TestLinesAreNarrow(t *testing.T) {
	for path, text := range goFiles(t) {
		for _, l := range wideLines([]byte(text)) {
			t.Errorf("%s:%d has %d characters, and may have %d", path, l.number, l.cols, l.limit)
		}
	}
}

func TestWideLines(t *testing.T) {
	words := "// " + strings.Repeat("word ", 20)
	long := "var x = " + strings.Repeat("1 + ", 30) + "1"
	for name, c := range map[string]struct {
		src  string
		want int
	}{
		"text":              {words, 1},
		"a picture":         {"//\t" + words, 0},
		"a wide picture":    {"//\t" + words + words, 1},
		"code":              {long, 1},
		"code that fits":    {long[:120], 0},
		"a comment behind":  {long[:20] + " + 1 " + words, 1},
		"a raw string":      {"var s = `\n" + long + "\n`", 0},
		"behind raw string": {"var s = `\n`\n" + long, 1},
		"a directive":       {"//go:generate " + long, 0},
	} {
		if got := wideLines([]byte("package x\n\n" + c.src + "\n")); len(got) != c.want {
			t.Errorf("%s: %v, want %d", name, got, c.want)
		}
	}
}

type wideLine struct{ number, cols, limit int }

func wideLines(src []byte) (wide []wideLine) {
	raw := rawStrings(src)
	for i, line := range strings.Split(string(src), "\n") {
		limit := codeCols
		switch code := strings.TrimLeft(line, "\t"); {
		case raw[i+1], strings.HasPrefix(code, "//go:"):
			continue
		case strings.HasPrefix(code, "//\t"), strings.HasPrefix(code, "//  "):
			limit = pictureCols
		case strings.HasPrefix(code, "//"):
			limit = textCols
		}
		if cols := utf8.RuneCountInString(line); cols > limit {
			wide = append(wide, wideLine{i + 1, cols, limit})
		}
	}
	return wide
}

// rawStrings are the lines that a raw string stands on.
func rawStrings(src []byte) map[int]bool {
	files := token.NewFileSet()
	file := files.AddFile("", -1, len(src))
	var s scanner.Scanner
	s.Init(file, src, nil, 0)
	lines := map[int]bool{}
	for {
		pos, tok, lit := s.Scan()
		if tok == token.EOF {
			return lines
		}
		if tok == token.STRING && lit[0] == '`' {
			first := files.Position(pos).Line
			for n := range strings.Count(lit, "\n") + 1 {
				lines[first+n] = true
			}
		}
	}
}

// goFiles are the texts of all Go files that people write, by path.
func goFiles(t *testing.T) map[string]string {
	t.Helper()
	files := map[string]string{}
	for path, text := range sources(t) {
		if strings.HasSuffix(path, ".go") && !strings.Contains(text, "DO NOT EDIT.\n") {
			files[path] = text
		}
	}
	return files
}
