package durable

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// A disk changes files and folders: the operating system's, or in tests one that fails, and forgets what was not synchronized.
type disk interface {
	writeAt(f *os.File, b []byte, at int64) error
	truncate(f *os.File, size int64) error
	sync(f *os.File) error // a file, or a folder
}

type osDisk struct{}

func (osDisk) writeAt(f *os.File, b []byte, at int64) error { _, err := f.WriteAt(b, at); return err }
func (osDisk) truncate(f *os.File, size int64) error        { return f.Truncate(size) }
func (osDisk) sync(f *os.File) error                        { return f.Sync() }

// A throughDisk is a file as an [io.WriterAt].
type throughDisk struct {
	disk disk
	f    *os.File
}

func (t throughDisk) WriteAt(b []byte, at int64) (int, error) {
	if err := t.disk.writeAt(t.f, b, at); err != nil {
		return 0, err
	}
	return len(b), nil
}

// syncDir makes the names in a folder last, where folders can be synchronized.
func syncDir(disk disk, path string) error {
	if !foldersSync {
		return nil
	}
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(disk.sync(d), d.Close())
}

// makeFolder makes a folder that lasts, with those that it is in.
func makeFolder(d disk, dir string) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	parent := filepath.Dir(dir)
	if _, err := os.Stat(dir); err == nil || parent == dir {
		return err
	}
	if err := makeFolder(d, parent); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	if err := syncDir(d, parent); !errors.Is(err, fs.ErrPermission) { // names can be made in a folder that cannot be read
		return err
	}
	return nil
}
