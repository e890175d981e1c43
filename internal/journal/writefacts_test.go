package journal

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
)

// The facts of a journal, while it runs and afterwards, from a number on and of some subjects.
func TestWriteFacts(t *testing.T) {
	cfg := Config{Dir: t.TempDir()}
	ctx := context.WithoutCancel(t.Context())
	j, err := Open(ctx, withTestQuota(cfg))
	if err != nil {
		t.Fatal(err)
	}
	messages := []string{`{"n":1}`, `[{"n":2},{"n":"<3>"}]`, `{"n":4}`, `{"n":5}`}
	for i, message := range messages {
		subject := map[bool]string{true: "rpc.b", false: "relay.a"}[i == 2]
		if _, err := j.Append(t.Context(), subject, []byte(message)); err != nil {
			t.Fatal(err)
		}
	}
	write := func(after uint64, subjects ...string) string {
		var out bytes.Buffer
		if err := j.WriteFacts(t.Context(), after, subjects, &out); err != nil {
			t.Fatal(err)
		}
		return seen(t, j.ID(), out.String())
	}
	all := `1 relay.a {"n":1}, 2 relay.a [{"n":2},{"n":"<3>"}], 3 rpc.b {"n":4}, 4 relay.a {"n":5}`
	for got, want := range map[string]string{
		write(0, ">"):       all,
		write(1, "relay.>"): `2 relay.a [{"n":2},{"n":"<3>"}], 4 relay.a {"n":5}`,
		write(3, ">"):       `4 relay.a {"n":5}`,
		write(4, ">"):       "",
	} {
		if got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
	if err := j.WriteFacts(ctx, 0, []string{">"}, fullDisk{}); !errors.Is(err, errNoSpace) {
		t.Errorf("a full disk: %v", err)
	}
	if err := j.Close(ctx); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := WriteFacts(ctx, cfg, 0, &out); err != nil {
		t.Fatal(err)
	}
	if got := seen(t, j.ID(), out.String()); got != all {
		t.Errorf("of the closed journal: %s\nwant %s", got, all)
	}
}

var errNoSpace = errors.New("full")

type fullDisk struct{}

// Write implements io.Writer.
func (fullDisk) Write([]byte) (int, error) { return 0, errNoSpace }

// seen reads lines of facts, which all are of one journal and have a time.
func seen(t *testing.T, id, text string) string {
	t.Helper()
	var all []string
	for line := range strings.Lines(text) {
		var f factLine
		if err := json.Unmarshal([]byte(line), &f); err != nil || f.Journal != id || f.At.IsZero() ||
			!strings.HasPrefix(line, `{"journal":`) {
			t.Fatalf("%s: %v", line, err)
		}
		all = append(all, fmt.Sprintf("%d %s %s", f.Seq, f.Subject, f.Fact))
	}
	return strings.Join(all, ", ")
}
