package query

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"
)

// Shell reads statements, each up to its semicolon at the end of a line, and writes their answers
// until the input ends. A statement that fails is told, and the next one is read. With a prompt,
// which is for people, it says first which tables there are.
func (db *DB) Shell(ctx context.Context, in io.Reader, out io.Writer, format string, prompt bool) error {
	if prompt {
		fmt.Fprintf(out, "Tables: %s. DESCRIBE bids; shows columns. A statement ends with ; and Ctrl-D ends the shell.\n",
			strings.Join(db.tables, ", "))
	}
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20)
	var statement strings.Builder
	ask := func() {
		switch {
		case !prompt:
		case statement.Len() == 0:
			fmt.Fprint(out, "> ")
		default:
			fmt.Fprint(out, "… ")
		}
	}
	for ask(); lines.Scan(); ask() {
		statement.WriteString(lines.Text() + "\n")
		if !strings.HasSuffix(strings.TrimSpace(lines.Text()), ";") {
			continue
		}
		db.answer(ctx, statement.String(), out, format)
		statement.Reset()
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("read statements: %w", err)
	}
	if rest := strings.TrimSpace(statement.String()); rest != "" {
		db.answer(ctx, rest, out, format)
	}
	if prompt {
		fmt.Fprintln(out)
	}
	return nil
}

func (db *DB) answer(ctx context.Context, statement string, out io.Writer, format string) {
	answer, err := db.Ask(ctx, statement)
	if err == nil {
		err = answer.Write(out, format)
	}
	if err != nil {
		fmt.Fprintln(out, "error:", err)
	}
}
