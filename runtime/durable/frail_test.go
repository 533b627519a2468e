//go:build unix

package durable_test

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"
)

// A frail disk is a folder of a machine that loses its power, whose synchronizations fail, and whose kernel forgets.
//
//   - What was written and not synchronized may be there after a power cut, in part, or not; so may names.
//   - After a synchronization that failed the kernel takes what it could not write for written: it is in memory until that is needed, and no later synchronization writes it, or tells. That
//     is so of what files hold; their sizes and names are a file system's own affair, which does not go on when it cannot write them.
type frail struct {
	t   testing.TB
	dir string

	mu     sync.Mutex
	rand   *rand.Rand
	inodes []*inode
	names  map[string]*inode // that last
	fail   func(name string) fate
	syncs  []string // names of what was synchronized, or was to be
}

// A fate is what becomes of a synchronization.
type fate uint8

const (
	lasts fate = iota
	fails      // and the kernel forgets
	dies       // the process is killed before
)

// An inode is a file of a frail disk.
type inode struct {
	info    os.FileInfo
	lasting []byte
	dirty   []change
	lost    []change // a synchronization that has failed was to write them
}

// A change of a file is that something was written, or that it was cut off.
type change struct {
	at   int64
	data []byte // nil: it is cut off there
}

func newFrail(t testing.TB, r *rand.Rand) *frail {
	return &frail{t: t, dir: t.TempDir(), rand: r, names: map[string]*inode{}, fail: func(string) fate { return lasts }}
}

// inodeLocked returns the inode of a file. It stays open, so that no other one has its number.
func (d *frail) inodeLocked(path string, info os.FileInfo) *inode {
	for _, i := range d.inodes {
		if os.SameFile(i.info, info) {
			return i
		}
	}
	f, err := os.Open(path)
	if err != nil {
		return nil // it was just removed
	}
	d.t.Cleanup(func() { f.Close() })
	i := &inode{info: info}
	d.inodes = append(d.inodes, i)
	return i
}

func (d *frail) of(f *os.File) *inode {
	info, err := f.Stat()
	if err != nil {
		d.t.Fatal(err)
	}
	i := d.inodeLocked(f.Name(), info)
	if i == nil {
		d.t.Fatalf("%s has no name any more", f.Name())
	}
	return i
}

func (d *frail) WriteAt(f *os.File, b []byte, at int64) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	i := d.of(f)
	c := change{at, slices.Clone(b)}
	i.dirty = append(i.dirty, c)
	i.lost = slices.DeleteFunc(i.lost, func(l change) bool { return l.data != nil && l.at >= at && l.at+int64(len(l.data)) <= at+int64(len(b)) })
	_, err := f.WriteAt(b, at)
	return err
}

func (d *frail) Truncate(f *os.File, size int64) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	i := d.of(f)
	i.dirty = append(i.dirty, change{at: size})
	return f.Truncate(size)
}

func (d *frail) Sync(f *os.File) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	name := filepath.Base(f.Name())
	if info.IsDir() {
		if name = "."; filepath.Clean(f.Name()) != d.dir {
			name = f.Name()
		}
	}
	d.syncs = append(d.syncs, name)
	fate := d.fail(name)
	if fate == dies || info.IsDir() && fate == fails {
		return syscall.EIO
	}
	if info.IsDir() {
		d.names = d.nowLocked()
		return nil
	}
	i := d.of(f)
	dirty := i.dirty
	i.dirty = nil
	if fate == fails {
		for _, c := range dirty {
			if c.data == nil {
				i.dirty = append(i.dirty, c)
			} else {
				i.lost = append(i.lost, c)
			}
		}
		return syscall.EIO
	}
	for _, c := range dirty {
		i.lasting = c.to(i.lasting)
	}
	return nil
}

// to changes bytes.
func (c change) to(b []byte) []byte {
	if c.data == nil {
		return b[:min(int64(len(b)), c.at)]
	}
	if end := c.at + int64(len(c.data)); end > int64(len(b)) {
		b = append(b, make([]byte, end-int64(len(b)))...)
	}
	copy(b[c.at:], c.data)
	return b
}

// nowLocked returns the files of the folder as the process sees them.
func (d *frail) nowLocked() map[string]*inode {
	entries, err := os.ReadDir(d.dir)
	if err != nil {
		d.t.Fatal(err)
	}
	names := map[string]*inode{}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			continue // it is being removed
		}
		if i := d.inodeLocked(filepath.Join(d.dir, e.Name()), info); i != nil {
			names[e.Name()] = i
		}
	}
	return names
}

// forget makes the kernel forget what a synchronization that has failed was to write. No process uses the folder.
func (d *frail) forget() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for name, i := range d.nowLocked() {
		f, err := os.OpenFile(filepath.Join(d.dir, name), os.O_RDWR, 0)
		if err != nil {
			d.t.Fatal(err)
		}
		for _, c := range i.lost {
			before := make([]byte, len(c.data)) // nothing, where it has never been written
			if c.at < int64(len(i.lasting)) {
				copy(before, i.lasting[c.at:])
			}
			if _, err := f.WriteAt(before, c.at); err != nil {
				d.t.Fatal(err)
			}
		}
		i.lost = nil
		f.Close()
	}
}

// cut cuts the power off, and returns the disk as it is then. No process uses the folder.
func (d *frail) cut() *frail {
	d.mu.Lock()
	defer d.mu.Unlock()
	after := newFrail(d.t, d.rand)
	now := d.nowLocked()
	var all []string
	for _, names := range []map[string]*inode{now, d.names} {
		for name := range names {
			if !slices.Contains(all, name) {
				all = append(all, name)
			}
		}
	}
	slices.Sort(all)
	for _, name := range all {
		i := d.names[name]
		if now[name] != i && d.rand.IntN(2) == 0 {
			i = now[name]
		}
		if i == nil || name == "lock" {
			continue
		}
		content := slices.Clone(i.lasting)
		for _, c := range i.dirty {
			switch n := len(c.data); {
			case c.data == nil && d.rand.IntN(2) == 0, n > 0 && d.rand.IntN(3) == 0:
				content = c.to(content)
			case n > 0 && d.rand.IntN(2) == 0:
				from, to := 0, d.rand.IntN(n+1)
				if d.rand.IntN(2) == 0 {
					from, to = to, n
				}
				content = change{c.at + int64(from), c.data[from:to]}.to(content)
			}
		}
		path := filepath.Join(after.dir, name)
		if err := os.WriteFile(path, content, 0o600); err != nil {
			d.t.Fatal(err)
		}
		info, err := os.Stat(path)
		if err != nil {
			d.t.Fatal(err)
		}
		after.inodeLocked(path, info).lasting = content
	}
	after.names = after.nowLocked()
	return after
}
