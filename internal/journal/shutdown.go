package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// closedName is a file that marks the folder of an embedded journal that was closed in order.
// Opening the journal removes it.
const closedName = "closed"

// ClosedCleanly says whether the journal was closed in order before it was opened. Then everything
// was on its disk, so no power cut has taken facts from it.
func (j *Journal) ClosedCleanly() bool { return j.closedCleanly }

// noteOpened removes the mark of the last Close, and syncs that: a power cut must not bring the
// mark back.
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

// noteClosed syncs all that the engine has written, and marks the folder. It is called after the
// engine has ended.
func noteClosed(dir string) error {
	if err := syncAll(dir); err != nil {
		return err
	}
	if err := writeSynced(filepath.Join(dir, closedName), nil); err != nil {
		return fmt.Errorf("note that the journal is closed: %w", sizeText(err))
	}
	return nil
}
