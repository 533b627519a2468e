package survive

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/structured"
	"github.com/vtscope/vtscope/runtime/vsync"
	"github.com/vtscope/vtscope/runtime/vthread"
)

// A waiter is a way to wait for ever, by a function that is seen in the stack.
type waiter struct {
	name  string // of the scope
	state flight.State
	wait  func()
	where string // the end of the function's name
}

// waiters of each are in a victim.
const waitersOfEach = 300

var held vsync.Mutex // by the main goroutine

var waiters = []waiter{
	{"parked", flight.StateParked, waitParked, "survive.waitParked"},
	{"locked", flight.StateBlocked, waitLocked, "survive.waitLocked"},
	{"asleep", flight.StateTimedParked, waitAsleep, "survive.waitAsleep"},
}

func waitParked() {
	for {
		vthread.Park()
	}
}

func waitLocked() { held.Lock() }

func waitAsleep() { vthread.Sleep(time.Hour) }

// pairs is how many pairs of threads a victim keeps busy.
func pairs() int { return min(runtime.GOMAXPROCS(0), witnessPairs) }

// victim says that it is ready once all its threads stand in the flight file with names of functions, and lives until something
// ends it.
func victim(o order) {
	warned := make(chan string, 16)
	if o.Goes {
		must(flight.Configure(flight.Options{Warn: func(s string) { warned <- s }}))
	} else {
		go func() { // a test that ends too early leaves nobody behind
			io.Copy(io.Discard, os.Stdin)
			os.Exit(3)
		}()
	}
	w, err := openWitness(o.Witness)
	must(err)
	if o.Group != "" {
		must(os.WriteFile(filepath.Join(o.Group, "cgroup.procs"), []byte("0"), 0))
	}
	held.Lock()
	for _, k := range waiters {
		s := structured.Open(context.Background(), k.name)
		for range waitersOfEach {
			s.Fork(func() error { k.wait(); return nil })
		}
	}
	awaitWaiters()
	for i := range pairs() {
		pair(&w.pairs[i])
	}
	fmt.Println("ready")
	if o.Goes {
		goOn(warned)
	}
	if o.Death != "" {
		for w.rounds() < o.Rounds {
			runtime.Gosched()
		}
		deaths[o.Death].die(o)
	}
	select {}
}

// pair starts two threads that wake each other for ever.
func pair(d *diary) {
	var ping, pong *vthread.Thread
	turns := func(other **vthread.Thread) func() {
		return func() {
			for {
				d.note()
				(*other).Unpark()
				vthread.Park()
			}
		}
	}
	ping, pong = vthread.Builder{Name: "ping"}.Unstarted(turns(&pong)), vthread.Builder{Name: "pong"}.Unstarted(turns(&ping))
	ping.Start()
	pong.Start()
}

// awaitWaiters waits until the flight file has all that wait, with the functions in which they do.
func awaitWaiters() {
	r, err := flight.Default().Reader()
	must(err)
	for began := time.Now(); ; runtime.Gosched() {
		seen, err := seeWaiters(r)
		must(err)
		if seen.complete() {
			return
		}
		if time.Since(began) > patience {
			panic(fmt.Sprintf("after %v: %v", patience, seen))
		}
	}
}

// seen is how many threads wait in each way of [waiters], and how many others there are.
type seen struct {
	waiting  [3]int
	others   int
	half     int // of them: half written when the victim died or was stopped
	torn     int // cannot be told at all
	panicked int // of the others: their panic ended the program
}

func (s seen) complete() bool {
	return s.waiting == [3]int{waitersOfEach, waitersOfEach, waitersOfEach}
}

// seeWaiters counts the threads of a victim. Who waits is counted only where state, stack and scope say the same.
func seeWaiters(r *flight.Reader) (s seen, err error) {
	names := map[flight.ScopeIndex]string{}
	scopes, err := r.Scopes()
	if err != nil {
		return s, err
	}
	for _, sc := range scopes {
		names[sc.Index] = sc.Name
	}
	s.torn, err = r.Threads(context.Background(), func(rows []flight.ThreadRow) {
		for _, row := range rows {
			if i := whichWaiter(r, row, names[row.Scope]); i >= 0 {
				s.waiting[i]++
			} else {
				s.others++
			}
			if row.Reason == flight.ReasonPanic {
				s.panicked++
			}
			if row.Torn {
				s.half++
			}
		}
	})
	return s, err
}

func whichWaiter(r *flight.Reader, row flight.ThreadRow, scope string) int {
	for i, k := range waiters {
		if row.State != k.state || scope != k.name {
			continue
		}
		stack, err := r.Stack(row.Stack)
		if err != nil || stack.Unsymbolised > 0 {
			return -1
		}
		for _, f := range stack.Frames {
			if strings.HasSuffix(f.Func, k.where) {
				return i
			}
		}
	}
	return -1
}

// --- ways to die ---

// A death is how a victim ends.
type death struct {
	die      func(o order) // by itself; nil: the test sends it a signal
	grouped  bool          // it needs a memory cgroup
	limited  bool          // it limits its address space
	more     int           // threads that it starts for that
	panicked int           // of them, whose panic it is
	says     string        // an expression for what it prints on standard error
	sign     syscall.Signal
	code     int // exit code, where no signal ends it
}

var deaths map[string]death // set by init: the functions name it

func init() {
	deaths = map[string]death{
		"killed":                       {sign: syscall.SIGKILL},
		"out of memory":                {die: exhaust, limited: true, says: `fatal error: .*(out of memory|cannot |newosproc)`, code: 2},
		"killed for memory":            {die: overflow, grouped: true, sign: syscall.SIGKILL},
		"fatal error":                  {die: raceOnMap, says: "fatal error: concurrent map", code: 2},
		"panic":                        {die: panicHere, says: "panic: a goroutine's last word", code: 2},
		"killed on new stacks":         {die: killedOnNewStacks, more: newStacks, sign: syscall.SIGKILL},
		"panic of a deferred function": {die: panicInDefer, more: 1, panicked: 1, says: "panic: a deferred function's last word", code: 2},
		"panic of a thread":            {die: panicInThread, more: 1, panicked: 1, says: "panic: a thread's last word", code: 2},
	}
}

// newStacks is how many threads a victim starts just before it dies, each with a stack that it has not had before.
const newStacks = 50

func killedOnNewStacks(order) {
	var parked atomic.Int64
	for i := range newStacks {
		vthread.Start(func() { parkAt(i, &parked) })
	}
	for parked.Load() < newStacks {
		vthread.Yield()
	}
	must(syscall.Kill(os.Getpid(), syscall.SIGKILL))
	select {}
}

// parkAt parks for ever, so many calls further in.
//
//go:noinline
func parkAt(depth int, parked *atomic.Int64) {
	if depth > 0 {
		parkAt(depth-1, parked)
		return
	}
	parked.Add(1)
	waitParked()
}

func panicHere(order) { panic("a goroutine's last word") }

func panicInThread(order) {
	vthread.Start(func() { panic("a thread's last word") })
	select {}
}

func panicInDefer(order) {
	vthread.Start(func() {
		defer func() { panic("a deferred function's last word") }()
		vthread.Yield()
	})
	select {}
}

// raceOnMap makes the runtime find that a map is written by two at once.
func raceOnMap(order) {
	runtime.GOMAXPROCS(max(2, runtime.GOMAXPROCS(0))) // else they may take turns for a long time
	m := map[int]int{}
	for range 4 {
		go func() {
			for i := 0; ; i++ {
				m[i%64] = i
			}
		}()
	}
	select {}
}

// exhaust allocates until the system gives no more address space.
func exhaust(order) {
	limit := addressSpace() + 64<<20
	must(syscall.Setrlimit(syscall.RLIMIT_AS, &syscall.Rlimit{Cur: limit, Max: limit}))
	var all [][]byte
	for {
		all = append(all, make([]byte, 16<<20))
		runtime.KeepAlive(all)
	}
}

// overflow needs more memory than its cgroup may have, so that the kernel kills it.
func overflow(o order) {
	must(limitGroup(o.Group, 4<<20))
	for {
		b, err := syscall.Mmap(-1, 0, 1<<20, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
		must(err)
		for i := 0; i < len(b); i += 4096 {
			b[i] = 1
		}
	}
}

// addressSpace is how many bytes of it the process has.
func addressSpace() uint64 {
	text, err := os.ReadFile("/proc/self/statm")
	must(err)
	var pages uint64
	_, err = fmt.Sscan(string(text), &pages)
	must(err)
	return pages * uint64(os.Getpagesize())
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
