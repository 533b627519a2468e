package dump

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A CheckInfo is a row of the table of checks.
type CheckInfo struct {
	Name      string
	Severity  Severity
	About     string // what it finds, no full stop
	Threshold int64  // by default, in Unit; so much and more is found
	Unit      Unit
	Of        string // what the threshold counts or measures
	Pair      bool   // it needs two looks
	Alive     bool   // it needs two looks of a process that runs: one may be of a moment at which records change
	Remedy    string // what to do about it, in full sentences
	needs     need
	find      func(j *judging) []Finding
	partly    func(l *Look) string // why a look lets it judge a part only, "" if it judges all; nil: it always does
}

// Page returns the path of the check's page in the repository.
func (c *CheckInfo) Page() string { return "docs/findings/" + c.Name + ".md" }

// InSnapshot reports whether the check needs no more of a look than a snapshot.
func (c *CheckInfo) InSnapshot() bool { return c.needs&^(needThreads|needRecorder) == 0 }

// A need is a part of a [Look]. They are bits.
type need uint8

const (
	needThreads need = 1 << iota
	needWaits
	needSchedulers
	needRecent
	needRecorder // what only a recorder knows: its counters, who holds what, who owns a scope
)

// Checks are all checks, in the order in which findings are told.
var Checks = []CheckInfo{
	{"deadlock", SeverityError, "threads wait for each other in a circle", 1, UnitThreads,
		"in the circle", false, false,
		"vtdump waits prints who holds what since when, with all stacks. Take locks in one order, or wait with a time limit.", needThreads | needWaits, findDeadlocks, unjudgedDeadlocks},
	{"holder-gone", SeverityError, "threads wait without a time limit for something whose holder has ended", 1, UnitThreads,
		"that waits for one thing", false, true,
		"unlock in a deferred call directly after the lock. Where somebody else unlocks, wait with a time limit, or switch the check off.", needThreads | needWaits | needRecorder, findHoldersGone, nil},
	{"carriers-held", SeverityError, "queued threads find no free carrier, because all are held", int64(100 * time.Millisecond), UnitDuration,
		"without a free carrier", false, false,
		"look at the place. Block with package vsync, or allow the scheduler more carriers; vtdump scheduler shows them all.", needThreads | needSchedulers, findCarriersHeld, nil},
	{"os-threads", SeverityWarning, "threads in system calls hold nearly as many OS threads as there may be", 800, UnitThreads,
		"in system calls, or calls of C, on the carriers of one scheduler", false, false,
		"look at the place. Read and write with packages vnet and vfile, or bound how many threads make such calls at a time with a vsync.Semaphore.", needThreads | needSchedulers, findOSThreads, nil},
	{"long-held", SeverityWarning, "threads wait for something that is not given back", int64(10 * time.Second), UnitDuration,
		"of holding it while others wait, of whom there are at least 10", false, false,
		"look where the holder is: what it waits for there is what all the others wait for. Do not block for long with a lock or a permit; give calls to outside a time limit; wait with one.", needThreads | needWaits, findLongHeld, nil},
	{"lock-convoy", SeverityWarning, "many threads pile up behind a lock that is held for long", int64(500 * time.Millisecond), UnitDuration,
		"of a hold for which at least 10 wait, twice in the last minute", false, false,
		"look at the place where the lock was released, and who called it. Do there what takes long before or after, without the lock, or in parts; split the lock.", needThreads | needRecent, findConvoys, nil},
	{"pinned", SeverityWarning, "threads block and hold their carriers, and others wait for one meanwhile", 10, UnitTimes,
		"that a thread waited for a carrier", false, false,
		"replace the operation at the place by one that unmounts (vsync, vnet, vfile), or shorten the pin section. A pin without victims does no harm; where pins take long in sum, pinned-often tells.", needThreads | needSchedulers | needRecent, findPinned, nil},
	{"pinned-often", SeverityInfo, "threads block and hold their carriers for long in sum, though few wait for one", int64(time.Second), UnitDuration,
		"of holding carriers at one place in the last minute", false, false,
		"replace the operation at the place by one that unmounts (vsync, vnet, vfile), or shorten the pin section. Where it has to block, call it by vthread.Blocking.", needThreads | needRecent, findPinnedOften, nil},
	{"hog", SeverityWarning, "a thread computes for long without a scheduling point", int64(100 * time.Millisecond), UnitDuration,
		"in one slice", false, false,
		"call vthread.Yield in the loop now and then, or give such work a scheduler of its own.", needSchedulers, findHogs, nil},
	{"leak", SeverityWarning, "threads come to a place all the time, and none leaves it", 20, UnitThreads,
		"that came in the last 30 s, some in each 5 s of them", true, false,
		"look at the place, and at the function in which the threads begin. Somebody has to wake them. Wait with a time limit for what may not come; fork them in a scope, which waits for its threads and can cancel them.", needThreads, findLeaks, nil},
	{"scope-growth", SeverityWarning, "a scope grows, and does not look as if it would end", 20, UnitGrowth,
		"more threads, or scopes of one name, where there were at least 100, and are at least 100 more", true, false,
		"look at the place. Give the scope a limit of running threads and a deadline; close scopes in a deferred call.", needThreads, findGrowth, nil},
	{"spawn-storm", SeverityWarning, "threads start faster than they end", 1000, UnitRate,
		"more, and at least 100 in all", true, false,
		"give the scope a limit, so that work waits before it is a thread, or start as many threads as there is work for.", needThreads | needRecorder, findSpawnStorm, nil},
	{"timer-storm", SeverityWarning, "threads sleep very often, or their timers are late", 100_000, UnitRate,
		"go to sleep, or the timers of a hundredth as many are late", true, false,
		"wait for the event instead of looking for it: a condition, a queue, a future. Spread time limits.", needThreads | needRecorder, findTimerStorm, nil},
	{"unbounded-queue", SeverityWarning, "threads queue up faster than they get their turn", 1000, UnitThreads,
		"that wait for their turn, and a tenth more than before", true, false,
		"refuse or delay work at the entrance while the queue is long, raise the limit, or add processors.", needThreads | needSchedulers, findQueues, nil},
	{"oldest-parked", SeverityInfo, "a thread has been parked for very long", int64(10 * time.Minute), UnitDuration,
		"of the oldest at one place", false, false,
		"look whether somebody still knows the thread: vtdump PID --thread ID tells who waits for it. Wait with a time limit for what others may forget.", needThreads, findOldest, nil},
	{"parked-longer", SeverityWarning, "a thread waits far longer than its siblings at the same place", 50, UnitTimes,
		"the wait in the middle of all at the place", false, false,
		"hand over in the order of arrival; a vsync.Mutex and a fair vsync.Semaphore do.", needThreads, findParkedLonger, nil},
	{"scope-orphaned", SeverityWarning, "a scope is open whose owner has ended", 1, UnitScopes,
		"of one name", false, true,
		"use Run, or defer s.Close() directly after Open.", needThreads | needWaits | needRecorder, findOrphans, nil},
	{"unscoped", SeverityInfo, "threads were started outside of any scope", 100, UnitThreads,
		"in the root scope", false, false,
		"fork them in a scope of package structured; a server has one scope for its requests. Then a dump tells them apart, a shutdown waits for them, and their errors arrive somewhere. For a program that does without scopes, switch the check off.", needThreads | needRecorder, findUnscoped, nil},
	{"recorder-drops", SeverityWarning, "the recorder could not keep all that happened", 1, UnitRecords,
		"lost", false, false,
		"give /dev/shm more room, raise the limit, or switch off kinds of events that nobody needs.", needRecorder, findDrops, nil},
}

// CheckNames returns the names of all checks.
func CheckNames() []string {
	names := make([]string, len(Checks))
	for i := range Checks {
		names[i] = Checks[i].Name
	}
	return names
}

// CheckOf returns the check of a name, nil if there is none.
func CheckOf(name string) *CheckInfo {
	if i := slices.IndexFunc(Checks, func(c CheckInfo) bool { return c.Name == name }); i >= 0 {
		return &Checks[i]
	}
	return nil
}

// needsOf returns what checks need; no names stand for all checks.
func needsOf(names []string) (n need) {
	for i := range Checks {
		if len(names) == 0 || slices.Contains(names, Checks[i].Name) {
			n |= Checks[i].needs
		}
	}
	return n
}

// A Unit is what a check measures in.
type Unit string

// The units.
const (
	UnitThreads  Unit = "threads"
	UnitScopes   Unit = "scopes"
	UnitRecords  Unit = "records"
	UnitTimes    Unit = "times"
	UnitDuration Unit = "ns"
	UnitRate     Unit = "per_second"
	UnitGrowth   Unit = "percent_per_minute"
)

// Text writes a value of the unit: "1,204 threads", "305ms", "20 % a minute".
func (u Unit) Text(v int64) string {
	switch u {
	case UnitDuration:
		return Span(time.Duration(v))
	case UnitRate:
		return Thousands(int(v)) + " a second"
	case UnitGrowth:
		return Thousands(int(v)) + " % a minute"
	case UnitTimes:
		return Thousands(int(v)) + " times"
	}
	return Count(int(v), strings.TrimSuffix(string(u), "s"))
}

// ThresholdText writes what the check finds from where on: "100ms of one slice".
func (c *CheckInfo) ThresholdText() string { return c.Unit.Text(c.Threshold) + " " + c.Of }

// ParseThreshold reads a threshold of the check: a duration such as 500ms, or a whole number from 1 on.
func (c *CheckInfo) ParseThreshold(text string) (int64, error) {
	if c.Unit == UnitDuration {
		if d, err := time.ParseDuration(text); err == nil && d > 0 {
			return int64(d), nil
		}
		return 0, errors.New("want a duration such as 500ms")
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 1 || n > math.MaxInt32 {
		return 0, errors.New("want a whole number from 1 on")
	}
	return n, nil
}

// CheckOptions switch checks off and set their thresholds, by name. The zero value makes all checks with their own thresholds.
type CheckOptions struct {
	Off       []string
	Threshold map[string]int64 // in the check's unit, at least 1
	Earlier   []*Look          // looks of before the earlier one, oldest first: what grows is judged over all of them
}

// Set reads NAME=N, where N is a threshold of the check ([CheckInfo.ParseThreshold]), or NAME=off.
func (o *CheckOptions) Set(text string) error {
	name, value, _ := strings.Cut(text, "=")
	c := CheckOf(name)
	if c == nil {
		return fmt.Errorf("want one of %s", strings.Join(CheckNames(), ", "))
	}
	if value == "off" {
		o.Off = append(o.Off, name)
		return nil
	}
	n, err := c.ParseThreshold(value)
	if err != nil {
		return fmt.Errorf("want %s=off, or %s", name, strings.TrimPrefix(err.Error(), "want "))
	}
	if o.Threshold == nil {
		o.Threshold = map[string]int64{}
	}
	o.Threshold[name] = n
	o.Off = slices.DeleteFunc(o.Off, func(off string) bool { return off == name })
	return nil
}

// Check says what is wrong with the options.
func (o *CheckOptions) Check() error {
	for _, name := range o.Off {
		if CheckOf(name) == nil {
			return unknownCheck(name)
		}
	}
	for name, n := range o.Threshold {
		if CheckOf(name) == nil {
			return unknownCheck(name)
		}
		if n < 1 {
			return fmt.Errorf("dump: threshold %d of check %s: want at least 1", n, name)
		}
	}
	return nil
}

func unknownCheck(name string) error {
	return fmt.Errorf("dump: unknown check %q: want one of %s", name, strings.Join(CheckNames(), ", "))
}
