package jdk_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/dump/jdk"
	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/sched"
	"github.com/vtscope/vtscope/runtime/structured"
	"github.com/vtscope/vtscope/runtime/vsync"
	"github.com/vtscope/vtscope/runtime/vthread"
)

// These tests dump this process itself: its threads are real ones.

type dumped struct {
	FormatVersion    *int `json:"formatVersion"`
	ProcessID        any  `json:"processId"`
	ThreadContainers []dumpedContainer
}

type dumpedContainer struct {
	Container string
	Parent    *string
	Owner     any
	Threads   []dumpedThread
}

type dumpedThread struct {
	Tid                  any
	Name, State          string
	Virtual              bool
	Carrier              any
	Stack                []string
	ParkBlocker          *struct{ Object string }
	BlockedOn, WaitingOn string
	MonitorsOwned        []struct {
		Depth int
		Locks []string
	}
	in string
}

func ourReader(t *testing.T) *flight.Reader {
	t.Helper()
	if flight.Default() == nil {
		t.Skip("the recorder is off")
	}
	r, err := flight.Default().Reader()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

// dumpUs dumps this process, in both forms.
func dumpUs(t *testing.T, version int) (d dumped, text string) {
	t.Helper()
	r := ourReader(t)
	var b bytes.Buffer
	if err := jdk.JSON(context.Background(), &b, r, jdk.Options{Version: version, Bare: true}); err != nil {
		t.Fatal(err)
	}
	var doc struct{ ThreadDump dumped }
	if err := json.Unmarshal(b.Bytes(), &doc); err != nil {
		t.Fatal(err)
	}
	var plain bytes.Buffer
	if err := jdk.Text(context.Background(), &plain, r, jdk.Options{}); err != nil {
		t.Fatal(err)
	}
	return doc.ThreadDump, plain.String()
}

func (d *dumped) thread(t *testing.T, name string) dumpedThread {
	t.Helper()
	for _, c := range d.ThreadContainers {
		for _, th := range c.Threads {
			if th.Name == name {
				th.in = c.Container
				return th
			}
		}
	}
	t.Fatalf("no thread %q in the dump", name)
	return dumpedThread{}
}

func (d *dumped) container(t *testing.T, name string) dumpedContainer {
	t.Helper()
	for _, c := range d.ThreadContainers {
		if strings.Contains(c.Container, name) {
			return c
		}
	}
	t.Fatalf("no container %q in the dump", name)
	return dumpedContainer{}
}

// plainOf returns the lines of a thread in the plain form.
func plainOf(t *testing.T, text, name string) string {
	t.Helper()
	for _, part := range strings.Split(text, "\n\n") {
		if i := strings.Index(part, "#"); i >= 0 && strings.Contains(part, `"`+name+`"`) {
			return part[i:]
		}
	}
	t.Fatalf("no thread %q in\n%s", name, text)
	return ""
}

// begun starts a thread and waits until it is in state s; the test ends it by end.
func begun(t *testing.T, name string, s flight.State, f func(), end func(th *vthread.Thread)) *vthread.Thread {
	t.Helper()
	return begunAs(t, vthread.Builder{Name: name}, s, f, end)
}

func begunAs(t *testing.T, b vthread.Builder, s flight.State, f func(), end func(th *vthread.Thread)) *vthread.Thread {
	t.Helper()
	th := b.Start(f)
	t.Cleanup(func() { end(th); th.Join() })
	for deadline := time.Now().Add(time.Minute); th.State() != s; time.Sleep(100 * time.Microsecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%v after a minute, want %v", th, s)
		}
	}
	return th
}

func unpark(th *vthread.Thread) { _ = th.Unpark() }

// TD-01
// TD-02
func TestADumpHasTheProcessAndTheThreadThatTakesIt(t *testing.T) {
	ourReader(t)
	var d dumped
	var text string
	th := vthread.Builder{Name: "teller"}.Start(func() {
		for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); { // it may just have been seen in a system call
			if d, text = dumpUs(t, 2); d.thread(t, "teller").State == "RUNNABLE" && strings.Contains(plainOf(t, text, "teller"), " RUNNABLE ") {
				return
			}
		}
	})
	th.Join()
	head := strings.SplitN(text, "\n", 4)
	if head[0] != strconv.Itoa(os.Getpid()) || head[2] != runtime.Version() {
		t.Errorf("got %q, want the pid and the version", head[:3])
	}
	if _, err := time.Parse(time.RFC3339Nano, head[1]); err != nil {
		t.Error(err)
	}
	if want := regexp.MustCompile(fmt.Sprintf(`^#%d "teller" virtual RUNNABLE \S+`, th.ID())); !want.MatchString(plainOf(t, text, "teller")) {
		t.Errorf("got %q, want %s", plainOf(t, text, "teller"), want)
	}
	got := d.thread(t, "teller")
	if got.in != "<root>" || got.State != "RUNNABLE" || !got.Virtual || d.FormatVersion == nil || *d.FormatVersion != 2 || d.ProcessID != float64(os.Getpid()) || got.Tid != float64(th.ID()) {
		t.Errorf("got %+v in version %v of process %v", got, d.FormatVersion, d.ProcessID)
	}
}

// TD-03
func TestThreadsOfAnExecutorAreInTheScopeOfWhoMadeIt(t *testing.T) {
	ourReader(t)
	e := vthread.NewExecutor(vthread.Builder{Name: "served"})
	wake := make(chan *vthread.Thread, 1)
	if _, err := vthread.Submit(e, func() (int, error) { wake <- vthread.Current(); vthread.Park(); return 0, nil }); err != nil {
		t.Fatal(err)
	}
	th := <-wake
	for deadline := time.Now().Add(time.Minute); th.State() != flight.StateParked && time.Now().Before(deadline); time.Sleep(time.Millisecond) {
	}
	d, _ := dumpUs(t, 2)
	if got := d.thread(t, "served"); got.in != "<root>" || got.State != "WAITING" {
		t.Errorf("got %+v", got)
	}
	_ = th.Unpark()
	e.Close()
}

// TD-04
func TestABlockedThreadNamesItsLock(t *testing.T) {
	ourReader(t)
	var mu vsync.Mutex
	mu.Lock()
	begun(t, "blocked", flight.StateBlocked, func() { mu.Lock(); defer mu.Unlock() }, func(*vthread.Thread) { mu.Unlock() })
	d, text := dumpUs(t, 2)
	if got := d.thread(t, "blocked"); got.State != "BLOCKED" || got.BlockedOn == "" || got.WaitingOn != "" || !strings.Contains(plainOf(t, text, "blocked"), "- waiting to lock <"+got.BlockedOn+">") {
		t.Errorf("got %+v and\n%s", got, plainOf(t, text, "blocked"))
	}
}

// TD-05
func TestAWaitingThreadNamesItsCondition(t *testing.T) {
	ourReader(t)
	var mu vsync.Mutex
	c := vsync.NewCond(&mu)
	begun(t, "waiting", flight.StateWaiting, func() { mu.Lock(); defer mu.Unlock(); c.Wait() }, func(*vthread.Thread) { c.Broadcast() })
	d, text := dumpUs(t, 2)
	if got := d.thread(t, "waiting"); got.State != "WAITING" || got.WaitingOn == "" || !strings.Contains(plainOf(t, text, "waiting"), "- waiting on <"+got.WaitingOn+">") {
		t.Errorf("got %+v and\n%s", got, plainOf(t, text, "waiting"))
	}
}

// TD-06
func TestAParkedThreadNamesItsBlocker(t *testing.T) {
	ourReader(t)
	begun(t, "parked", flight.StateParked, func() { vthread.Park(flight.BlockThread(4711)) }, unpark)
	d, text := dumpUs(t, 2)
	if got := d.thread(t, "parked"); got.State != "WAITING" || got.ParkBlocker == nil || !strings.Contains(got.ParkBlocker.Object, "hread") || !strings.Contains(plainOf(t, text, "parked"), "- parking to wait for <"+got.ParkBlocker.Object+">") {
		t.Errorf("got %+v and\n%s", got, plainOf(t, text, "parked"))
	}
}

// TD-07
func TestTheOwnerOfALockShowsIt(t *testing.T) {
	r := ourReader(t)
	var (
		mu    vsync.Mutex
		write vsync.RWMutex
		read  vsync.RWMutex
		again vsync.ReentrantMutex
	)
	mu.SetName("held mutex")
	write.SetName("written rwmutex")
	read.SetName("read rwmutex")
	again.SetName("held reentrant")
	for lock, c := range map[string]struct{ take, release, want, leave func() }{
		`mutex "held mutex"`:        {mu.Lock, mu.Unlock, mu.Lock, mu.Unlock},
		`rwmutex "written rwmutex"`: {write.Lock, write.Unlock, write.RLock, write.RUnlock},
		`rwmutex "read rwmutex"`:    {read.RLock, read.RUnlock, read.Lock, read.Unlock},
		`mutex "held reentrant"`:    {func() { again.Lock(); again.Lock() }, func() { again.Unlock(); again.Unlock() }, again.Lock, again.Unlock},
	} {
		for _, kind := range []vthread.Kind{vthread.Virtual, vthread.OnGoroutine, vthread.OnOSThread} {
			t.Run(fmt.Sprint(lock, " of kind ", kind), func(t *testing.T) {
				done := vsync.NewLatch(1)
				open := sync.OnceFunc(done.Done)
				owner := begunAs(t, vthread.Builder{Name: "owner", Kind: kind}, flight.StateWaiting, func() { c.take(); defer c.release(); done.Wait() }, func(*vthread.Thread) { open() })
				begun(t, "contender", flight.StateBlocked, func() { c.want(); c.leave() }, func(*vthread.Thread) { open() })

				d, text := dumpUs(t, 2)
				want := d.thread(t, "contender").BlockedOn
				if got := d.thread(t, "owner").MonitorsOwned; want == "" || len(got) != 1 || got[0].Depth != -1 || len(got[0].Locks) != 1 || got[0].Locks[0] != want {
					t.Errorf("JSON: got %+v, want %s", got, want)
				}
				if got := d.thread(t, "contender").MonitorsOwned; len(got) != 0 {
					t.Errorf("JSON: the contender owns %+v", got)
				}
				if got := plainOf(t, text, "owner"); !strings.Contains(got, "    - locked <"+want+">") {
					t.Errorf("plain form: got\n%s", got)
				}
				report, err := dump.TakeThread(t.Context(), r, owner.ID())
				if err != nil {
					t.Fatal(err)
				}
				var page bytes.Buffer
				if err := dump.ThreadText(&page, report, dump.TextOptions{}); err != nil {
					t.Fatal(err)
				}
				if len(report.Locks) != 1 || report.Locks[0].Thing != lock || !strings.Contains(page.String(), "\nholds       "+lock) {
					t.Errorf("report: got %+v and\n%s", report.Locks, page.String())
				}
				s, err := dump.Take(t.Context(), r, dump.Options{})
				if err != nil {
					t.Fatal(err)
				}
				page.Reset()
				if err := dump.Text(&page, s, dump.TextOptions{Top: -1}); err != nil {
					t.Fatal(err)
				}
				if line := fmt.Sprintf("#%d \"owner\" holds %s", owner.ID(), lock); !strings.Contains(page.String(), line) {
					t.Errorf("dump: want %s in\n%s", line, page.String())
				}
			})
		}
	}
}

// TD-08
func TestASpinningThreadIsListedWithItsCarrier(t *testing.T) {
	ourReader(t)
	fj, err := sched.NewForkJoin(sched.ForkJoinOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer fj.Close()
	var stop, spins atomic.Bool
	th := vthread.Builder{Name: "spinner", Scheduler: fj}.Start(func() {
		for spins.Store(true); !stop.Load(); {
		}
	})
	for !spins.Load() {
		time.Sleep(time.Millisecond)
	}
	d, _ := dumpUs(t, 2)
	stop.Store(true)
	th.Join()
	if got := d.thread(t, "spinner"); got.State != "RUNNABLE" || got.Carrier == nil {
		t.Errorf("got %+v, want one that runs on a carrier", got)
	}
}

// TD-10
func TestTheOlderFormHasNumbersAsTexts(t *testing.T) {
	ourReader(t)
	th := begun(t, "old", flight.StateParked, func() { vthread.Park() }, unpark)
	d, _ := dumpUs(t, 1)
	if got := d.thread(t, "old"); d.FormatVersion != nil || d.ProcessID != strconv.Itoa(os.Getpid()) || got.Tid != fmt.Sprint(uint64(th.ID())) {
		t.Errorf("got version %v, process %v, thread %+v", d.FormatVersion, d.ProcessID, got)
	}
}

// TD-11
// TD-12
func TestNestedScopesAreATreeOfContainers(t *testing.T) {
	ourReader(t)
	hold := vsync.NewLatch(1)
	th := vthread.Builder{Name: "owner"}.Start(func() {
		err := structured.Run(context.Background(), "outer", func(outer *structured.Scope) error {
			for _, name := range []string{"left", "right"} {
				outer.ForkNamed(name, func() error {
					return structured.Run(context.Background(), "in "+name, func(s *structured.Scope) error {
						s.ForkNamed("leaf of "+name, func() error { hold.Wait(); return nil })
						return s.Join()
					})
				})
			}
			return errors.Join(structured.Run(context.Background(), "inner", func(*structured.Scope) error { hold.Wait(); return nil }), outer.Join())
		})
		if err != nil {
			t.Error(err)
		}
	})
	defer th.Join()
	defer hold.Done()
	r := ourReader(t)
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		waiting := 0
		_, _ = r.Threads(context.Background(), func(rows []flight.ThreadRow) {
			for _, row := range rows {
				if row.State == flight.StateWaiting {
					waiting++
				}
			}
		})
		if waiting == 5 { // the owner, two that join, two leaves
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d threads wait, want 5", waiting)
		}
	}
	d, _ := dumpUs(t, 2)
	outer := d.container(t, "outer")
	if outer.Parent == nil || *outer.Parent != "<root>" || outer.Owner != float64(th.ID()) {
		t.Errorf("outer: got %+v", outer)
	}
	if inner := d.container(t, "inner"); inner.Parent == nil || *inner.Parent != outer.Container || inner.Owner != outer.Owner {
		t.Errorf("inner: got %+v, want it in %s, of the same owner", inner, outer.Container)
	}
	for _, name := range []string{"left", "right"} {
		in := d.container(t, "in "+name)
		owner, leaf := d.thread(t, name), d.thread(t, "leaf of "+name)
		if in.Parent == nil || *in.Parent != outer.Container || in.Owner != owner.Tid || owner.in != outer.Container || leaf.in != in.Container {
			t.Errorf("%s: got %+v, owner %+v, leaf %+v", name, in, owner, leaf)
		}
	}
}
