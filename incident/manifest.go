package incident

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/vtscope/vtscope/dump"
)

// Format names the manifest and its version.
const Format = "vtscope/incident/v1"

// Ending is that of names of bundles.
const Ending = ".vti"

// A Manifest is the table of contents of a bundle.
type Manifest struct {
	Format  string        `json:"format"` // always [Format]
	ID      string        `json:"id"`     // the file's name without its ending
	Host    string        `json:"host,omitempty"`
	Process dump.Process  `json:"process"`
	Taken   time.Time     `json:"taken"` // when it was begun
	Took    time.Duration `json:"took_ns"`
	Causes  []Cause       `json:"causes"` // at least one
	Parts   []Part        `json:"parts"`
	Missing []Missing     `json:"missing"` // parts that there are not, and why
}

// A Cause is why a bundle was taken.
type Cause struct {
	Rule     string    `json:"rule"` // "" if somebody asked for it
	Fired    time.Time `json:"fired"`
	What     string    `json:"what"` // a sentence without a full stop
	Evidence []string  `json:"evidence,omitempty"`
}

// A Part is one thing that a bundle holds.
type Part struct {
	Name  string `json:"name"`
	About string `json:"about"`
	Files []File `json:"files"` // for programs first, for people last
	// Incomplete says what the part lacks, one short sentence each.
	Incomplete []string `json:"incomplete,omitempty"`
}

// A File is an entry of the zip file.
type File struct {
	Name   string `json:"name"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}

// Missing is a part that there is not.
type Missing struct {
	Part string `json:"part"`
	Why  string `json:"why"`
}

// Limits of bundles. A file beyond them is none.
const (
	manifestFile   = "manifest.json"
	maxManifest    = 1 << 20
	maxFiles       = 64
	maxFile        = 256 << 20 // of all but events
	maxEvents      = 4 << 30
	maxIncompletes = 100
	maxCauses      = 100
)

// newID returns an id that is the only one of its kind: the time, the program, the pid and some chance.
func newID(at time.Time, p *dump.Process) string {
	var chance [3]byte
	_, _ = rand.Read(chance[:]) // it never fails
	program := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '.' {
			return r
		}
		return '_'
	}, p.Program)
	program = strings.TrimLeft(program, ".")
	if program == "" {
		program = "_"
	}
	return fmt.Sprintf("%s-%s-%d-%s", at.UTC().Format(idTime), program[:min(len(program), 40)], p.PID, hex.EncodeToString(chance[:]))
}

const idTime = "2006-01-02T15-04-05Z"

var idPattern = regexp.MustCompile(`^(\d{4}-\d\d-\d\dT\d\d-\d\d-\d\dZ)-([A-Za-z0-9_][A-Za-z0-9_.]{0,39})-(\d{1,10})-([0-9a-f]{6})$`)

// IDOf returns the id of the bundle with that path.
func IDOf(path string) string { return strings.TrimSuffix(filepath.Base(path), Ending) }

// parseID returns the time in an id.
func parseID(id string) (at time.Time, ok bool) {
	m := idPattern.FindStringSubmatch(id)
	if m == nil {
		return at, false
	}
	at, err := time.Parse(idTime, m[1])
	return at, err == nil
}

var (
	filePattern = regexp.MustCompile(`^[a-z][a-z0-9-]{0,30}(\.[a-z0-9]{1,8}){1,2}$`)
	namePattern = regexp.MustCompile(`^[a-z][a-z0-9-]{0,30}$`)
)

// check reports what makes no sense in a manifest that somebody else may have written.
func (m *Manifest) check() error {
	if m.Format != Format {
		return fmt.Errorf("format %s, want %s", strconv.Quote(cut(m.Format, 60)), Format)
	}
	if _, ok := parseID(m.ID); !ok {
		return fmt.Errorf("bad id %s", strconv.Quote(cut(m.ID, 60)))
	}
	if len(m.Causes) == 0 || len(m.Causes) > maxCauses {
		return fmt.Errorf("%d causes", len(m.Causes))
	}
	names, files := map[string]bool{}, map[string]bool{manifestFile: true}
	for i := range m.Parts {
		p := &m.Parts[i]
		if !namePattern.MatchString(p.Name) || names[p.Name] || len(p.Files) == 0 {
			return fmt.Errorf("bad part %s", strconv.Quote(cut(p.Name, 60)))
		}
		names[p.Name] = true
		for _, f := range p.Files {
			if !filePattern.MatchString(f.Name) || files[f.Name] || len(files) > maxFiles {
				return fmt.Errorf("bad file %s of part %s", strconv.Quote(cut(f.Name, 60)), p.Name)
			}
			files[f.Name] = true
			if most := mostOf(f.Name); f.Size < 0 || f.Size > most {
				return fmt.Errorf("%s has %d bytes: want at most %d", f.Name, f.Size, most)
			}
			if len(f.SHA256) != 64 {
				return fmt.Errorf("bad checksum of %s", f.Name)
			}
		}
	}
	return nil
}

func mostOf(file string) int64 {
	if file == eventsFile {
		return maxEvents
	}
	return maxFile
}

func cut(s string, n int) string { return s[:min(len(s), n)] }
