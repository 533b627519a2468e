package durable

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"

	"github.com/vtscope/vtscope/internal/plainfile"
	"github.com/vtscope/vtscope/runtime/durable/journal"
	"github.com/vtscope/vtscope/runtime/vthread"
)

// FileOptions say how a [FileStore] keeps entries. The zero value is usable.
type FileOptions struct {
	// SegmentSize is how large a file gets before the next one is begun, in bytes. Default: 64 MiB.
	SegmentSize int64

	// Limits say how large a record can be, and how much memory it may ask for where it is read; entries that are more are not committed. Zero fields mean their defaults, which those
	// who read a folder without its keeper have.
	Limits journal.Limits

	disk disk // nil: the operating system's
}

// A FileStore keeps entries in a folder: files of records that are only appended to.
//
//	F1  The entries of one Commit are one record ([journal.NewRecord]): all of them last, or none.
//	F2  What Commit has returned nil for was written and synchronized. Those who commit at a time share one write and one synchronization.
//	F3  Of the newest file the end may be missing or damaged: nobody was told that it lasts, and Load cuts it off. Damage elsewhere is an error: in another file, a file that is
//	    missing, or before a record that was written when all before it was synchronized.
//	F4  A file NUMBER.base stands for all files of that number and before. It is written aside, synchronized and renamed: so it is whole, or not there. What it stands for is removed when
//	    the folder was synchronized.
//	F5  One process uses the folder: it holds a lock on the file lock.
//	F6  When a log cannot be written or synchronized, or the folder, nothing more is committed, nor synchronized again: the kernel may have forgotten what it could not write, and says
//	    so once.
//	F7  What Load has read lasts when it returns, and the names of the files before there is another one. The process before may have died before it synchronized them, or F6 may have
//	    been why it ended: so what the newest file does not say of itself that it was synchronized is written again.
type FileStore struct {
	dir     string
	options FileOptions
	lock    *os.File
	cut     int64 // bytes that Load has cut off

	mu struct {
		sync.Mutex
		closed  bool
		loaded  bool
		failed  error // all commits fail
		queue   []*commit
		writing bool // a goroutine writes what is queued
		written sync.WaitGroup

		number  uint64 // of the newest file
		file    *os.File
		size    int64
		base    uint64 // number of the base; 0: there is none
		folding bool
		live    int64 // size of the base
	}
}

// A commit is a record that waits to be written.
type commit struct {
	record []byte
	done   vthread.Promise[error]
}

// NewFileStore opens a folder, which it makes if there is none. The error matches [ErrInUse] if a process uses it.
func NewFileStore(dir string, o FileOptions) (*FileStore, error) {
	o.SegmentSize = cmp.Or(o.SegmentSize, 64<<20)
	if o.SegmentSize < 0 {
		return nil, fmt.Errorf("durable: file store: a segment of %d bytes", o.SegmentSize)
	}
	if o.disk == nil {
		o.disk = osDisk{}
	}
	if err := makeFolder(o.disk, dir); err != nil {
		return nil, fmt.Errorf("durable: file store: %w", err)
	}
	lock, err := lockFile(journal.LockPath(dir))
	if err != nil {
		return nil, fmt.Errorf("durable: file store %s: %w", dir, err)
	}
	return &FileStore{dir: dir, options: o, lock: lock}, nil
}

// ErrInUse is what the error of [NewFileStore] matches for a folder that a process uses.
var ErrInUse = errors.New("another process uses it")

// Cut returns how many bytes Load has cut off, of a record that was being written when the process before ended.
func (s *FileStore) Cut() int64 { return s.cut }

// files returns the files that count (F4), and removes the others.
func (s *FileStore) files() (journal.Files, error) {
	files, err := journal.List(s.dir)
	if err == nil {
		err = files.Check(s.dir)
	}
	if err == nil { // F4, F7: the process before may have died before it did
		err = syncDir(s.options.disk, s.dir)
	}
	if err != nil {
		return files, err // nothing is removed
	}
	for _, name := range files.Stale {
		err = errors.Join(err, os.Remove(filepath.Join(s.dir, name)))
	}
	return files, err
}

// Load is that of a [Store].
func (s *FileStore) Load(f func(journal.Entry) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.loaded {
		return errors.New("durable: file store: loaded twice")
	}
	files, err := s.files()
	if err != nil {
		return fmt.Errorf("durable: file store: %w", err)
	}
	if files.Base > 0 {
		if s.mu.live, err = s.options.Limits.ReadFile(journal.BasePath(s.dir, files.Base), false, f); err != nil {
			return fmt.Errorf("durable: file store: %w", err)
		}
	}
	for i, n := range files.Logs {
		newest := i == len(files.Logs)-1
		path := journal.LogPath(s.dir, n)
		if newest { // before it is read: what was forgotten is not there any more when it is read
			if err := s.writeAgain(path); err != nil {
				return fmt.Errorf("durable: file store: %w", err)
			}
		}
		size, err := s.options.Limits.ReadFile(path, newest, f)
		if err != nil {
			return fmt.Errorf("durable: file store: %w", err)
		}
		if newest {
			if err := s.truncate(path, size); err != nil {
				return fmt.Errorf("durable: file store: %w", err)
			}
		}
	}
	s.mu.base = files.Base
	s.mu.number = files.Newest()
	s.mu.loaded = true
	return s.rotateLocked()
}

// truncate cuts off what is no record (F3).
func (s *FileStore) truncate(path string, size int64) error {
	f, err := plainfile.OpenFile(path, os.O_RDWR)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err != nil || info.Size() == size {
		return errors.Join(err, f.Close())
	}
	s.cut = info.Size() - size
	return errors.Join(s.options.disk.truncate(f, size), s.options.disk.sync(f), f.Close())
}

// writeAgain makes a file last as it is (F7).
func (s *FileStore) writeAgain(path string) error {
	at, err := s.options.Limits.SyncedUpTo(path)
	if err != nil {
		return err
	}
	f, err := plainfile.OpenFile(path, os.O_RDWR)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err == nil {
		_, err = io.Copy(io.NewOffsetWriter(throughDisk{s.options.disk, f}, at), io.NewSectionReader(f, at, info.Size()-at))
	}
	if err == nil {
		err = s.options.disk.sync(f)
	}
	return errors.Join(err, f.Close())
}

// Commit is that of a [Store]. A thread parks in it.
func (s *FileStore) Commit(entries ...journal.Entry) error {
	if len(entries) == 0 {
		return nil
	}
	record, err := s.options.Limits.NewRecord(entries)
	if err != nil {
		return fmt.Errorf("durable: file store: %w", err)
	}
	c := &commit{record: record}
	s.mu.Lock()
	switch {
	case s.mu.closed:
		err = ErrClosed
	case s.mu.failed != nil:
		err = s.mu.failed
	case !s.mu.loaded:
		err = errors.New("durable: file store: Commit before Load")
	}
	if err != nil {
		s.mu.Unlock()
		return err
	}
	s.mu.queue = append(s.mu.queue, c)
	if !s.mu.writing {
		s.mu.writing = true
		s.mu.written.Add(1)
		go s.write()
	}
	s.mu.Unlock()
	for {
		failed, err := c.done.Future.Get()
		if err == nil {
			return failed
		}
		// The thread was interrupted, which does not undo what is under way.
		defer vthread.Current().Interrupt()
	}
}

// write writes what is queued until nothing is.
func (s *FileStore) write() {
	defer s.mu.written.Done()
	for {
		s.mu.Lock()
		batch := s.mu.queue
		s.mu.queue = nil
		if len(batch) == 0 {
			s.mu.writing = false
			s.mu.Unlock()
			return
		}
		failed, file, size := s.mu.failed, s.mu.file, s.mu.size
		s.mu.Unlock()
		var n int64
		if failed == nil {
			n, failed = s.writeAll(file, size, batch)
		}
		s.mu.Lock()
		if failed != nil && s.mu.failed == nil {
			s.mu.failed = fmt.Errorf("durable: file store: %w", failed)
		}
		failed = s.mu.failed
		if s.mu.size += n; failed == nil && s.mu.size >= s.options.SegmentSize {
			if err := s.rotateLocked(); err != nil {
				s.mu.failed = err // these have lasted: the next ones do not
			}
		}
		s.mu.Unlock()
		for _, c := range batch {
			c.done.Complete(failed)
		}
	}
}

// writeAll writes behind the first size bytes, and synchronizes (F2).
func (s *FileStore) writeAll(f *os.File, size int64, batch []*commit) (n int64, err error) {
	var all []byte
	journal.MarkSynced(batch[0].record) // F2
	for _, c := range batch {
		all = append(all, c.record...)
	}
	if err = s.options.disk.writeAt(f, all, size); err == nil {
		err = s.options.disk.sync(f)
	}
	if err == nil {
		err = stillNamed(f)
	}
	return int64(len(all)), err
}

// rotateLocked begins the next file, and folds those before if they are worth it.
func (s *FileStore) rotateLocked() error {
	next := s.mu.number + 1
	f, err := os.OpenFile(journal.LogPath(s.dir, next), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err == nil {
		if err = syncDir(s.options.disk, s.dir); err != nil {
			err = errors.Join(err, f.Close())
		}
	}
	if err != nil {
		return fmt.Errorf("durable: file store: %w", err)
	}
	if s.mu.file != nil {
		err = s.mu.file.Close()
	}
	s.mu.file, s.mu.number, s.mu.size = f, next, 0
	if err == nil && !s.mu.folding && s.worthFoldingLocked() {
		s.mu.folding = true
		s.mu.written.Add(1)
		go s.fold(next - 1)
	}
	return err
}

// worthFoldingLocked reports whether the files before the newest are larger than the base, and than a quarter of a segment.
func (s *FileStore) worthFoldingLocked() bool {
	sum := int64(0)
	for n := s.mu.base + 1; n < s.mu.number; n++ {
		if info, err := os.Stat(journal.LogPath(s.dir, n)); err == nil {
			sum += info.Size()
		}
	}
	return sum > max(s.mu.live, s.options.SegmentSize/4)
}

// fold makes a base of all files up to a number. If that fails they stay as they are; but if it is not known whether the base lasts the store has failed (F6).
func (s *FileStore) fold(upTo uint64) {
	defer s.mu.written.Done()
	temporary := journal.BasePath(s.dir, upTo) + ".tmp"
	size, err := s.writeBase(temporary, upTo)
	if err == nil {
		err = os.Rename(temporary, journal.BasePath(s.dir, upTo)) // F4
	}
	unknown := error(nil)
	if err == nil {
		if unknown = syncDir(s.options.disk, s.dir); unknown == nil {
			_, _ = s.files() // removes what it stands for; else the next one does
		}
	} else {
		_ = os.Remove(temporary) // likewise
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.folding = false
	switch {
	case err != nil:
	case unknown == nil:
		s.mu.base, s.mu.live = upTo, size
	case s.mu.failed == nil:
		s.mu.failed = fmt.Errorf("durable: file store: %w", unknown)
	}
}

// writeBase writes the base of all files up to a number, and returns its size.
func (s *FileStore) writeBase(path string, upTo uint64) (size int64, err error) {
	files, err := s.files()
	if err != nil {
		return 0, err
	}
	var all journal.Trees
	apply := func(e journal.Entry) error { return all.Apply(&e) }
	if files.Base > 0 {
		if _, err := s.options.Limits.ReadFile(journal.BasePath(s.dir, files.Base), false, apply); err != nil {
			return 0, err
		}
	}
	for _, n := range files.Logs {
		if n > upTo {
			break
		}
		if _, err := s.options.Limits.ReadFile(journal.LogPath(s.dir, n), false, apply); err != nil {
			return 0, err
		}
	}
	f, err := plainfile.Create(path)
	if err != nil {
		return 0, err
	}
	w := bufio.NewWriterSize(io.NewOffsetWriter(throughDisk{s.options.disk, f}, 0), 1<<20)
	for entries := range all.Wholes(s.options.Limits) {
		record, bad := s.options.Limits.NewRecordAgain(entries)
		if bad == nil {
			_, bad = w.Write(record)
		}
		if bad != nil {
			err = bad
			break
		}
		size += int64(len(record))
	}
	if err = errors.Join(err, w.Flush()); err == nil {
		err = s.options.disk.sync(f)
	}
	return size, errors.Join(err, f.Close())
}

// Close is that of a [Store]. It waits until what was asked for is written.
func (s *FileStore) Close() error {
	s.mu.Lock()
	if s.mu.closed {
		s.mu.Unlock()
		return nil
	}
	s.mu.closed = true
	s.mu.Unlock()
	s.mu.written.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	var err error
	if s.mu.file != nil {
		err = s.mu.file.Close()
	}
	if err = errors.Join(err, s.lock.Close()); err != nil {
		return fmt.Errorf("durable: file store: %w", err)
	}
	return nil
}
