package journal

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// ErrCopied says that a journal's folder is not where it was written: it is a copy, was restored,
// or came from another disk or machine. If the original still runs, the copy would be a second
// guard.
var ErrCopied = errors.New("the journal's folder is not where it was written")

const (
	// locationName is the file that says where a journal's folder is.
	locationName = "place.json"
	// locationFormat is the version of that file. This program reads versions up to it.
	locationFormat = 1
	// machineFile has the identity of the machine, if systemd or D-Bus has made one.
	machineFile = "/etc/machine-id"
)

// location is where a journal's folder is. Its path does not identify it: containers see different
// folders under one path, and one folder under several paths. Empty fields are unknown and not
// compared.
type location struct {
	Format int `json:"format"`
	// Folder and Guard identify the folder and the guard's file by their lasting numbers in the
	// file system. They are empty on a file system whose numbers change with each mount.
	Folder fileNumber `json:"folder"`
	Guard  fileNumber `json:"guard"`
	// FileSystem is the identity of a file system that can make snapshots of itself.
	FileSystem string `json:"file_system,omitempty"`
	// Machine is a hash of the machine's identity, which should stay secret.
	Machine string `json:"machine,omitempty"`
	// Path is compared only if there are no numbers. Like Host it is also shown to operators.
	Path string `json:"path"`
	Host string `json:"host,omitempty"`
}

// fileNumber identifies a file in its file system. A number is reused after the file is gone, but
// with another time of birth.
type fileNumber struct {
	Inode uint64 `json:"inode,omitempty"`
	Born  string `json:"born,omitempty"`
}

// differs compares the parts that both have.
func (n fileNumber) differs(from fileNumber) bool {
	return n.Inode != 0 && from.Inode != 0 && n.Inode != from.Inode || n.Born != "" && from.Born != "" &&
		n.Born != from.Born
}

// moved lists, for operators, how a place differs from the recorded one; nothing if it is the same.
func (p *location) moved(to *location) []string {
	var how []string
	numbers := p.Folder.Inode != 0
	switch {
	case numbers != (to.Folder.Inode != 0):
		how = append(how, "it is on another kind of file system")
	case !numbers && p.Path != to.Path:
		how = append(how, "it is at another path")
	case p.Folder.differs(to.Folder):
		how = append(how, "it is another folder")
	case p.Guard.differs(to.Guard):
		how = append(how, "the guard's file in it is another one")
	}
	if p.FileSystem != "" && to.FileSystem != "" && p.FileSystem != to.FileSystem {
		how = append(how, "it is on another file system, or a snapshot of the same")
	}
	if p.Machine != "" && to.Machine != "" && p.Machine != to.Machine {
		how = append(how, "it is on another machine")
	}
	return how
}

// word is what an operator must give to have a folder taken over. It is a hash of the place and of
// the recorded one, so it has no effect on another copy, nor on this one later.
func word(written []byte, is *location) string {
	where := *is
	where.Host = ""
	if where.Folder.Inode != 0 {
		where.Path = ""
	}
	data, err := json.Marshal(where)
	if err != nil { // numbers and texts
		panic(err)
	}
	sum := sha256.Sum256(append(data, written...))
	return hex.EncodeToString(sum[:4])
}

// checkLocation refuses a folder that is not where it was written, unless moved is its word. A new
// folder, or one of an earlier version, has no record and is accepted.
func (j *Journal) checkLocation(dir, moved string) error {
	written, err := os.ReadFile(filepath.Join(dir, locationName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read where the journal was: %w", err)
	}
	is, err := locationOf(dir)
	if err != nil {
		return err
	}
	var was location
	how := []string{"what is written in " + locationName + " cannot be read"}
	if err := json.Unmarshal(written, &was); err == nil {
		if was.Format > locationFormat {
			return fmt.Errorf("%s in %s is of a newer version of gavel: start that version", locationName, dir)
		}
		how = was.moved(is)
	}
	if len(how) == 0 {
		return nil
	}
	if want := word(written, is); moved != want {
		return fmt.Errorf("%w: %s was last used at %s on %s, and now %s. If it is a copy, and the other one may ever run "+
			"again, start that one: two of them could "+
			"each let a block of one slot pass. If this is the only one from now on, wait until the slot of the last "+
			"delivery is over, and start once with --journal-moved %s",
			ErrCopied, dir, was.Path, was.Host, strings.Join(how, ", and "), want)
	}
	j.log.Warn("the journal's folder is taken over, as asked for: the one that it was made of must not run any more",
		"folder", dir, "was_at", was.Path,
		"was_on", was.Host, "because", how)
	return nil
}

// markLocation records where the folder is. It is called when all files in it are made.
func markLocation(dir string) error {
	is, err := locationOf(dir)
	if err != nil {
		return err
	}
	data, err := json.Marshal(is)
	if err != nil {
		return fmt.Errorf("encode where the journal is: %w", err)
	}
	path := filepath.Join(dir, locationName)
	if written, err := os.ReadFile(path); err == nil && bytes.Equal(written, data) {
		return nil
	}
	if err := writeSynced(path, data); err != nil {
		return fmt.Errorf("write down where the journal is: %w", sizeText(err))
	}
	return nil
}

// locationOf finds out where a folder is.
func locationOf(dir string) (is *location, err error) {
	is = &location{Format: locationFormat, Machine: machineIn(machineFile)}
	is.Host, _ = os.Hostname() // shown to operators only
	if is.Path, err = filepath.Abs(dir); err != nil {
		return nil, fmt.Errorf("find the journal's folder: %w", err)
	}
	lasting, fileSystem, err := numbering(dir)
	if err != nil {
		return nil, err
	}
	is.FileSystem = fileSystem
	if !lasting {
		return is, nil
	}
	if is.Folder, err = numberOf(dir); err != nil {
		return nil, err
	}
	is.Guard, err = numberOf(filepath.Join(dir, claimsName))
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return is, err
}

// machineIn is a hash of the machine's identity; empty if it has none.
func machineIn(file string) string {
	id, err := os.ReadFile(file)
	id = bytes.TrimSpace(id)
	if err != nil || len(id) < 32 { // an image has "uninitialized" there
		return ""
	}
	mac := hmac.New(sha256.New, id)
	mac.Write([]byte("gavel journal"))
	return hex.EncodeToString(mac.Sum(nil)[:16])
}

// writeSynced replaces a file: after a power cut it is either complete or as it was before.
func writeSynced(path string, data []byte) error {
	temp := path + tempSuffix
	f, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return errors.Join(err, os.Remove(temp))
	}
	if err := os.Rename(temp, path); err != nil {
		return err
	}
	return syncFolder(filepath.Dir(path))
}
