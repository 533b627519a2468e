package incident

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/flight/flighttest"
)

// recorded opens a flight file with some threads.
func recorded(t testing.TB) *flight.Reader {
	t.Helper()
	f := flighttest.Write(t, flighttest.Spec{
		Scopes:  []flighttest.Scope{{Name: "requests"}},
		Stacks:  []flighttest.Stack{{{Func: "shop.query", File: "store.go", Line: 88}}},
		Threads: 30,
		Thread:  func(int) flighttest.Thread { return flighttest.Thread{Scope: 1, Stack: 1, State: flight.StateParked} },
	})
	r, err := flight.Open(f.Path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

// quick leaves out what takes time.
var quick = TakeOptions{Over: time.Nanosecond, CPU: -1, Without: []string{"heap", "goroutine", "cpu"}}

func store(t testing.TB, o Options) *Store {
	t.Helper()
	if o.Dir == "" {
		o.Dir = t.TempDir()
	}
	s, err := OpenStore(o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func take(t testing.TB, s *Store, r *flight.Reader) *Bundle {
	t.Helper()
	path, err := s.Take(context.Background(), r, Cause{Rule: "deadlock", What: "two threads wait"})
	if err != nil {
		t.Fatal(err)
	}
	b, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	return b
}

// events returns an Events that writes so many bytes that do not compress.
func events(n int) func(context.Context, *flight.Reader, io.Writer) ([]string, error) {
	return func(_ context.Context, _ *flight.Reader, to io.Writer) ([]string, error) {
		noise := make([]byte, n)
		for i := range noise {
			noise[i] = byte(rand.Uint32())
		}
		_, err := to.Write(noise)
		return []string{"of ring 3"}, err
	}
}

// left returns the names in a directory.
func left(t testing.TB, dir string) (names []string) {
	t.Helper()
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		names = append(names, f.Name())
	}
	return names
}

func TestBundleHasWhatWasKnown(t *testing.T) {
	o := quick
	o.Events = events(5000)
	b := take(t, store(t, Options{Take: o}), recorded(t))
	m := &b.Manifest
	if m.Format != Format || filepath.Base(b.path) != m.ID+Ending || len(m.Causes) != 1 || m.Causes[0].Rule != "deadlock" || m.Process.PID != os.Getpid() {
		t.Errorf("got %+v", m)
	}
	var names []string
	for _, p := range m.Parts {
		names = append(names, p.Name)
	}
	for _, x := range m.Missing {
		names = append(names, x.Part)
		if x.Why != "not wanted" {
			t.Errorf("%s is missing: %s", x.Part, x.Why)
		}
	}
	want := PartNames()
	slices.Sort(names)
	slices.Sort(want)
	if !slices.Equal(names, want) {
		t.Errorf("got parts, or why not, of %q; want %q", names, want)
	}
	for part, want := range map[string]string{
		"snapshot": "x 30 parked", "waits": "30 threads", "schedulers": "scheduler", "findings": "finding", "figures": "lost so far", "settings": "settings = default",
		"build": "path\tgithub.com/vtscope/vtscope/incident",
	} {
		if text, err := b.Text(part); err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s: got %v and\n%s\nwant %q", part, err, text, want)
		}
	}
	text, err := b.JSON("snapshot")
	if err != nil {
		t.Fatal(err)
	}
	if s, err := dump.ParseJSON(text); err != nil || s.Threads != 30 {
		t.Errorf("snapshot: got %v, %v", s, err)
	}
	e, err := b.Events()
	if err != nil || e.Size() != 5000 || !slices.Equal(b.Part("events").Incomplete, []string{"of ring 3"}) {
		t.Errorf("events: got %v, %v, %+v", e, err, b.Part("events"))
	}
	for _, part := range []string{"heap", "nothing"} {
		if text, err := b.Text(part); err == nil || !strings.Contains(err.Error(), "there is no part") {
			t.Errorf("%s: got %q, %v", part, text, err)
		}
	}
	info, err := os.Stat(b.path)
	if err != nil || info.Mode() != 0o600 {
		t.Errorf("got %v, %v; want mode 0600", info.Mode(), err)
	}
}

func TestWhatCannotBeHadIsNamed(t *testing.T) {
	o := quick
	o.Without = nil
	o.CPU = 0
	o.Events = func(context.Context, *flight.Reader, io.Writer) ([]string, error) { return nil, errors.New("no luck") }
	b := take(t, store(t, Options{Take: o}), recorded(t))
	got := map[string]string{}
	for _, m := range b.Manifest.Missing {
		got[m.Part] = m.Why
	}
	if got["events"] != "no luck" || got["heap"] == "" || got["cpu"] == "" || got["goroutine"] == "" || b.Part("snapshot") == nil {
		t.Errorf("got missing %q", got)
	}
}

func TestTheBudgetHoldsAlsoWhileABundleIsWritten(t *testing.T) {
	const budget = 2000 << 10 // for two bundles of 800 KiB of events; what else they have, some KiB, differs from machine to machine
	dir := t.TempDir()
	total := func() (n int64) {
		for _, name := range left(t, dir) {
			info, err := os.Stat(filepath.Join(dir, name))
			if err != nil {
				t.Fatal(err)
			}
			if name != "mine.txt" {
				n += info.Size()
			}
		}
		return n
	}
	if err := os.WriteFile(filepath.Join(dir, "mine.txt"), make([]byte, 2*budget), 0o600); err != nil {
		t.Fatal(err)
	}
	o := quick
	o.Events = func(ctx context.Context, r *flight.Reader, to io.Writer) ([]string, error) {
		for range 8 {
			if _, err := events(100<<10)(ctx, r, to); err != nil {
				return nil, err
			}
			if n := total(); n > budget {
				t.Errorf("%d bytes while it is written, want at most %d", n, budget)
			}
		}
		return nil, nil
	}
	s := store(t, Options{Dir: dir, Budget: budget, Take: o})
	r := recorded(t)
	var ids []string
	for range 5 {
		ids = append(ids, take(t, s, r).Manifest.ID)
		all, err := s.List()
		if n := total(); n > budget || err != nil || len(all) == 0 || !slices.ContainsFunc(all, func(e Entry) bool { return e.ID == ids[len(ids)-1] }) {
			t.Fatalf("got %d bytes, %v, %v; want at most %d and the newest", n, all, err, budget)
		}
	}
	if all, _ := s.List(); len(all) != 2 {
		t.Errorf("got %v, want the two that there is room for", all)
	}

	// One that is too large has no events; one that is too large even so does not come, and nothing has to go for it.
	large := quick
	large.Events = events(2 * budget)
	s = store(t, Options{Dir: dir, Budget: budget, Take: large})
	b := take(t, s, r)
	if x := b.Manifest.Missing; len(x) == 0 || x[0].Part != "events" || !strings.Contains(x[0].Why, "larger than the budget") {
		t.Errorf("got missing %v", x)
	}
	before := left(t, dir)
	s = store(t, Options{Dir: dir, Budget: 100, Take: quick})
	if path, err := s.Take(context.Background(), r, Cause{}); !errors.Is(err, errBudget) {
		t.Errorf("got %q, %v; want %v", path, err, errBudget)
	}
	if after := left(t, dir); !slices.Equal(before, after) {
		t.Errorf("got %q, want %q as before", after, before)
	}
}

func TestRatesAreLimitedAcrossRestarts(t *testing.T) {
	dir := t.TempDir()
	o := Options{Dir: dir, Every: time.Hour, Hourly: 3, Take: quick}
	s := store(t, o)
	now := time.Now()
	allow := func(s *Store, want bool, pid int, at time.Duration, rules ...string) {
		t.Helper()
		if err := s.Allow(rules, pid, now.Add(at)); (err == nil) != want || err != nil && !errors.Is(err, ErrLimit) {
			t.Errorf("%q of %d at %v: got %v, want %v", rules, pid, at, err, want)
		}
	}
	allow(s, true, 1, 0, "a")
	allow(s, false, 1, time.Minute, "a")
	allow(s, true, 2, time.Minute, "a")
	allow(s, true, 1, 2*time.Minute, "a", "b")
	allow(s, false, 3, 3*time.Minute, "c")
	allow(s, true, 3, 61*time.Minute, "c")

	other := store(t, o)
	take(t, other, recorded(t))
	allow(store(t, o), false, os.Getpid(), 0, "deadlock")
	allow(store(t, o), true, os.Getpid(), 0, "panic")
}

func TestUnfinishedBundlesOfDeadProcessesAreSwept(t *testing.T) {
	dir := t.TempDir()
	id := "2026-11-20T20-15-03Z-shop-4711-a1b2c3"
	dead := fmt.Sprintf("%s%d-%s", unfinished, 1<<22+12345, id) // no system has such pids
	mine := fmt.Sprintf("%s%d-%s", unfinished, os.Getpid(), id)
	for _, name := range []string{dead, mine, unfinished + "x", "other"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	store(t, Options{Dir: dir})
	if got := left(t, dir); slices.Contains(got, dead) || len(got) != 3 {
		t.Errorf("got %q, want all but %q", got, dead)
	}
}

func TestBadOptionsAreRefused(t *testing.T) {
	for _, o := range []Options{{Budget: -1}, {Every: -1}, {Hourly: -1}, {Dir: "/dev/null/x"}} {
		if o.Dir == "" {
			o.Dir = t.TempDir()
		}
		if _, err := OpenStore(o); err == nil {
			t.Errorf("%+v was taken", o)
		}
	}
	s := store(t, Options{Take: TakeOptions{Without: []string{"nothing"}}})
	if _, err := s.Take(context.Background(), recorded(t), Cause{}); err == nil {
		t.Error("an unknown part is left out")
	}
	if _, err := s.Take(context.Background(), recorded(t)); err == nil {
		t.Error("a bundle without a cause")
	}
}

// A forged file is an entry of a zip file that somebody else made.
type forged struct {
	name   string
	text   string
	method uint16
}

// forge returns a zip file with a manifest about some of its files.
func forge(t testing.TB, change func(m *Manifest), files ...forged) []byte {
	t.Helper()
	m := &Manifest{Format: Format, ID: "2026-11-20T20-15-03Z-shop-4711-a1b2c3", Causes: []Cause{{What: "asked for"}}, Parts: []Part{}}
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, f := range files {
		w, err := z.CreateHeader(&zip.FileHeader{Name: f.name, Method: f.method})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, f.text); err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256([]byte(f.text))
		part, _, _ := strings.Cut(f.name, ".")
		m.Parts = append(m.Parts, Part{Name: part, Files: []File{{f.name, int64(len(f.text)), hex.EncodeToString(sum[:])}}})
	}
	if change != nil {
		change(m)
	}
	w, err := z.Create(manifestFile)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.NewEncoder(w).Encode(m); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// readAll reads all that is in a bundle, and returns the first error.
func readAll(text []byte) error {
	b, err := read(bytes.NewReader(text), int64(len(text)))
	if err != nil {
		return err
	}
	for i := range b.Manifest.Parts {
		for _, f := range b.Manifest.Parts[i].Files {
			if f.Name == eventsFile {
				if _, err := b.Events(); err != nil {
					return err
				}
			} else if _, err := b.Content(f); err != nil {
				return err
			}
		}
	}
	return nil
}

func TestHostileBundlesAreRefused(t *testing.T) {
	waits := forged{"waits.txt", "nobody waits", zip.Deflate}
	if err := readAll(forge(t, nil, waits, forged{eventsFile, "events", zip.Store})); err != nil {
		t.Fatalf("a good one: %v", err)
	}
	lie := func(change func(f *File)) func(m *Manifest) {
		return func(m *Manifest) { change(&m.Parts[0].Files[0]) }
	}
	bomb := forged{"waits.txt", strings.Repeat("\x00", 32<<20), zip.Deflate}
	for name, text := range map[string][]byte{
		"nothing":          nil,
		"no zip":           []byte("PK\x03\x04 but no more"),
		"cut":              forge(t, nil, waits)[:200],
		"path":             forge(t, nil, forged{"../waits.txt", "x", zip.Store}),
		"absolute path":    forge(t, nil, forged{"/etc/waits.txt", "x", zip.Store}),
		"backslash":        forge(t, nil, forged{`a\waits.txt`, "x", zip.Store}),
		"twice":            forge(t, nil, waits, waits),
		"no such file":     forge(t, lie(func(f *File) { f.Name = "other.txt" }), waits),
		"larger than said": forge(t, lie(func(f *File) { f.Size-- }), waits),
		"other content":    forge(t, lie(func(f *File) { f.SHA256 = strings.Repeat("0", 64) }), waits),
		"bomb":             forge(t, lie(func(f *File) { f.Size = 1000 }), bomb),
		"too large":        forge(t, lie(func(f *File) { f.Size = maxFile + 1 }), waits),
		"negative":         forge(t, lie(func(f *File) { f.Size = -1 }), waits),
		"other format":     forge(t, func(m *Manifest) { m.Format = "vtscope/incident/v9" }, waits),
		"bad id":           forge(t, func(m *Manifest) { m.ID = "../../etc/passwd" }, waits),
		"no cause":         forge(t, func(m *Manifest) { m.Causes = nil }, waits),
		"the manifest":     forge(t, func(m *Manifest) { m.Parts[0].Files[0].Name = manifestFile }, waits),
		"large manifest":   forge(t, func(m *Manifest) { m.Host = strings.Repeat("x", 2*maxManifest) }, waits),
		"packed events":    forge(t, nil, forged{eventsFile, strings.Repeat("event", 100), zip.Deflate}),
		"many files": func() []byte {
			var all []forged
			for i := range maxFiles + 1 {
				all = append(all, forged{fmt.Sprintf("f%d.txt", i), "", zip.Store})
			}
			return forge(t, nil, all...)
		}(),
	} {
		if err := readAll(text); !errors.Is(err, ErrBundle) {
			t.Errorf("%s: got %v, want %v", name, err, ErrBundle)
		}
	}
	if _, err := Open(t.TempDir()); !errors.Is(err, ErrBundle) {
		t.Errorf("a directory: got %v, want %v", err, ErrBundle)
	}
}

func TestIDsSayWhenWhatAndWho(t *testing.T) {
	at := time.Date(2026, 11, 20, 20, 15, 3, 0, time.UTC)
	for program, want := range map[string]string{
		"shop": "shop", "my shop/../x": "my_shop_.._x", "..": "_", "": "_", strings.Repeat("ä", 100): strings.Repeat("_", 40),
	} {
		id := newID(at, &dump.Process{Program: program, PID: 4711})
		got, ok := parseID(id)
		if !ok || !got.Equal(at) || !strings.HasPrefix(id, "2026-11-20T20-15-03Z-"+want+"-4711-") {
			t.Errorf("%q: got %q, %v, %v; want %q", program, id, got, ok, want)
		}
	}
}

func FuzzBundle(f *testing.F) {
	f.Add(forge(f, nil, forged{"waits.txt", "nobody waits", zip.Deflate}, forged{eventsFile, "events", zip.Store}))
	f.Fuzz(func(t *testing.T, text []byte) {
		if err := readAll(text); err != nil && !errors.Is(err, ErrBundle) {
			t.Errorf("got %v, which does not match ErrBundle", err)
		}
	})
}
