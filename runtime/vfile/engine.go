package vfile

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/vtscope/vtscope/runtime/internal/poll"
	"github.com/vtscope/vtscope/runtime/sched"
)

// A Way is how operations on files are made for threads.
type Way uint8

// The ways.
const (
	Auto    Way = iota // a ring where the kernel allows it, else helpers
	Ring               // io_uring, of Linux
	Helpers            // goroutines
)

// String returns the way's name, as VTSCOPE_FILES has it.
func (w Way) String() string {
	switch w {
	case Auto:
		return "auto"
	case Ring:
		return "ring"
	case Helpers:
		return "helpers"
	}
	return fmt.Sprintf("Way(%d)", uint8(w))
}

// Options say how operations on files are made. The zero value is usable.
type Options struct {
	Way      Way
	InFlight int  // operations that the ring executes at a time; 0: 4096, at most 32768. What is beyond waits in a queue
	Helpers  int  // helper goroutines; 0: four for each processor, 16 at least; at most 10000. What is beyond waits in a queue
	NoTry    bool // do not try first whether the system has in memory what a thread reads
}

const (
	defaultInFlight = 4096
	maxInFlight     = 32768
	maxHelpers      = 10_000
)

func (o *Options) complete() error {
	switch {
	case o.Way > Helpers:
		return fmt.Errorf("vfile: %v: no such way", o.Way)
	case o.InFlight < 0 || o.InFlight > maxInFlight:
		return fmt.Errorf("vfile: %d operations in flight: not between 1 and %d", o.InFlight, maxInFlight)
	case o.Helpers < 0 || o.Helpers > maxHelpers:
		return fmt.Errorf("vfile: %d helpers: not between 1 and %d", o.Helpers, maxHelpers)
	}
	if o.InFlight == 0 {
		o.InFlight = defaultInFlight
	}
	if o.Helpers == 0 {
		o.Helpers = max(4*runtime.GOMAXPROCS(0), 16)
	}
	return nil
}

// Configure sets the options of the process. It must be called before a thread uses a file for the first time: later it returns an error, as it does for bad options,
// and for the way [Ring] where there is none. It may make the ring, and does not wait.
func Configure(o Options) error {
	engines.Lock()
	defer engines.Unlock()
	if engines.now.Load() != nil {
		return errors.New("vfile: threads use files already")
	}
	e, err := newEngine(o)
	if err != nil {
		return err
	}
	e.begin()
	return nil
}

// An engine makes operations for threads.
type engine struct {
	options Options
	ring    *ring // nil: there is none
	why     error // why there is no ring
	helpers *helpers
}

var engines struct {
	sync.Mutex
	now    atomic.Pointer[engine]
	polled bool
}

func newEngine(o Options) (*engine, error) {
	if err := o.complete(); err != nil {
		return nil, err
	}
	e := &engine{options: o}
	if o.Way != Helpers {
		if e.ring, e.why = newRing(o.InFlight); e.why != nil && o.Way == Ring {
			return nil, fmt.Errorf("vfile: %w", e.why)
		}
	}
	e.helpers = newHelpers(o.Helpers)
	return e, nil
}

// begin makes e that of the process. The lock of engines is held.
func (e *engine) begin() {
	engines.now.Store(e)
	if !engines.polled {
		engines.polled = true
		sched.Poll(func() bool {
			e := engines.now.Load()
			return e.ring != nil && e.ring.look()
		})
	}
}

// close ends an engine that has nothing to do, and that nobody uses any more.
func (e *engine) close() {
	if e.ring != nil {
		e.ring.close()
	}
	e.helpers.close()
}

// theEngine returns that of the process, and makes it if this is the first use.
func theEngine() *engine {
	if e := engines.now.Load(); e != nil {
		return e
	}
	engines.Lock()
	defer engines.Unlock()
	if e := engines.now.Load(); e != nil {
		return e
	}
	way, err := wayOf(os.Getenv("VTSCOPE_FILES"))
	var e *engine
	if err == nil {
		e, err = newEngine(Options{Way: way})
	}
	if err != nil { // it was asked for from outside: the program goes on
		fmt.Fprintf(os.Stderr, "%v; VTSCOPE_FILES is ignored\n", err)
		e, _ = newEngine(Options{}) // the defaults are good, and Auto has no errors
	}
	e.begin()
	return e
}

func wayOf(name string) (Way, error) {
	if name == "" {
		return Auto, nil
	}
	for w := Auto; w <= Helpers; w++ {
		if w.String() == name {
			return w, nil
		}
	}
	return 0, fmt.Errorf("vfile: VTSCOPE_FILES=%s: not auto, ring or helpers", name)
}

// In tells how operations on files are made in this process, and if that is not by a ring, why there is none. It starts what it tells of, as a first use does.
func In() (w Way, why error) {
	e := theEngine()
	if e.ring != nil {
		return Ring, nil
	}
	return Helpers, e.why
}

// number numbers what the dump shows as pollers, with those of sockets.
func number() int { return poll.Number() }
