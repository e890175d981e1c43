package fault

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/gavel-relay/gavel/internal/journal"
)

// journalDir, in the environment beside useDir, makes this test binary a service whose machine
// loses its power: what is left of its disk is put there.
const journalDir = "GAVEL_TEST_JOURNAL_DIR"

// serviceDir, in the environment, makes this test binary the service.
const serviceDir = "GAVEL_TEST_SERVICE_DIR"

// roomFor is enough for a journal in a test.
const roomFor = 64 << 20

// State whose change was answered is on the disk: it outlives a power cut right after the answer,
// also what was put in place of older state, or dropped. So do facts that were synced. (Others of
// that second may be gone.)
//
//gavel:fault power-cut
func TestStateOutlivesAPowerCut(t *testing.T) {
	left := t.TempDir()
	onDisk(t, t.TempDir(), journalDir+"="+left)
	dir := filepath.Join(left, "journal")
	if err := os.Remove(filepath.Join(dir, "place.json")); err != nil { // the disk that it was on was another one
		t.Fatal(err)
	}
	j, err := journal.Open(t.Context(), journal.Config{Dir: dir, FactsBytes: roomFor, EscrowBytes: roomFor})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := j.Close(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	if j.ClosedCleanly() {
		t.Error("a power cut is taken for an end in good order")
	}
	for _, subject := range []string{"lab.switch", "lab.builder.x"} {
		if got, err := j.State(t.Context(), subject); err != nil || string(got) != "answered" {
			t.Errorf("%s is %q, %v", subject, got, err)
		}
	}
	if got, err := j.State(t.Context(), "lab.gone"); !errors.Is(err, journal.ErrNotFound) {
		t.Errorf("what was dropped is %q, %v", got, err)
	}
	if got, err := j.LastOf(t.Context(), "cancel"); err != nil || string(got) != "synced" {
		t.Errorf("the synced fact is %q, %v", got, err)
	}
	if standing, won, err := j.Claim(t.Context(), "slot-1", []byte("other")); err != nil || won {
		t.Errorf("claim: %q, %v, %v", standing, won, err)
	}
}

// useJournal has a service change state on a disk, whose power goes with the last answer.
func useJournal(dir string) error {
	d := NewDisk()
	unmount, err := d.Mount(dir)
	if err != nil {
		return err
	}
	service := exec.Command(os.Args[0])
	service.Env, service.Stderr = append(os.Environ(), serviceDir+"="+dir), os.Stdout
	in, inErr := service.StdinPipe() // the service ends with this process
	out, outErr := service.StdoutPipe()
	if err := errors.Join(inErr, outErr, service.Start()); err != nil {
		return errors.Join(err, unmount())
	}
	answer, err := bufio.NewReader(out).ReadString('\n')
	err = errors.Join(err, service.Process.Kill(), in.Close())
	_ = service.Wait() // says that it was killed
	if answer != answeredByDisk {
		err = errors.Join(err, fmt.Errorf("the service answered %q", answer))
	}
	d.Cut()
	return errors.Join(err, unmount(), d.Save(os.Getenv(journalDir)))
}

// answeredByDisk is what the service says when the journal has answered its last change of state.
const answeredByDisk = "answered\n"

// changeState is the service.
func changeState(dir string) error {
	ctx := context.Background()
	j, err := journal.Open(ctx, journal.Config{Dir: filepath.Join(dir, "journal"), FactsBytes: roomFor,
		EscrowBytes: roomFor})
	if err != nil {
		return err
	}
	_, _, err = j.Claim(ctx, "slot-1", []byte("root"))
	err = errors.Join(err, j.PutState(ctx, "lab.gone", []byte("here")), j.DropState(ctx, "lab.gone"))
	for n := range 100 {
		_, factErr := j.Append(ctx, "fact", fmt.Append(nil, n))
		err = errors.Join(err, factErr, j.PutState(ctx, "lab.switch", fmt.Append(nil, n)))
	}
	_, factErr := j.Append(ctx, "cancel", []byte("synced"))
	if err := errors.Join(err, factErr, j.SyncFacts(), j.PutState(ctx, "lab.switch", []byte("answered")),
		j.PutState(ctx, "lab.builder.x", []byte("answered"))); err != nil {
		return err
	}
	fmt.Print(answeredByDisk)
	_, err = io.Copy(io.Discard, os.Stdin) // until killed
	return err
}
