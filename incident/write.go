package incident

import (
	"archive/zip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

const unfinished = ".unfinished-"

// A writer makes a bundle. Nothing has a bundle's name before it is whole.
type writer struct {
	file *os.File
	zip  *zip.Writer
	room func(written int64) error // asked before more is written
	n    int64
	at   time.Time // of its files
}

// newWriter makes an unfinished bundle in dir. room is told how large it will be before it grows, and may refuse.
func newWriter(dir string, m *Manifest, room func(written int64) error) (*writer, error) {
	f, err := os.OpenFile(filepath.Join(dir, unfinished+strconv.Itoa(os.Getpid())+"-"+m.ID), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	w := &writer{file: f, room: room, at: m.Taken}
	w.zip = zip.NewWriter(w)
	return w, nil
}

// Write is for the zip writer alone.
func (w *writer) Write(p []byte) (int, error) {
	if err := w.room(w.n + int64(len(p))); err != nil {
		return 0, err
	}
	n, err := w.file.Write(p)
	w.n += int64(n)
	return n, err
}

// add adds a file that write writes. One of events is stored as it is, so that it can be read where it lies.
func (w *writer) add(name string, write func(to io.Writer) error) (File, error) {
	method := zip.Deflate
	if name == eventsFile || strings.HasSuffix(name, ".gz") {
		method = zip.Store
	}
	entry, err := w.zip.CreateHeader(&zip.FileHeader{Name: name, Method: method, Modified: w.at})
	if err != nil {
		return File{}, err
	}
	sum := &summed{to: entry, hash: sha256.New(), most: mostOf(name)}
	if err := write(sum); err != nil {
		return File{}, err
	}
	return File{name, sum.n, hex.EncodeToString(sum.hash.Sum(nil))}, nil
}

// A summed writer computes the checksum of what it passes on.
type summed struct {
	to   io.Writer
	hash hash.Hash
	n    int64
	most int64
}

func (s *summed) Write(p []byte) (int, error) {
	if s.n+int64(len(p)) > s.most {
		return 0, fmt.Errorf("more than %d bytes", s.most)
	}
	n, err := s.to.Write(p)
	s.hash.Write(p[:n])
	s.n += int64(n)
	return n, err
}

// finish adds the manifest and gives the bundle its name.
func (w *writer) finish(m *Manifest) (path string, err error) {
	body, err := json.MarshalIndent(m, "", " ")
	if err != nil {
		return "", err
	}
	if len(body) > maxManifest {
		return "", fmt.Errorf("manifest of %d bytes", len(body))
	}
	if _, err := w.add(manifestFile, func(to io.Writer) error { _, err := to.Write(body); return err }); err != nil {
		return "", err
	}
	if err := errors.Join(w.zip.Close(), w.file.Sync(), w.file.Close()); err != nil {
		return "", err
	}
	path = filepath.Join(filepath.Dir(w.file.Name()), m.ID+Ending)
	if err := os.Rename(w.file.Name(), path); err != nil {
		return "", err
	}
	if d, err := os.Open(filepath.Dir(path)); err == nil { // a name that a power cut takes away is no harm
		_ = d.Sync()
		d.Close()
	}
	return path, nil
}

// discard removes what is unfinished; after finish it does nothing.
func (w *writer) discard() {
	w.file.Close()
	_ = os.Remove(w.file.Name()) // it has another name, or it is in the way of nobody
}
