package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/vtscope/vtscope/agent/access"
	"github.com/vtscope/vtscope/agent/trigger"
	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/dump/goroutines"
	"github.com/vtscope/vtscope/incident"
	"github.com/vtscope/vtscope/recording"
	"github.com/vtscope/vtscope/runtime/flight"
)

// Options says what an agent follows and how. The zero value is usable.
type Options struct {
	Dirs    []string // directories of flight files; none: flight's own
	Files   []string // recordings, incident bundles, and what [source.Open] opens: their processes are shown as they were
	NoLocal bool     // follow no process of this machine
	Remotes []Remote // agents whose processes are shown too; the agent closes their clients
	// Endpoints are programs that serve package net/http/pprof. They are asked so often that they are answering for at
	// most 2 % of the time, each 5 s at most, and more rarely while nobody looks; but who asks for findings makes them answer twice. The agent closes
	// their clients.
	Endpoints []Endpoint
	PIDs      []int         // follow only these processes; none: all. Of one without a recorder it follows the goroutines
	Prefer    int           // the process that a client gets which asks for none; 0: the one with most threads
	Interval  time.Duration // between two looks at a process; 0: one second, at least 50 ms
	Points    int           // of the time line of each process; 0: 600, at most 3,600
	Gone      int           // processes kept after they ended, the newest; 0: 8
	Hosts     []string      // names besides loopback that a request's Host may have; [access.Options] has them too
	Clients   int           // websockets at a time; 0: 100

	// Goroutines follows all Go programs of this user that have no recorder, too: their goroutines, which it
	// reads in their memory. The looks at each take at most 1.5 % of a processor. On Linux.
	Goroutines bool

	// Scopes says what the scopes of goroutines are. "": who made them.
	Scopes goroutines.ScopeBy

	MaxGroups int // groups of threads that a snapshot keeps, more are only counted; 0: 5,000
	// Above these, of the process that the agent is in, it does without one thing after the other, and says so: [Cost]. 0: no limit.
	MaxCPU    float64 // of one processor
	MaxMemory uint64  // bytes, as [Cost.Memory]
	// MaxPast is the memory, in bytes, for moments of processes that a page can go back to; when it is full, every other of the older ones goes, and so on.
	// 0: 32 MB, and 8 MB within the program itself; but at most an eighth of MaxMemory. At least one moment of each process is kept.
	MaxPast uint64

	// Rules are watched for in each process that lives; Incidents keeps a bundle of those in which one comes true, and Warn is told. With rules there must be
	// Incidents; without it nobody can ask for a bundle either.
	Rules     []trigger.Rule
	Incidents *incident.Store

	// Marks is a file of what people think of groups, as vtdump mark writes it: pages show them, and those who may operate set them. "": none.
	Marks string

	// TraceURL is where a trace is shown, with {trace} for its id and maybe {span}: pages link there from a thread whose labels name one. "": they show the id.
	TraceURL string

	// Checks are those that are made in each process all the time, with their thresholds; Found is told after each look what is found, on a goroutine of that process:
	// a finding comes when it was there in two looks in a row, and goes when it was missing in three. It must not change what it is given. nil: nobody is told.
	Checks dump.CheckOptions
	Found  func(p flight.Process, f *dump.Findings)

	// Observe is asked once for each process that lives and is followed; what it returns is told what the process does, on a goroutine of that process, until it ends
	// or the agent is closed. Then those that have a method Close are closed. They may keep src, which explains what events refer to. nil, or none: events are not read.
	Observe func(p flight.Process, src recording.Source) []recording.Observer
	// ObserveFor is how long after the last call of [Agent.Want] they are told anything: reading all events costs. 0: always.
	ObserveFor time.Duration
	// Mount has handlers to serve beside the agent's own, behind the same guard, by pattern without a method or a host: "/metrics" is one path, "/debug/x/" all below it.
	Mount map[string]http.Handler

	// Access decides who may ask, and what is hidden from all. nil: this user on loopback.
	Access *access.Policy

	// Fired is told of rules that have come true in a process, and the path of the bundle that was taken, or "". It is called on a goroutine of that process. nil: nobody.
	Fired func(p flight.Process, fired []trigger.Firing, bundle string)

	Warn func(string) // told what goes wrong, once for each thing; nil: nobody

	self bool // follow the process that the agent is in, and no other: see [Handler]
}

func (o Options) withDefaults() (Options, error) {
	o.Interval = cmp.Or(o.Interval, time.Second)
	o.Points = cmp.Or(o.Points, 600)
	o.Gone = cmp.Or(o.Gone, 8)
	o.Clients = cmp.Or(o.Clients, 100)
	o.MaxGroups = cmp.Or(o.MaxGroups, 5000)
	if o.MaxPast == 0 {
		o.MaxPast = usualPast
		if o.self {
			o.MaxPast = usualPastWithin
		}
		if o.MaxMemory > 0 {
			o.MaxPast = min(o.MaxPast, o.MaxMemory/8)
		}
	}
	switch {
	case o.Interval < 50*time.Millisecond:
		return o, fmt.Errorf("agent: interval %v: less than 50 ms", o.Interval)
	case o.Points < 0 || o.Points > 3600:
		return o, fmt.Errorf("agent: %d points: not between 1 and 3600", o.Points)
	case o.Gone < 0:
		return o, fmt.Errorf("agent: %d processes to keep: negative", o.Gone)
	case o.MaxGroups < 0:
		return o, fmt.Errorf("agent: %d groups: negative", o.MaxGroups)
	case !(o.MaxCPU >= 0): // NaN is none of both
		return o, fmt.Errorf("agent: %v of a processor: negative", o.MaxCPU)
	case o.Clients < 0:
		return o, fmt.Errorf("agent: %d clients: negative", o.Clients)
	}
	if o.Scopes = cmp.Or(o.Scopes, goroutines.ScopeBys[0]); !slices.Contains(goroutines.ScopeBys, o.Scopes) {
		return o, fmt.Errorf("agent: scopes %q: not one of %v", o.Scopes, goroutines.ScopeBys)
	}
	if len(o.Rules) > 0 && o.Incidents == nil {
		return o, errors.New("agent: rules, and nowhere to keep incidents")
	}
	if o.Checks.Earlier = nil; o.Checks.Check() != nil {
		return o, fmt.Errorf("agent: %w", o.Checks.Check())
	}
	if err := checkMounts(o.Mount); err != nil {
		return o, err
	}
	if err := checkRemotes(o.Remotes); err != nil {
		return o, err
	}
	if err := checkEndpoints(o.Endpoints, func(name string) bool {
		return slices.ContainsFunc(o.Remotes, func(r Remote) bool { return r.Name == name })
	}); err != nil {
		return o, err
	}
	for _, pid := range o.PIDs {
		if pid <= 0 {
			return o, fmt.Errorf("agent: pid %d: not positive", pid)
		}
	}
	if o.Access == nil {
		var err error
		if o.Access, err = access.New(access.Options{Hosts: o.Hosts}); err != nil {
			return o, err
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
	list    processList
	marks   groupMarks
	remotes []*remote
	ctx     context.Context // of all goroutines
	stop    context.CancelFunc
	wait    sync.WaitGroup
	dumps   chan struct{} // held while the HTTP interface takes a snapshot
	bundles chan struct{} // held while it takes a bundle

	searched   time.Time       // for Go programs, last; of run alone
	strangers  map[string]bool // that were none then
	recordings chan struct{}   // held while it records
	opening    sync.Mutex      // held while a bundle becomes one of the processes
	searching  sync.Mutex      // held while somebody asks for Go programs, or for one to be followed

	mu struct {
		sync.Mutex
		closed    bool
		followers map[string]*follower // by path of the flight file
		refused   map[string]time.Time // processes whose goroutines could not be read, by key
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
	a := &Agent{options: o, started: time.Now(), meter: newMeter(), dumps: make(chan struct{}, 1), bundles: make(chan struct{}, 1), recordings: make(chan struct{}, 1)}
	a.meter.maxCPU, a.meter.maxMemory = o.MaxCPU, o.MaxMemory
	a.ctx, a.stop = context.WithCancel(context.Background())
	if o.ObserveFor > 0 {
		a.meter.thrift.rest()
	}
	a.mu.followers = map[string]*follower{}
	a.mu.refused = map[string]time.Time{}
	a.mu.warned = map[string]bool{}
	if err := a.openAll(); err != nil {
		for _, r := range o.Remotes {
			r.Client.Close()
		}
		for _, e := range o.Endpoints {
			e.Client.Close()
		}
		return nil, errors.Join(err, a.Close())
	}
	for _, r := range o.Remotes {
		a.connect(r)
	}
	for _, e := range o.Endpoints {
		a.followEndpoint(e)
	}
	a.discover()
	a.wait.Go(a.run)
	return a, nil
}

// openAll opens the files that the options name.
func (a *Agent) openAll() error {
	if err := a.marks.open(a.options.Marks, a.warnOnce); err != nil {
		return fmt.Errorf("agent: %w", err)
	}
	for _, path := range a.options.Files {
		if err := a.addRecorded(path); err != nil {
			return err
		}
	}
	return nil
}

// Close stops following, closes the websockets, and returns when all of the agent's goroutines are gone.
// It does not close listeners. Further calls do nothing.
func (a *Agent) Close() error {
	a.mu.Lock()
	a.mu.closed = true
	a.mu.Unlock()
	a.stop()
	a.wait.Wait()
	a.mu.Lock()
	defer a.mu.Unlock()
	var errs []error
	for key, f := range a.mu.followers {
		if f.past != nil {
			errs = append(errs, f.past.close())
			delete(a.mu.followers, key)
		}
	}
	return errors.Join(errs...)
}

// Want says that somebody will use what the observers are told: see [Options.ObserveFor].
func (a *Agent) Want() {
	if a.options.ObserveFor > 0 {
		a.meter.thrift.want(a.options.ObserveFor)
	}
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
			a.economize()
			if a.options.ObserveFor > 0 {
				a.meter.thrift.rest()
			}
		}
	}
}

// discover starts to follow processes that are new. Of those that are gone already it takes the newest
// only, so that what forget dropped does not come back.
func (a *Agent) discover() {
	switch {
	case a.options.self:
		a.discoverSelf()
		return
	case a.options.NoLocal:
		return
	}
	found, errs := flight.List(a.options.Dirs...)
	defer a.discoverGoroutines(found)
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
			a.followFile(p)
		case gone < a.options.Gone:
			gone++
			a.followFile(p)
		}
	}
}

func (a *Agent) count() (live, gone int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, f := range a.mu.followers {
		switch {
		case f.past != nil:
		case f.view().row.Gone == 0:
			live++
		default:
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

func (a *Agent) followFile(p flight.Process) {
	a.follow(p.Path, func() (*flight.Reader, error) { return a.open(p.Path) }, p, nil)
}

// follow begins to follow a process that open reads. Path is what it is known by here, and own the recorder if it is that of this process.
func (a *Agent) follow(path string, open func() (*flight.Reader, error), p flight.Process, own *flight.Recorder) {
	f, err := newFollower(a, path, open)
	if err != nil {
		if !errors.Is(err, flight.ErrNoProcess) { // it ended between List and Open
			a.warnOnce(err.Error())
		}
		return
	}
	f.own = own
	f.stream = a.startStream(open, p)
	if a.start(f) {
		a.guardProcess(path, open, p)
	}
}

// start lets a follower follow, unless the agent is closed.
func (a *Agent) start(f *follower) bool {
	if !a.goWhileOpen(f.run) {
		f.live.Close()
		return false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.mu.followers[f.path] = f
	return true
}

// forget drops the oldest of the processes that are gone.
func (a *Agent) forget() {
	var gone []*view
	for _, v := range a.views() {
		if v.row.Gone > 0 && v.from.past == nil {
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
		v.from.keeper.clear()
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
	if i := strings.LastIndexByte(name, '@'); chosen == nil && i > 0 {
		if f := a.find(name[:i]); f != nil && f.past != nil && f.at == "" {
			return f.atMoment(name[i+1:])
		}
	}
	return chosen
}

// rank tells how much there is to see of a process: threads are more than goroutines, and those more than a
// recorder that has seen no thread.
func (v *view) rank() int {
	switch {
	case v.from.plain():
		return 1
	case v.row.Threads == 0:
		return 0
	}
	return 2
}

// choose returns the follower for a client that names no process: the preferred one, else the living one
// with most threads, else the newest. It returns nil if there is none.
func (a *Agent) choose() *follower {
	var chosen *view
	for _, v := range a.views() {
		if a.options.Prefer != 0 && v.row.PID == a.options.Prefer {
			return v.from
		}
		if chosen == nil || v.row.Gone == 0 && cmp.Or(cmp.Compare(v.rank(), chosen.rank()), cmp.Compare(v.row.Threads, chosen.row.Threads)) > 0 {
			chosen = v
		}
	}
	if chosen == nil {
		return nil
	}
	return chosen.from
}
