package recording

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/vtscope/vtscope/internal/plainfile"
)

// Limits say how much a [Store] keeps. The zero value keeps all.
type Limits struct {
	// MaxSize is the most bytes on the disk. Default: no limit.
	MaxSize int64
	// MaxAge is how much of the newest events is kept at least; about twice as much is at most. Default: no limit.
	MaxAge time.Duration
}

// A Store is the files that a recording is written to. While there is a limit, they are two: the newest part has the name that was asked for, the one before
// that of [Previous]. When the newest has half of MaxSize, or is MaxAge old, the older one is removed and the newest takes its place. Close makes one file of both.
//
//	S1  Each part begins with a state, so that it can be read without those before.
//	S2  A part ends at a whole chunk, but for the one being written.
type Store struct {
	path   string
	limits Limits
	file   *os.File
	size   int64
	began  time.Time // of the part
	older  bool      // there is a part before it
	rotate bool
	now    func() time.Time
}

// minPart is the least size of a part: smaller ones would be states alone.
const minPart = 1 << 20

// Create makes the file of a recording. A file of the same name is replaced if it is a recording too.
func Create(path string, l Limits) (*Store, error) {
	if l.MaxSize != 0 && l.MaxSize < 2*minPart || l.MaxAge < 0 {
		return nil, fmt.Errorf("recording: create %s: limit of %d bytes and %v: want %d bytes or more", path, l.MaxSize, l.MaxAge, 2*minPart)
	}
	for _, name := range []string{path, Previous(path)} {
		if err := replaceable(name); err != nil {
			return nil, fmt.Errorf("recording: create %w", err)
		}
	}
	s := &Store{path: path, limits: l, now: time.Now}
	if err := s.open(); err != nil {
		return nil, fmt.Errorf("recording: create %w", err)
	}
	if err := os.Remove(Previous(path)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, errors.Join(fmt.Errorf("recording: create %w", err), s.file.Close())
	}
	return s, nil
}

// replaceable reports why a file may not be replaced.
func replaceable(path string) error {
	f, err := plainfile.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	b := make([]byte, len(chunkMagic))
	if n, _ := io.ReadFull(f, b); n > 0 && !IsRecording(b[:n]) {
		return fmt.Errorf("%s: a file that is no recording has this name", path)
	}
	return nil
}

func (s *Store) open() error {
	f, err := plainfile.Create(s.path)
	if err != nil {
		return err
	}
	s.file, s.size, s.began, s.rotate = f, 0, s.now(), false
	return nil
}

// needsState reports whether the next chunk begins a part.
func (s *Store) needsState() bool {
	s.rotate = s.size > 0 && (s.limits.MaxSize > 0 && s.size >= s.limits.MaxSize/2 || s.limits.MaxAge > 0 && s.now().Sub(s.began) >= s.limits.MaxAge)
	return s.rotate
}

// Write writes a chunk. If it cannot, none of it stays in the file.
func (s *Store) Write(chunk []byte) (int, error) {
	if s.rotate {
		if err := s.file.Close(); err != nil {
			return 0, err
		}
		if err := os.Rename(s.path, Previous(s.path)); err != nil {
			return 0, err
		}
		s.older = true
		if err := s.open(); err != nil {
			return 0, err
		}
	}
	n, err := s.file.Write(chunk)
	if err != nil {
		return 0, errors.Join(err, s.file.Truncate(s.size)) // S2
	}
	s.size += int64(n)
	return n, nil
}

// Close ends the recording and makes one file of what is kept. If there is no room for that, both parts stay, which [Open] reads as one.
func (s *Store) Close() error {
	if err := s.file.Close(); err != nil {
		return fmt.Errorf("recording: close %w", err)
	}
	if !s.older {
		return nil
	}
	if err := s.join(); err != nil {
		return fmt.Errorf("recording: its older part stays in %s: %w", Previous(s.path), err)
	}
	return nil
}

// join appends the newest part to what is kept of the one before.
func (s *Store) join() error {
	f, err := Open(s.path)
	if err != nil {
		return err
	}
	defer f.Close()
	from, kept := len(f.chunks), int64(0)
	end := f.chunks[len(f.chunks)-1].last
	for i := len(f.chunks) - 1; i >= 0; i-- {
		c := &f.chunks[i]
		if kept += chunkHeader + int64(c.body); s.limits.MaxSize > 0 && kept > s.limits.MaxSize {
			break
		}
		if c.flags&chunkHasState != 0 {
			from = i
			if s.limits.MaxAge > 0 && end-c.first >= s.limits.MaxAge {
				break
			}
		}
	}
	err = plainfile.Replace(s.path, 0o600, func(out io.Writer) error {
		for _, c := range f.chunks[from:] {
			if _, err := io.Copy(out, io.NewSectionReader(f.parts[c.part], c.offset, chunkHeader+int64(c.body))); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return os.Remove(Previous(s.path))
}
