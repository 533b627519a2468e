package vttest

import (
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/sched"
)

// A script tells what the threads have done in an execution: a line for each step. It has nothing in it that is different when the same is done again.
type script []string

// verbs are how steps read. {t} is the other thread, {on} what the step is about.
var verbs = map[sched.Op]string{
	sched.OpBegin:     "begins",
	sched.OpStart:     "starts {t}",
	sched.OpWake:      "lets {t} go on",
	sched.OpUnpark:    "unparks {t}",
	sched.OpInterrupt: "interrupts {t}",
	sched.OpYield:     "yields",
	sched.OpPermit:    "does not park: has a permit",
	sched.OpLocked:    "locks {on}",
	sched.OpUnlocked:  "unlocks {on}",
	sched.OpArrive:    "{t} goes on, by no thread",
	sched.OpTimeout:   "the time of {t} is over",
}

// before are the same where a thread is about to do it.
var before = map[sched.Op]string{
	sched.OpStart:     "after a start",
	sched.OpUnpark:    "after an unpark",
	sched.OpInterrupt: "after an interrupt",
	sched.OpLock:      "before it locks {on}",
	sched.OpUnlock:    "before it unlocks {on}",
	sched.OpUnlocked:  "after that",
	sched.OpPark:      "before it parks",
}

// waits are how a park reads, by its reason.
var waits = map[flight.Reason]string{
	flight.ReasonPark:      "parks",
	flight.ReasonSleep:     "sleeps",
	flight.ReasonLock:      "waits for lock {on}",
	flight.ReasonCondition: "waits for condition {on}",
	flight.ReasonJoin:      "joins {t}",
	flight.ReasonScopeJoin: "waits for the threads of scope {on}",
	flight.ReasonIO:        "waits for a call elsewhere",
}

var ends = map[flight.Reason]string{
	flight.ReasonEnd:    "ends",
	flight.ReasonPanic:  "ends by a panic",
	flight.ReasonGoexit: "ends by runtime.Goexit",
}

// kinds are the initials of what threads wait for.
var kinds = map[flight.BlockerKind]string{
	flight.BlockedByLock:      "L",
	flight.BlockedByCondition: "C",
	flight.BlockedByScope:     "S",
	flight.BlockedByFile:      "F",
	flight.BlockedByMutex:     "L",
	flight.BlockedByRWMutex:   "RW",
	flight.BlockedBySemaphore: "Sem",
	flight.BlockedByLatch:     "Latch",
	flight.BlockedByBarrier:   "Barrier",
	flight.BlockedByQueue:     "Queue",
	flight.BlockedByOnce:      "Once",
	flight.BlockedByExchanger: "Ex",
	flight.BlockedByFuture:    "Fut",
	flight.BlockedByChannel:   "Ch",
	flight.BlockedBySocket:    "Sock",
}

// A cast gives threads and locks names that do not depend on addresses and ids. But a lock that is made where one was that the garbage collector has taken has its name.
type cast struct {
	names   []string
	on      map[flight.Blocker]string
	count   map[string]int // by initials
	unnamed bool           // locks have the names of their kinds alone: these do not depend on when the garbage collector was there
}

func newCast(names []string) *cast {
	return &cast{names: names, on: make(map[flight.Blocker]string), count: make(map[string]int)}
}

func (c *cast) thread(n int) string {
	switch {
	case n <= 0 || n >= len(c.names):
		return "another thread"
	case c.names[n] == "":
		return "#" + strconv.Itoa(n)
	}
	return fmt.Sprintf("#%d %s", n, c.names[n])
}

// object names b by its kind and the order in which such were first seen.
func (c *cast) object(b flight.Blocker) string {
	initials := kinds[b.Kind()]
	if c.unnamed {
		return initials
	}
	if c.on[b] == "" {
		c.count[initials]++
		c.on[b] = initials + strconv.Itoa(c.count[initials])
	}
	return c.on[b]
}

func (c *cast) read(pattern string, other int, on flight.Blocker) string {
	before, after, found := strings.Cut(pattern, "{on}")
	if found {
		pattern = before + c.object(on) + after
	}
	return strings.Replace(pattern, "{t}", c.thread(other), 1)
}

// does tells what a step is.
func (c *cast) does(s sched.Step) string {
	switch s.Op {
	case sched.OpPark:
		text := c.pause(sched.Pause{Reason: s.Reason, Blocker: s.On}, s.Other)
		if s.For > 0 {
			text += fmt.Sprintf(" for %v", s.For)
		}
		return text
	case sched.OpEnd:
		return ends[s.Reason]
	case sched.OpPreempted:
		return strings.TrimSpace("is preempted " + c.read(before[s.Next], s.Other, s.On))
	}
	return c.read(verbs[s.Op], s.Other, s.On)
}

func (c *cast) pause(p sched.Pause, other int) string {
	text, ok := waits[p.Reason]
	switch {
	case !ok:
		text = "parks"
	case p.Reason == flight.ReasonPark && p.Blocker.Kind() == flight.BlockedByThread:
		text = "parks for {t}"
	case p.Reason == flight.ReasonPark && p.Blocker != 0:
		text = "parks for {on}"
	case p.Blocker == 0 && strings.Contains(text, "{on}"):
		text = "waits"
	}
	return c.read(text, other, p.Blocker)
}

// script returns the steps of the execution.
func (x *execution) script() script { return x.told(newCast(x.names)) }

func (x *execution) told(c *cast) script {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, s := range x.steps {
		who := ""
		if s.Thread != 0 {
			who = c.thread(s.Thread)
		}
		fmt.Fprintf(w, "%v\t%s\t%s\t%s\n", s.At, who, c.does(s), place(s.PCs))
	}
	w.Flush()
	lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	if x.cut > 0 {
		lines = slices.Insert(lines, sched.StepsHead, fmt.Sprintf("… %d steps …", x.cut))
	}
	return lines
}

// String returns the lines, each indented. Of very many, most are left out.
func (s script) String() string {
	const head, tail = sched.StepsHead, 400
	var b strings.Builder
	for i, line := range s {
		switch {
		case len(s) <= head+tail+1 || i < head || i >= len(s)-tail:
			fmt.Fprintf(&b, "    %s\n", line)
		case i == head:
			fmt.Fprintf(&b, "    … and so on; the last %d steps:\n", tail)
		}
	}
	return b.String()
}

// difference tells where two executions differ first, or nothing.
func difference(a, b *execution) string {
	unnamed := func(x *execution) script {
		c := newCast(x.names)
		c.unnamed = true
		return x.told(c)
	}
	line := func(s script, i int) string {
		if i < len(s) {
			return s[i]
		}
		return ""
	}
	was, is := unnamed(a), unnamed(b)
	for i := range max(len(was), len(is)) {
		if line(was, i) != line(is, i) {
			return fmt.Sprintf("    step %d, first:  %s\n    step %d, second: %s\n", i+1, line(a.script(), i), i+1, line(b.script(), i))
		}
	}
	return ""
}

// frames returns the frames of a stack, innermost first, without those of the mechanism.
func frames(pcs []uintptr) (all []runtime.Frame) {
	if len(pcs) == 0 {
		return nil
	}
	f := runtime.CallersFrames(pcs)
	for {
		frame, more := f.Next()
		if frame.Function != "" && !mechanism(frame.Function) {
			all = append(all, frame)
		}
		if !more {
			return all
		}
	}
}

// place is the file and line of the innermost frame that is not of the mechanism.
func place(pcs []uintptr) string {
	if all := frames(pcs); len(all) > 0 {
		return at(all[0])
	}
	return ""
}

func at(f runtime.Frame) string { return filepath.Base(f.File) + ":" + strconv.Itoa(f.Line) }

const module = "github.com/vtscope/vtscope/runtime/"

// mechanisms are the packages whose frames tell a reader nothing about a test.
var mechanisms = [...]string{
	"runtime.", "iter.", "testing.",
	module + "sched.", module + "vthread.", module + "vsync.", module + "structured.", module + "structured/", module + "continuation.", module + "internal/",
	module + "vttest.(*bubble).", module + "vttest.(*plan).",
}

func mechanism(function string) bool {
	for _, prefix := range mechanisms {
		if strings.HasPrefix(function, prefix) {
			return true
		}
	}
	return false
}
