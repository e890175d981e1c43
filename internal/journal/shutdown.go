package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// closedName is the file that is in the folder of an embedded journal which was closed in good
// order, until it is opened.
const closedName = "closed"

// ClosedCleanly says whether the journal was closed in good order before it was opened: all that it
// had was on its disk then, so that no power cut has taken facts from it.
func (j *Journal) ClosedCleanly() bool { return j.closedCleanly }

// noteOpened takes away the mark of the life before, for good: a power cut must not bring it back.
func (j *Journal) noteOpened(dir string) error {
	err := os.Remove(filepath.Join(dir, closedName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err = errors.Join(err, syncFolder(dir)); err != nil {
		return fmt.Errorf("note that the journal is open: %w", err)
	}
	j.closedCleanly = true
	return nil
}

// noteClosed syncs all that the engine has written, and marks the folder. The engine has ended.
func noteClosed(dir string) error {
	if err := syncAll(dir); err != nil {
		return err
	}
	if err := writeSynced(filepath.Join(dir, closedName), nil); err != nil {
		return fmt.Errorf("note that the journal is closed: %w", inWords(err))
	}
	return nil
}
