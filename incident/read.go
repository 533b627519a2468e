package incident

import (
	"archive/zip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/vtscope/vtscope/internal/plainfile"
)

// ErrBundle is what errors about a file match that is no bundle, or a damaged one.
var ErrBundle = errors.New("not a whole incident bundle")

// A Bundle is an open bundle.
type Bundle struct {
	Manifest Manifest

	path   string
	file   io.ReaderAt
	close  func() error
	byName map[string]*zip.File
}

// Open opens a bundle. Errors about what is in it match [ErrBundle].
func Open(path string) (*Bundle, error) {
	f, err := plainfile.Open(path)
	if errors.Is(err, plainfile.ErrIrregular) {
		err = fmt.Errorf("%w: %w", ErrBundle, err)
	}
	if err != nil {
		return nil, fmt.Errorf("incident: %w", err)
	}
	info, err := f.Stat()
	var b *Bundle
	if err == nil {
		b, err = read(f, info.Size())
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("incident: open %s: %w", path, err)
	}
	b.path, b.close = path, f.Close
	return b, nil
}

// read reads the table of contents of a bundle of the given size.
func read(from io.ReaderAt, size int64) (*Bundle, error) {
	z, err := zip.NewReader(from, size)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrBundle, err)
	}
	b := &Bundle{file: from, byName: map[string]*zip.File{}}
	if len(z.File) > maxFiles {
		return nil, fmt.Errorf("%w: %d files", ErrBundle, len(z.File))
	}
	for _, f := range z.File {
		if b.byName[f.Name] != nil {
			return nil, fmt.Errorf("%w: two files %.60q", ErrBundle, f.Name)
		}
		b.byName[f.Name] = f
	}
	text, err := b.content(manifestFile, maxManifest)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, &b.Manifest); err != nil {
		return nil, fmt.Errorf("%w: manifest: %w", ErrBundle, err)
	}
	if err := b.Manifest.check(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrBundle, err)
	}
	for i := range b.Manifest.Parts {
		for _, f := range b.Manifest.Parts[i].Files {
			if b.byName[f.Name] == nil {
				return nil, fmt.Errorf("%w: %s is not in it", ErrBundle, f.Name)
			}
		}
	}
	return b, nil
}

// Close closes the bundle's file.
func (b *Bundle) Close() error { return b.close() }

// content returns what a file holds, which may be at most most bytes. Memory grows with what comes, whatever the file says of its size.
func (b *Bundle) content(name string, most int64) ([]byte, error) {
	f := b.byName[name]
	if f == nil {
		return nil, fmt.Errorf("%w: no %s in it", ErrBundle, name)
	}
	r, err := f.Open()
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrBundle, name, err)
	}
	defer r.Close()
	text, err := io.ReadAll(io.LimitReader(r, most+1))
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrBundle, name, err)
	}
	if int64(len(text)) > most {
		return nil, fmt.Errorf("%w: %s has more than %d bytes", ErrBundle, name, most)
	}
	return text, nil
}

// Part returns the part of a name, nil if there is none.
func (b *Bundle) Part(name string) *Part {
	i := slices.IndexFunc(b.Manifest.Parts, func(p Part) bool { return p.Name == name })
	if i < 0 {
		return nil
	}
	return &b.Manifest.Parts[i]
}

// Text returns the part for people, or nil if it has no text.
func (b *Bundle) Text(part string) ([]byte, error) { return b.with(part, ".txt") }

// JSON returns the part as a JSON document, or nil if it has none.
func (b *Bundle) JSON(part string) ([]byte, error) { return b.with(part, ".json") }

func (b *Bundle) with(part, ending string) ([]byte, error) {
	p := b.Part(part)
	if p == nil {
		return nil, b.noPart(part)
	}
	for _, f := range p.Files {
		if strings.HasSuffix(f.Name, ending) {
			return b.Content(f)
		}
	}
	return nil, nil
}

func (b *Bundle) noPart(name string) error {
	for _, m := range b.Manifest.Missing {
		if m.Part == name {
			return fmt.Errorf("incident: there is no part %s: %s", name, m.Why)
		}
	}
	return fmt.Errorf("incident: there is no part %q", name)
}

// Content returns what a file of the manifest holds. It checks the sum.
func (b *Bundle) Content(f File) ([]byte, error) {
	text, err := b.content(f.Name, f.Size)
	if err == nil {
		if sum := sha256.Sum256(text); hex.EncodeToString(sum[:]) != f.SHA256 {
			err = fmt.Errorf("%w: %s is damaged", ErrBundle, f.Name)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("incident: %w", err)
	}
	return text, nil
}

// Events returns the recording of the last events, where it lies in the file; it is valid until Close. It checks the sum.
func (b *Bundle) Events() (*io.SectionReader, error) {
	p := b.Part(eventsPart)
	if p == nil {
		return nil, b.noPart(eventsPart)
	}
	f := b.byName[eventsFile]
	if len(p.Files) != 1 || p.Files[0].Name != eventsFile || f.Method != zip.Store || f.UncompressedSize64 != f.CompressedSize64 || int64(f.CompressedSize64) != p.Files[0].Size {
		return nil, fmt.Errorf("incident: %w: %s cannot be read where it is", ErrBundle, eventsFile)
	}
	at, err := f.DataOffset()
	if err != nil {
		return nil, fmt.Errorf("incident: %w: %s: %w", ErrBundle, eventsFile, err)
	}
	section := io.NewSectionReader(b.file, at, p.Files[0].Size)
	sum := sha256.New()
	if n, err := io.Copy(sum, section); err != nil || n != p.Files[0].Size || hex.EncodeToString(sum.Sum(nil)) != p.Files[0].SHA256 {
		return nil, fmt.Errorf("incident: %w: %s is damaged", ErrBundle, eventsFile)
	}
	return io.NewSectionReader(b.file, at, p.Files[0].Size), nil
}
