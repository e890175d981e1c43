package journal

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"
	"time"
)

// victimDir, in the environment, makes this test binary the process that
// TestAckedMeansItSurvivesAKill kills.
const victimDir = "GAVEL_JOURNAL_VICTIM_DIR"

func TestMain(m *testing.M) {
	if dir := os.Getenv(victimDir); dir != "" {
		if err := victim(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if of := os.Getenv(serverOf); of != "" {
		if err := serveCluster(of); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// victim has one of each acked, says so, and waits for its end.
func victim(dir string) error {
	ctx := context.Background()
	j, err := Open(ctx, Config{Dir: dir})
	if err != nil {
		return err
	}
	if _, err := j.Append(ctx, "a", []byte("fact")); err != nil {
		return err
	}
	if err := j.Put(ctx, "block", bytes.Repeat([]byte{7}, 1200<<10)); err != nil {
		return err
	}
	if _, _, err := j.Claim(ctx, "slot-1", []byte("root")); err != nil {
		return err
	}
	fmt.Println("acked")
	_, err = io.Copy(io.Discard, os.Stdin) // until killed
	return err
}

//gavel:fault kill
func TestAckedMeansItSurvivesAKill(t *testing.T) {
	dir := t.TempDir()
	process := exec.CommandContext(t.Context(), os.Args[0])
	process.Env = append(os.Environ(), victimDir+"="+dir)
	process.Stderr = os.Stderr
	if _, err := process.StdinPipe(); err != nil { // held open, or the victim would end by itself
		t.Fatal(err)
	}
	out, err := process.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	line, readErr := bufio.NewReader(out).ReadString('\n')

	if _, err := Open(t.Context(), Config{Dir: dir}); !errors.Is(err, ErrInUse) {
		t.Errorf("a second process opens the folder: %v, want ErrInUse", err)
	}
	if err := process.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = process.Wait() // says that it was killed
	if readErr != nil || line != "acked\n" {
		t.Fatalf("the victim said %q, %v", line, readErr)
	}

	j := open(t, Config{Dir: dir})
	if got := read(t, j, 1, 1); got[0] != "1 a fact" {
		t.Errorf("facts %q", got)
	}
	if value, err := j.Get(t.Context(), "block"); err != nil || len(value) != 1200<<10 {
		t.Errorf("escrow: %d bytes, %v", len(value), err)
	}
	if current, won, err := j.Claim(t.Context(), "slot-1", []byte("other")); err != nil || won ||
		string(current) != "root" {
		t.Errorf("guard %q, %v, %v: want the claim from before the crash", current, won, err)
	}
}

func TestFolderHasOneOwner(t *testing.T) {
	cfg := Config{Dir: t.TempDir()}
	first, err := Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	if second, err := Open(t.Context(), cfg); !errors.Is(err, ErrInUse) || second != nil {
		t.Errorf("%v, %v, want nothing and ErrInUse", second, err)
	}
	if _, err := first.Append(t.Context(), "a", nil); err != nil {
		t.Errorf("the owner was disturbed: %v", err)
	}
	shut(t, first)
	open(t, cfg) // free again
}

func TestEscrowForgets(t *testing.T) {
	j := open(t, Config{EscrowFor: 100 * time.Millisecond}) // the engine's least
	if err := j.Put(t.Context(), "key", []byte("value")); err != nil {
		t.Fatal(err)
	}
	if _, won, err := j.Claim(t.Context(), "slot-1", []byte("root")); err != nil || !won {
		t.Fatal(won, err)
	}
	// However long it takes: a value that never goes away ends with the test's own deadline.
	for {
		_, err := j.Get(t.Context(), "key")
		if errors.Is(err, ErrNotFound) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if current, won, err := j.Claim(t.Context(), "slot-1", []byte("other")); err != nil || won ||
		string(current) != "root" {
		t.Errorf("guard %q, %v, %v: claims do not expire", current, won, err)
	}
}

func TestFlushTellsOfLostFacts(t *testing.T) {
	j := open(t, Config{})
	if err := j.js.DeleteStream(t.Context(), factsName); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if err := j.AppendAsync("a", nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := j.Flush(t.Context()); err == nil {
		t.Error("nothing is said of three lost facts")
	}
	if err := j.Flush(t.Context()); err != nil {
		t.Errorf("told twice: %v", err)
	}
	if j.Unacked() != 3 {
		t.Errorf("%d messages are counted as never acked, want 3", j.Unacked())
	}
}

func TestReaderIsToldOfTheEnd(t *testing.T) {
	j, err := Open(t.Context(), Config{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := j.Append(t.Context(), "a", nil); err != nil {
		t.Fatal(err)
	}
	reading := make(chan struct{})
	ended := make(chan error, 1)
	go func() {
		ended <- j.Read(t.Context(), 1, func(uint64, time.Time, string, []byte) error {
			close(reading)
			return nil
		})
	}()
	<-reading
	shut(t, j)
	if err := <-ended; !errors.Is(err, ErrClosed) {
		t.Errorf("%v, want ErrClosed", err)
	}
}

func TestTooGreatAValueIsRefused(t *testing.T) {
	j := open(t, Config{})
	if err := j.Put(t.Context(), "key", make([]byte, maxValue+1)); err == nil {
		t.Error("kept")
	}
	if err := j.AppendAsync("a", make([]byte, maxValue+1)); err == nil {
		t.Error("appended")
	}
}
