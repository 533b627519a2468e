package incident

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/vtscope/vtscope/agent/trigger"
	"github.com/vtscope/vtscope/internal/plainfile"
	"github.com/vtscope/vtscope/runtime/flight"
)

// Options say where bundles are kept, and how many. Zero values mean the defaults.
type Options struct {
	Dir    string        // made if missing, mode 0700. Default: "."
	Budget int64         // bytes that all bundles of Dir may have together, also while one is written. Default: 1 GiB
	Every  time.Duration // the shortest time between two bundles of one rule and process. Default: 10 minutes
	Hourly int           // bundles in an hour of all rules and processes. Default: 12
	Take   TakeOptions
}

func (o Options) withDefaults() (Options, error) {
	o.Dir = cmp.Or(o.Dir, ".")
	o.Budget = cmp.Or(o.Budget, 1<<30)
	o.Every = cmp.Or(o.Every, 10*time.Minute)
	o.Hourly = cmp.Or(o.Hourly, 12)
	switch {
	case o.Budget < 0:
		return o, fmt.Errorf("incident: budget of %d bytes: negative", o.Budget)
	case o.Every < 0:
		return o, fmt.Errorf("incident: a bundle every %v: negative", o.Every)
	case o.Hourly < 0:
		return o, fmt.Errorf("incident: %d bundles in an hour: negative", o.Hourly)
	}
	return o, nil
}

// A Store keeps bundles in a directory, which it has for itself.
type Store struct {
	options Options

	taking sync.Mutex // one bundle at a time
	mu     struct {
		sync.Mutex
		fired []fired // in the last hour, or within Every; oldest first
	}
}

// fired is a bundle that was taken.
type fired struct {
	rules []string
	pid   int
	at    time.Time
}

// An Entry is a bundle of a [Store].
type Entry struct {
	ID   string
	Path string
	At   time.Time
	Size int64
}

// ErrLimit is what errors of [Store.Allow] match.
var ErrLimit = errors.New("limit of bundles")

// OpenStore opens the directory, and clears away what was not finished by processes that are gone. Rate limits go on as they were.
func OpenStore(o Options) (*Store, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("incident: %w", err)
	}
	s := &Store{options: o}
	s.sweep()
	all, err := s.List()
	if err != nil {
		return nil, err
	}
	for _, e := range all {
		if time.Since(e.At) > max(o.Every, time.Hour) {
			continue
		}
		if b, err := Open(e.Path); err == nil { // a damaged one counts for nothing
			var rules []string
			for _, c := range b.Manifest.Causes {
				if c.Rule != "" {
					rules = append(rules, c.Rule)
				}
			}
			if len(rules) > 0 {
				s.mu.fired = append(s.mu.fired, fired{rules, b.Manifest.Process.PID, e.At})
			}
			b.Close()
		}
	}
	return s, nil
}

// TakeEvents sets [TakeOptions.Events], before the first bundle is taken.
func (s *Store) TakeEvents(events func(ctx context.Context, r *flight.Reader, to io.Writer) (incomplete []string, err error)) {
	s.options.Take.Events = events
}

// Dir returns the directory.
func (s *Store) Dir() string { return s.options.Dir }

// List returns the bundles by age, the oldest first. In a directory that others may write to, it leaves out what is theirs, and files that have other names too.
func (s *Store) List() ([]Entry, error) {
	files, err := os.ReadDir(s.options.Dir)
	if err != nil {
		return nil, fmt.Errorf("incident: %w", err)
	}
	dir, err := os.Stat(s.options.Dir)
	if err != nil {
		return nil, fmt.Errorf("incident: %w", err)
	}
	var all []Entry
	for _, f := range files {
		id, ok := strings.CutSuffix(f.Name(), Ending)
		at, good := parseID(id)
		info, err := f.Info()
		if !ok || !good || err != nil || !info.Mode().IsRegular() || !plainfile.MayBeOurs(info, dir) {
			continue // not ours, or it has just gone
		}
		all = append(all, Entry{id, filepath.Join(s.options.Dir, f.Name()), at, info.Size()})
	}
	slices.SortStableFunc(all, func(a, b Entry) int { return cmp.Or(a.At.Compare(b.At), strings.Compare(a.ID, b.ID)) })
	return all, nil
}

// OpenFile opens the file of a bundle that [Store.List] returned, to be read as it is. What was put in its place since then and is no bundle's own file is refused.
func (s *Store) OpenFile(e Entry) (*os.File, error) {
	f, err := plainfile.OpenOwn(e.Path)
	if err != nil {
		return nil, fmt.Errorf("incident: %w", err)
	}
	return f, nil
}

// sweep removes unfinished bundles of processes that are gone.
func (s *Store) sweep() {
	files, _ := os.ReadDir(s.options.Dir) // List says what is wrong
	for _, f := range files {
		for _, prefix := range []string{unfinished, tailPrefix} {
			name, ok := strings.CutPrefix(f.Name(), prefix)
			pid, rest, _ := strings.Cut(name, "-")
			n, err := strconv.Atoi(pid)
			if !ok || rest == "" || err != nil || n == os.Getpid() || lives(n) {
				continue
			}
			_ = os.RemoveAll(filepath.Join(s.options.Dir, f.Name())) // what stays is in nobody's way
		}
	}
}

// tails returns what recordings of last events take in the directory.
func (s *Store) tails() (size int64) {
	dirs, _ := filepath.Glob(filepath.Join(s.options.Dir, tailPrefix+"*", "*")) // the pattern is good
	for _, name := range dirs {
		if info, err := os.Stat(name); err == nil {
			size += info.Size()
		}
	}
	return size
}

// Allow reports whether there may be a bundle for rules that came true for a process now, which is so if there may be one for some of them, and counts it then.
// The error matches [ErrLimit].
func (s *Store) Allow(rules []string, pid int, now time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.fired = slices.DeleteFunc(s.mu.fired, func(f fired) bool { return now.Sub(f.at) > max(s.options.Every, time.Hour) })
	hour := 0
	last := map[string]time.Time{}
	for _, f := range s.mu.fired {
		if now.Sub(f.at) < time.Hour {
			hour++
		}
		if f.pid == pid && now.Sub(f.at) < s.options.Every {
			for _, rule := range f.rules {
				last[rule] = f.at
			}
		}
	}
	due := slices.ContainsFunc(rules, func(rule string) bool { return last[rule].IsZero() })
	switch {
	case !due:
		return fmt.Errorf("incident: %w: one for a rule and a process every %v, and the last was %v ago", ErrLimit, s.options.Every, now.Sub(last[rules[0]]).Round(time.Second))
	case hour >= s.options.Hourly:
		return fmt.Errorf("incident: %w: %d in an hour", ErrLimit, s.options.Hourly)
	}
	s.mu.fired = append(s.mu.fired, fired{slices.Clone(rules), pid, now})
	return nil
}

// Fire takes a bundle because rules came true, unless there were too many: see [Store.Allow] and [Store.Take].
func (s *Store) Fire(ctx context.Context, r *flight.Reader, fired []trigger.Firing) (path string, err error) {
	var rules []string
	for _, f := range fired {
		rules = append(rules, f.Rule.String())
	}
	if err := s.Allow(rules, r.Process().PID, fired[0].At); err != nil {
		return "", err
	}
	return s.Take(ctx, r, CausesOf(fired)...)
}

// CausesOf makes causes of rules that came true.
func CausesOf(fired []trigger.Firing) []Cause {
	var all []Cause
	for _, f := range fired {
		all = append(all, Cause{f.Rule.String(), f.At.UTC(), f.What, f.Evidence})
	}
	return all
}

var errBudget = errors.New("larger than the budget")

// makeRoom removes the oldest bundles until there is room for size bytes. It removes none if that would not help.
func (s *Store) makeRoom(size int64) error {
	if size > s.options.Budget {
		return fmt.Errorf("%w of %d KiB", errBudget, s.options.Budget>>10)
	}
	all, err := s.List()
	if err != nil {
		return err
	}
	size += s.tails()
	if size > s.options.Budget {
		return fmt.Errorf("%w of %d KiB, of which recordings of the last events have some", errBudget, s.options.Budget>>10)
	}
	for _, e := range all {
		size += e.Size
	}
	for _, e := range all {
		if size <= s.options.Budget {
			break
		}
		if err := os.Remove(e.Path); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("make room: %w", err)
		}
		size -= e.Size
	}
	return nil
}
