package agent

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/vtscope/vtscope/dump"
	procmem "github.com/vtscope/vtscope/dump/memory"
	"github.com/vtscope/vtscope/dump/source"
	"github.com/vtscope/vtscope/internal/procfs"
	"github.com/vtscope/vtscope/runtime/flight"
)

// searchEvery is the time between two searches for Go programs: each reads all of /proc.
const searchEvery = 5 * time.Second

// A plain is a process whose goroutines are seen by looks, each of which costs something: in its memory, or by
// what it answers. All who want to see them share the looks.
type plain struct {
	process func() flight.Process // as it is now; any goroutine may call it
	look    func() dump.Source
	mu      struct {
		sync.Mutex
		newest dump.Source // nil: none yet
		at     time.Time   // before it was taken
	}
}

// see returns what a look saw that is not older than that, and not before. It may wait for others' look.
func (p *plain) see(age time.Duration, before dump.Source) dump.Source {
	p.mu.Lock()
	defer p.mu.Unlock()
	if now := time.Now(); p.mu.newest == nil || p.mu.newest == before || now.Sub(p.mu.at) > age {
		p.mu.newest, p.mu.at = p.look(), now
	}
	return p.mu.newest
}

// A glance is a plain process for one who asks. It is a [dump.Living] source.
type glance struct {
	dump.Source // what the last look saw
	of          *plain
	age         func() time.Duration // how old a look may be
	close       func() error
}

// Process may be called from any goroutine, as that of a flight file.
func (g *glance) Process() flight.Process { return g.of.process() }

// Kind returns "goroutine".
func (g *glance) Kind() string { return kindGoroutine }

func (g *glance) Look() dump.Source {
	g.Source = g.of.see(g.age(), g.Source)
	return g.Source
}

func (g *glance) Scopes() ([]flight.ScopeRow, error) { return g.Look().Scopes() }
func (g *glance) Close() error                       { return g.close() }

var _ dump.Living = (*glance)(nil)

// plain reports whether f follows goroutines.
func (f *follower) plain() bool { return f.reader == nil && f.past == nil }

// plainKey is what a process is known by as one of goroutines.
func plainKey(pid int) (key string, ok bool) {
	st, err := procfs.ReadStat(pid)
	if err != nil {
		return "", false
	}
	return fmt.Sprintf("%d-%d-goroutines", pid, st.Start), true
}

// discoverGoroutines starts to follow the goroutines of the processes that the options name and that have
// no recorder, or of all Go programs if the options say so. The agent's goroutine calls it.
func (a *Agent) discoverGoroutines(recorded []flight.Process) {
	knows := func(pid int) bool {
		return slices.ContainsFunc(recorded, func(p flight.Process) bool { return p.PID == pid && p.Status.Live() })
	}
	for _, pid := range a.options.PIDs {
		if !knows(pid) {
			a.followGoroutines(pid, false)
		}
	}
	if !a.options.Goroutines || len(a.options.PIDs) > 0 || time.Since(a.searched) < searchEvery {
		return
	}
	a.searched = time.Now()
	strangers, asked := map[string]bool{}, map[int]string{}
	found := procmem.GoProcesses(func(pid int) bool {
		key, ok := plainKey(pid)
		if !ok || knows(pid) || a.follows(key) {
			return true
		}
		exe, _ := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid)) // it may execute another program later
		if key += exe; a.strangers[key] {
			strangers[key] = true
			return true
		}
		asked[pid] = key
		return false
	})
	for _, p := range found {
		delete(asked, p.PID)
	}
	for _, key := range asked {
		strangers[key] = true
	}
	a.strangers = strangers
	for _, p := range found {
		if p.Err != nil {
			a.warnOnce(fmt.Sprintf("pid %d, %s: %v", p.PID, p.Program, p.Err))
			continue
		}
		if live, _ := a.count(); live >= most {
			a.warnOnce(fmt.Sprintf("follows %d processes already: pid %d and others are left out", most, p.PID))
			return
		}
		a.followGoroutines(p.PID, false)
	}
}

// followGoroutines begins to follow the goroutines of a process. Where the agent cannot read its own
// memory there are threads all the same.
func (a *Agent) followGoroutines(pid int, own bool) {
	a.searching.Lock()
	defer a.searching.Unlock()
	key, ok := plainKey(pid)
	if !ok || a.follows(key) || a.refusedLately(key, own) {
		return // or it has ended, which who follows it tells
	}
	f, err := newPlainFollower(a, pid, key)
	if err != nil {
		a.mu.Lock()
		if len(a.mu.refused) >= maxRefused {
			clear(a.mu.refused)
		}
		a.mu.refused[key] = time.Now()
		a.mu.Unlock()
		if !errors.Is(err, flight.ErrNoProcess) && !own {
			a.warnOnce(err.Error())
		}
		return
	}
	a.start(f)
}

// maxRefused is how many processes are remembered that could not be read: they come and go.
const maxRefused = 1000

// refusedLately reports whether it would be too soon to try again to read the goroutines of a process. Its own
// a program tries to read once only: each attempt may read all that it has in memory.
func (a *Agent) refusedLately(key string, own bool) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	at, ok := a.mu.refused[key]
	return ok && (own || time.Since(at) < searchEvery)
}

func newPlainFollower(a *Agent, pid int, key string) (*follower, error) {
	src, err := procmem.AttachGo(pid, procmem.GoroutineOptions{Scopes: a.options.Scopes})
	if err != nil {
		return nil, err
	}
	if now, ok := plainKey(pid); !ok || now != key {
		src.Close()
		return nil, flight.ErrNoProcess // another process has its pid now
	}
	blank := src.Seen
	p := &plain{process: blank.Process, look: func() dump.Source { return src.See() }}
	return a.newPlain(key, key, p, blank, src.Close), nil
}

// newPlain returns a follower of a process without a recorder; blank has no goroutine.
func (a *Agent) newPlain(path, key string, p *plain, blank dump.Source, close func() error) *follower {
	f := a.newFollower(path, key, &glance{blank, p, func() time.Duration { return 0 }, close})
	f.openSource = func() (source.Source, error) {
		if isGone(p.process()) {
			return nil, flight.ErrNoProcess
		}
		age := func() time.Duration { return max(a.options.Interval, f.view().pause) }
		return &glance{blank, p, age, func() error { return nil }}, nil
	}
	f.open = func() (*flight.Reader, error) { return nil, errNoRecorder }
	f.share, f.usualPause = plainShare, plainPause
	f.publish(p.process())
	return f
}

// kindGoroutine is the kind of the rows of a process that is seen without a recorder, as in snapshots.
const kindGoroutine = "goroutine"

// plainShare is the part of a processor that looks at goroutines may use. A page that shows them costs more.
const plainShare = 0.015

// plainPause is the time between two looks at goroutines that nobody need be told of.
const plainPause = 5 * time.Second

// errNoRecorder refuses what a recorder alone knows.
var errNoRecorder = refusal{409, "these are goroutines: only vtscope's recorder would know it, and there is none", "dump, waits or findings, which goroutines have"}
