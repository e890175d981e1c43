package fault

import (
	"fmt"
	"os"
	"path/filepath"
)

// LoadDisk returns a disk with the contents of a folder, all of it synced.
func LoadDisk(dir string) (*Disk, error) {
	d := NewDisk()
	if err := d.load(dir, d.root); err != nil {
		return nil, fmt.Errorf("load disk: %w", err)
	}
	return d, nil
}

func (d *Disk) load(dir string, into *node) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		path := filepath.Join(dir, entry.Name())
		info, err := entry.Info()
		if err != nil {
			return err
		}
		n, errno := d.create(into, entry.Name(), info.IsDir(), uint32(info.Mode().Perm()))
		if errno != 0 {
			return errno
		}
		if info.IsDir() {
			err = d.load(path, n)
		} else {
			err = d.loadFile(path, n)
		}
		if err != nil {
			return err
		}
		n.modified = info.ModTime()
	}
	d.sync(into)
	return nil
}

func (d *Disk) loadFile(path string, n *node) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if errno := d.write(n, data, 0); errno != 0 {
		return errno
	}
	d.sync(n)
	return nil
}

// Save replaces the contents of a folder by those of the disk. The disk must not be mounted there.
func (d *Disk) Save(dir string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	old, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("save disk: %w", err)
	}
	for _, entry := range old {
		if err := os.RemoveAll(filepath.Join(dir, entry.Name())); err != nil {
			return fmt.Errorf("save disk: %w", err)
		}
	}
	if err := save(dir, d.root); err != nil {
		return fmt.Errorf("save disk: %w", err)
	}
	return nil
}

func save(dir string, from *node) error {
	for name, n := range from.entries {
		path := filepath.Join(dir, name)
		if n.folder {
			if err := os.Mkdir(path, 0o700); err != nil {
				return err
			}
			if err := save(path, n); err != nil {
				return err
			}
			continue
		}
		if err := os.WriteFile(path, n.data, os.FileMode(n.mode)); err != nil { // only the permission bits
			return err
		}
		if err := os.Chtimes(path, n.modified, n.modified); err != nil {
			return err
		}
	}
	return nil
}
