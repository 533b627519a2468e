package adapter

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/dump/memory"
	"github.com/vtscope/vtscope/runtime/flight"
)

// errNoProcess says that there is no process whose memory can be read here.
var errNoProcess = errors.New("the memory of the process cannot be read here: the list of threads is Delve's")

// A process is where the memory is of what Delve debugs. Its sources are for one goroutine at a time: those who
// use them hold mu.
type process struct {
	mu        sync.Mutex
	pid       int
	core, exe string
	all       *memory.Goroutines // nil: not opened yet
	threads   *memory.Source     // nil: not opened yet, or it has none
	recorded  atomic.Bool        // it has threads of vtscope, as far as is known
}

// is says which process it is, unless it is a core file.
func (p *process) is(pid int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.core == "" && p.pid != pid {
		p.forget()
		p.pid = pid
	}
}

// isCore says that it is a core file.
func (p *process) isCore(path, exe string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.core, p.exe = path, exe
}

func (p *process) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.forget()
}

// forget closes what is open. p.mu is held.
func (p *process) forget() {
	if p.all != nil {
		p.all.Close()
	}
	if p.threads != nil {
		p.threads.Close()
	}
	p.all, p.threads = nil, nil
}

// open opens what is not. A process that has just begun has no goroutines, and no threads before the first is made. p.mu is held.
func (p *process) open() (err error) {
	switch {
	case p.pid == 0 && p.core == "":
		return errNoProcess
	case p.all == nil && p.core != "":
		p.all, err = memory.OpenGoCore(p.core, p.exe, memory.GoroutineOptions{})
	case p.all == nil:
		p.all, err = memory.AttachGo(p.pid, memory.GoroutineOptions{})
	}
	if err != nil {
		p.all = nil
		return err
	}
	if p.threads == nil {
		if p.core != "" {
			p.threads, err = memory.OpenCore(p.core, p.exe)
		} else {
			p.threads, err = memory.Attach(p.pid, memory.Options{})
		}
		if err != nil {
			p.threads = nil
		}
	}
	p.recorded.Store(p.threads != nil)
	return nil
}

// A view is what one look at the process saw.
type view struct {
	seen       *memory.Seen
	plain      *memory.Seen   // without those that threads of vtscope run on, and its runtime's own
	threads    *dump.Snapshot // of vtscope, without people; nil: the program has none
	others     *dump.Snapshot // goroutines that no thread of vtscope runs on, without people
	goroutines map[flight.ThreadID]int64
	stacks     map[flight.ThreadID]flight.StackID // of those goroutines, as seen
	ids        map[int64]flight.ThreadID          // of goroutines that threads run on
	helpers    map[int64]bool                     // goroutines of vtscope's runtime
	people     map[int64]*person                  // those that stand in rows of their own
}

// A person is a goroutine, or the thread that runs on it, that stands for itself.
type person struct {
	goroutine int64
	thread    flight.ThreadID // 0: a plain goroutine
	name      string
	path      []string // of scopes, from the root's
	scope     int      // index in scopes
	scopes    []dump.ListedScope
	owners    map[flight.ThreadID]*person // of its scopes, those that are threads
	state     flight.State
	reason    flight.Reason
	wait      time.Duration // 0: not known
	place     *dump.Place   // nil: not known, as of those that execute
}

// look reads the process, and tells of each of wanted what it is. internal keeps the goroutines that vtscope's runtime has for itself.
func (p *process) look(ctx context.Context, wanted []int64, internal bool) (*view, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.open(); err != nil {
		return nil, err
	}
	v := &view{goroutines: map[flight.ThreadID]int64{}, stacks: map[flight.ThreadID]flight.StackID{}, ids: map[int64]flight.ThreadID{}, helpers: map[int64]bool{}, people: map[int64]*person{}}
	v.seen = p.all.See()
	if p.threads != nil {
		if err := v.pair(ctx, p.threads.FlightReader()); err != nil {
			return nil, err
		}
	}
	ofThreads, ofOthers := map[flight.ThreadID]bool{}, map[flight.ThreadID]bool{}
	for _, g := range wanted {
		if id := v.ids[g]; id != 0 {
			ofThreads[id] = true
		} else {
			ofOthers[flight.ThreadID(g)] = true
		}
	}
	taken := make(chan error, 1)
	if len(v.ids) > 0 {
		if err := v.meet(ctx, p.threads.FlightReader(), ofThreads, v.people); err != nil { // which walks no stacks
			return nil, err
		}
		go func() { // beside the others
			var err error
			v.threads, err = dump.Take(ctx, threadsWithout{p.threads, ofThreads}, dump.Options{})
			taken <- err
		}()
	} else {
		taken <- nil
	}
	err := v.takeOthers(ctx, ofOthers, internal)
	if err = errors.Join(err, <-taken); err != nil {
		return nil, err
	}
	return v, nil
}

// takeOthers takes the goroutines that are no threads of vtscope.
func (v *view) takeOthers(ctx context.Context, people map[flight.ThreadID]bool, internal bool) error {
	if err := v.sort(ctx, internal); err != nil {
		return err
	}
	if err := v.meet(ctx, v.plain, people, v.people); err != nil {
		return err
	}
	var err error
	v.others, err = dump.Take(ctx, v.plain.Without(func(r *flight.ThreadRow) bool { return people[r.ID] }), dump.Options{})
	return err
}

// pair finds out which goroutines threads run on.
func (v *view) pair(ctx context.Context, r *flight.Reader) error {
	byAddress := map[uint64]flight.ThreadID{}
	seen := func(looks []flight.Look) {
		for i := range looks {
			looks[i].Seen = true
		}
	}
	_, err := r.LookAtThreads(ctx, seen, func(looks []flight.Look) {
		for i := range looks {
			if l := &looks[i]; l.G != 0 && l.Row.State != flight.StateDone && l.Row.State != flight.StateNew {
				byAddress[l.G] = l.Row.ID
			}
		}
	})
	if err != nil && !errors.Is(err, flight.ErrIncomplete) || len(byAddress) == 0 {
		return err
	}
	_, err = v.seen.Threads(ctx, func(rows []flight.ThreadRow) {
		for i := range rows {
			if id := byAddress[v.seen.Address(rows[i].Index)]; id != 0 {
				v.ids[int64(rows[i].ID)], v.goroutines[id] = id, int64(rows[i].ID)
				v.stacks[id] = rows[i].Stack
			}
		}
	})
	if errors.Is(err, flight.ErrIncomplete) {
		return nil
	}
	return err
}

// meet looks for people among the threads of a source, and for the owners of their scopes.
func (v *view) meet(ctx context.Context, src dump.Source, wanted map[flight.ThreadID]bool, into map[int64]*person) error {
	if len(wanted) == 0 {
		return nil
	}
	l, err := dump.List(ctx, src, dump.Options{})
	if err != nil {
		return err
	}
	owners := map[flight.ThreadID]*person{}
	err = l.Each(ctx, func(t *dump.Thread) error {
		if wanted[t.ID] {
			p := v.person(l, t)
			p.owners = owners
			into[p.goroutine] = p
			for at := t.Scope; at >= 0; at = l.Scopes[at].Above {
				if o := l.Scopes[at].Owner; o != 0 {
					owners[o] = nil
				}
			}
		}
		return nil
	})
	if err != nil || len(owners) == 0 {
		return err
	}
	return l.Each(ctx, func(t *dump.Thread) error {
		if _, is := owners[t.ID]; is {
			owners[t.ID] = v.person(l, t)
		}
		return nil
	})
}

// sort finds out which goroutines are those of vtscope's runtime, in a program that has its threads, and leaves them out of v.plain unless internal is set.
func (v *view) sort(ctx context.Context, internal bool) error {
	if len(v.ids) == 0 {
		v.plain = v.seen
		return nil
	}
	scopes, _ := v.seen.Scopes() // what is missing, Take tells
	runtimes := map[flight.StackID]bool{}
	is := func(r *flight.ThreadRow) bool {
		if r.Stack == 0 { // it executes
			return int(r.Scope) < len(scopes) && strings.HasPrefix(scopes[r.Scope].Name, "github.com/vtscope/vtscope/runtime/")
		}
		is, known := runtimes[r.Stack]
		if !known {
			s, err := v.seen.Stack(r.Stack)
			is = err == nil && !slices.ContainsFunc(s.Frames, func(f flight.Frame) bool { return !f.Internal })
			runtimes[r.Stack] = is
		}
		return is
	}
	_, err := v.seen.Threads(ctx, func(rows []flight.ThreadRow) {
		for i := range rows {
			if r := &rows[i]; v.ids[int64(r.ID)] == 0 && is(r) {
				v.helpers[int64(r.ID)] = true
			}
		}
	})
	v.plain = v.seen.Without(func(r *flight.ThreadRow) bool { return v.ids[int64(r.ID)] != 0 || !internal && v.helpers[int64(r.ID)] })
	if errors.Is(err, flight.ErrIncomplete) {
		return nil
	}
	return err
}

func (v *view) person(l *dump.Listing, t *dump.Thread) *person {
	p := &person{goroutine: int64(t.ID), name: l.Name(t), path: l.Path(t.Scope), scope: t.Scope, scopes: l.Scopes, state: t.State, reason: t.Reason, wait: t.Wait}
	if _, plain := l.Source.(*memory.Seen); !plain {
		p.goroutine, p.thread = v.goroutines[t.ID], t.ID
	}
	stack := t.Stack
	if p.thread != 0 {
		stack = v.stacks[t.ID]
	}
	if stack != 0 {
		if s, err := v.seen.Stack(stack); err == nil {
			p.place = dump.PlaceOf(s.Frames)
		}
	}
	return p
}

// threadsWithout are the threads of a process but for some.
type threadsWithout struct {
	*memory.Source
	without map[flight.ThreadID]bool
}

// Threads is that of the source.
func (s threadsWithout) Threads(ctx context.Context, visit func([]flight.ThreadRow)) (torn int, err error) {
	return s.Source.Threads(ctx, func(rows []flight.ThreadRow) {
		visit(slices.DeleteFunc(rows, func(r flight.ThreadRow) bool { return s.without[r.ID] }))
	})
}
