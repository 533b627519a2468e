package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
)

// Options says what an agent follows and how. The zero value is usable.
type Options struct {
	Dirs     []string      // directories of flight files; none: flight's own
	PIDs     []int         // follow only these processes; none: all
	Prefer   int           // the process that a client gets which asks for none; 0: the one with most threads
	Interval time.Duration // between two looks at a process; 0: one second, at least 50 ms
	Points   int           // of the time line of each process; 0: 600, at most 3,600
	Gone     int           // processes kept after they ended, the newest; 0: 8
	Hosts    []string      // names besides loopback that a request's Host may have
	Clients  int           // websockets at a time; 0: 100
	Warn     func(string)  // told what goes wrong, once for each thing; nil: nobody
}

func (o Options) withDefaults() (Options, error) {
	o.Interval = cmp.Or(o.Interval, time.Second)
	o.Points = cmp.Or(o.Points, 600)
	o.Gone = cmp.Or(o.Gone, 8)
	o.Clients = cmp.Or(o.Clients, 100)
	switch {
	case o.Interval < 50*time.Millisecond:
		return o, fmt.Errorf("agent: interval %v: less than 50 ms", o.Interval)
	case o.Points < 0 || o.Points > 3600:
		return o, fmt.Errorf("agent: %d points: not between 1 and 3600", o.Points)
	case o.Gone < 0:
		return o, fmt.Errorf("agent: %d processes to keep: negative", o.Gone)
	case o.Clients < 0:
		return o, fmt.Errorf("agent: %d clients: negative", o.Clients)
	}
	for _, pid := range o.PIDs {
		if pid <= 0 {
			return o, fmt.Errorf("agent: pid %d: not positive", pid)
		}
	}
	if o.Warn == nil {
		o.Warn = func(string) {}
	}
	return o, nil
}

// most is how many living processes an agent follows; further ones are only warned about.
const most = 64

// An Agent follows processes. Its methods may be called from any goroutine.
type Agent struct {
	options Options
	started time.Time
	meter   *meter
	ctx     context.Context // of all goroutines
	stop    context.CancelFunc
	wait    sync.WaitGroup
	dumps   chan struct{} // held while the HTTP interface takes a snapshot

	mu struct {
		sync.Mutex
		closed    bool
		followers map[string]*follower // by path of the flight file
		warned    map[string]bool
		clients   int
	}
}

// New starts an agent. Close it.
func New(o Options) (*Agent, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	a := &Agent{options: o, started: time.Now(), meter: newMeter(), dumps: make(chan struct{}, 1)}
	a.ctx, a.stop = context.WithCancel(context.Background())
	a.mu.followers = map[string]*follower{}
	a.mu.warned = map[string]bool{}
	a.discover()
	a.wait.Go(a.run)
	return a, nil
}

// Close stops following, closes the websockets, and returns when all of the agent's goroutines are gone.
// It does not close listeners. Further calls do nothing.
func (a *Agent) Close() error {
	a.mu.Lock()
	a.mu.closed = true
	a.mu.Unlock()
	a.stop()
	a.wait.Wait()
	return nil
}

// goWhileOpen runs f in a goroutine that Close waits for, unless the agent is closed.
func (a *Agent) goWhileOpen(f func()) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.mu.closed {
		return false
	}
	a.wait.Go(f)
	return true
}

func (a *Agent) run() {
	tick := time.NewTicker(a.options.Interval)
	defer tick.Stop()
	for {
		select {
		case <-a.ctx.Done():
			return
		case <-tick.C:
			a.meter.read()
			a.discover()
			a.forget()
		}
	}
}

// discover starts to follow processes that are new. Of those that are gone already it takes the newest
// only, so that what forget dropped does not come back.
func (a *Agent) discover() {
	found, errs := flight.List(a.options.Dirs...)
	for _, err := range errs {
		a.warnOnce(err.Error())
	}
	live, gone := a.count()
	for _, p := range found { // newest first
		if len(a.options.PIDs) > 0 && !slices.Contains(a.options.PIDs, p.PID) || a.follows(p.Path) {
			continue
		}
		switch {
		case p.Status.Live() && live >= most:
			a.warnOnce(fmt.Sprintf("follows %d processes already: pid %d and others are left out", most, p.PID))
		case p.Status.Live():
			live++
			a.follow(p)
		case gone < a.options.Gone:
			gone++
			a.follow(p)
		}
	}
}

func (a *Agent) count() (live, gone int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, f := range a.mu.followers {
		if f.view().row.Gone == 0 {
			live++
		} else {
			gone++
		}
	}
	return live, gone
}

func (a *Agent) follows(path string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.mu.followers[path] != nil
}

func (a *Agent) follow(p flight.Process) {
	f, err := newFollower(a, p.Path)
	if err != nil {
		if !errors.Is(err, flight.ErrNoProcess) { // it ended between List and Open
			a.warnOnce(err.Error())
		}
		return
	}
	if !a.goWhileOpen(f.run) {
		f.reader.Close()
		return
	}
	a.mu.Lock()
	a.mu.followers[p.Path] = f
	a.mu.Unlock()
}

// forget drops the oldest of the processes that are gone.
func (a *Agent) forget() {
	var gone []*view
	for _, v := range a.views() {
		if v.row.Gone > 0 {
			gone = append(gone, v)
		}
	}
	if len(gone) <= a.options.Gone {
		return
	}
	slices.SortFunc(gone, func(x, y *view) int { return cmp.Compare(y.row.Gone, x.row.Gone) })
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, v := range gone[a.options.Gone:] {
		delete(a.mu.followers, v.from.path)
	}
}

func (a *Agent) warnOnce(what string) {
	a.mu.Lock()
	told := a.mu.warned[what]
	if len(a.mu.warned) < 1000 {
		a.mu.warned[what] = true
	}
	a.mu.Unlock()
	if !told {
		a.options.Warn(what)
	}
}

// views returns what is known of all processes, living ones first, newest first.
func (a *Agent) views() []*view {
	a.mu.Lock()
	views := make([]*view, 0, len(a.mu.followers))
	for _, f := range a.mu.followers {
		views = append(views, f.view())
	}
	a.mu.Unlock()
	slices.SortFunc(views, func(x, y *view) int {
		return cmp.Or(
			cmp.Compare(min(x.row.Gone, 1), min(y.row.Gone, 1)),
			cmp.Compare(y.row.Started, x.row.Started),
			strings.Compare(x.row.Key, y.row.Key),
		)
	})
	return views
}

// find returns the follower that a client names by key or pid; of several processes with one pid the
// living or newest. It returns nil if there is none.
func (a *Agent) find(name string) *follower {
	var chosen *follower
	for _, v := range a.views() {
		if v.row.Key == name {
			return v.from
		}
		if chosen == nil && strconv.Itoa(v.row.PID) == name {
			chosen = v.from
		}
	}
	return chosen
}

// choose returns the follower for a client that names no process: the preferred one, else the living one
// with most threads, else the newest. It returns nil if there is none.
func (a *Agent) choose() *follower {
	var chosen *view
	for _, v := range a.views() {
		if a.options.Prefer != 0 && v.row.PID == a.options.Prefer {
			return v.from
		}
		if chosen == nil || v.row.Gone == 0 && v.row.Threads > chosen.row.Threads {
			chosen = v
		}
	}
	if chosen == nil {
		return nil
	}
	return chosen.from
}
