package agent

import (
	"fmt"
	"reflect"
	"slices"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/runtime/flight"
)

// pastView is a view with so many groups, of a moment.
func pastView(at time.Time, groups int) *view {
	s := &dump.Snapshot{Taken: at, Threads: groups}
	s.Scopes = []dump.Scope{{Key: "root", Parent: -1, Name: "root"}}
	for i := range groups {
		s.Groups = append(s.Groups, dump.Group{
			Key: fmt.Sprintf("group-%d", i), Stack: i, State: flight.StateParked, Count: 1,
			Examples: []dump.Example{{ID: flight.ThreadID(i + 1), Name: fmt.Sprintf("thread %d", i)}},
		})
		frames := make([]dump.Frame, 20)
		for j := range frames {
			frames[j] = dump.Frame{Func: "f", File: "f.go", Line: j}
		}
		s.Stacks = append(s.Stacks, dump.Stack{Fingerprint: fmt.Sprintf("stack-%d", i), Frames: frames})
	}
	return &view{snapshot: s, seen: noSurvey(), shelf: &shelf{}, history: timeline{points: make([]point, 10)}}
}

func TestTheLastMinuteIsKeptAndOfOlderMomentsOneEachFiveSeconds(t *testing.T) {
	k := &keeper{}
	begin := time.UnixMilli(1e12)
	for i := range 1000 {
		k.add(pastView(begin.Add(time.Duration(i)*time.Second), 1), 600*time.Second)
	}
	k.add(pastView(begin.Add(999*time.Second), 2), 600*time.Second) // the same moment again
	now := begin.Add(999 * time.Second)
	var last time.Time
	for i, m := range k.mu.moments {
		at := time.UnixMilli(m.at)
		age := now.Sub(at)
		if i > 0 {
			gap := at.Sub(last)
			if age < keepAll && gap != time.Second {
				t.Errorf("%v ago: %v after the moment before, want each second kept", age, gap)
			}
			if age > keepAll+keepStep && (gap < keepStep || gap > 2*keepStep) {
				t.Errorf("%v ago: %v after the moment before, want about %v", age, gap, keepStep)
			}
		}
		if age > 600*time.Second {
			t.Errorf("a moment of %v ago is kept, which is beyond the time line", age)
		}
		if m.view.shelf != nil || m.view.history.points != nil || !m.view.kept {
			t.Fatalf("a kept view holds on to its shelf or history: %+v", m.view)
		}
		last = at
	}
	if n := len(k.mu.moments); n < 150 || n > 180 || k.mu.moments[n-1].view.snapshot.Threads != 1 {
		t.Errorf("%d moments are kept of ten minutes, want about 168", n)
	}
	if oldest := now.Sub(time.UnixMilli(k.mu.moments[0].at)); oldest < 590*time.Second {
		t.Errorf("the oldest is of %v ago, want about 600 s", oldest)
	}
}

func TestAMomentIsTheNewestThatIsNotAfterTheTime(t *testing.T) {
	k := &keeper{}
	for i := 1; i <= 40; i++ {
		k.add(pastView(time.UnixMilli(int64(1000*i)), 1), time.Hour)
	}
	for at, want := range map[int64]int64{999: 0, 1000: 1000, 1999: 1000, 2000: 2000, 40000: 40000, 99999: 40000} {
		got := int64(0)
		if v := k.find(at); v != nil {
			got = v.snapshot.Taken.UnixMilli()
		}
		if got != want {
			t.Errorf("at %d: the moment of %d, want %d", at, got, want)
		}
	}
	m := k.around(5000)
	if m.Oldest != 1000 || m.Newest != 40000 || m.Kept != 40 || !slices.Equal(m.Back, []int64{4000, 3000, 2000, 1000}) || len(m.Forth) != stepsTold || m.Forth[0] != 6000 {
		t.Errorf("around 5000: %+v", m)
	}
	if m := k.around(0); len(m.Back) != stepsTold || m.Back[0] != 40000 || len(m.Forth) != 0 {
		t.Errorf("around now: %+v, want the newest ones before it", m)
	}
}

func TestKeptMomentsStayWithinTheBudgetAndTheLightestLossesComeFirst(t *testing.T) {
	a := &Agent{options: Options{MaxPast: 1 << 20}, meter: newMeter()}
	a.mu.followers = map[string]*follower{}
	var all []*follower
	for i, groups := range []int{200, 2} {
		f := lone(time.Second)
		f.keeper.total = &a.meter.past
		a.mu.followers[fmt.Sprint(i)] = f
		all = append(all, f)
		for s := range 100 {
			f.keeper.add(pastView(time.UnixMilli(int64(1000*(s+1))), groups), time.Hour)
			a.economize()
			if a.meter.past.Load() > int64(a.options.MaxPast) {
				t.Fatalf("%d bytes are kept, more than %d", a.meter.past.Load(), a.options.MaxPast)
			}
		}
	}
	many, few := all[0].keeper.mu.moments, all[1].keeper.mu.moments
	if len(few) != 62 && len(few) < 50 || len(many) >= len(few) || len(many) < 5 {
		t.Errorf("%d moments of the heavy process and %d of the light one, want fewer of the heavy one alone", len(many), len(few))
	}
	if many[0].at > 30_000 || many[len(many)-1].at != 100_000 {
		t.Errorf("the heavy process is kept from %d to %d, want a long past and the newest", many[0].at, many[len(many)-1].at)
	}
	if c := a.Cost(); c.Past == 0 || int64(c.Past) != a.meter.past.Load() {
		t.Errorf("the cost tells %d bytes of the past, want %d", c.Past, a.meter.past.Load())
	}
	// When the agent saves, less is kept.
	before := a.meter.past.Load()
	a.meter.thrift.step.Store(int32(len(steps) - 1))
	a.economize()
	if got, most := a.meter.past.Load(), int64(a.options.MaxPast)/int64(steps[len(steps)-1].past); got >= before || got > most && len(all[0].keeper.mu.moments) > 1 {
		t.Errorf("%d bytes while the agent saves, before %d; want at most %d", got, before, most)
	}
	for _, f := range all {
		if len(f.keeper.mu.moments) == 0 {
			t.Error("the newest moment is dropped")
		}
		f.keeper.clear()
		f.keeper.add(pastView(time.UnixMilli(1e9), 1), time.Hour)
	}
	if got := a.meter.past.Load(); got != 0 {
		t.Errorf("%d bytes after everything was forgotten, want 0", got)
	}
}

func TestTheWeightOfAMomentIsAboutWhatItTakes(t *testing.T) {
	var total atomic.Int64
	k := &keeper{total: &total}
	for i := range 40 {
		k.add(pastView(time.UnixMilli(int64(1000*(i+1))), 1000), time.Hour)
	}
	takes, weighs := bytesBehind(reflect.ValueOf(k), map[unsafe.Pointer]bool{}), total.Load()
	if takes > weighs*5/4 || takes < weighs*4/5 {
		t.Errorf("40 moments weigh %d bytes and take %d: want about the same", weighs, takes)
	}
}

// bytesBehind is how many bytes a value refers to, each piece counted once: what is asked of the heap for it, which rounds that up. What the whole process has does
// not matter.
func bytesBehind(v reflect.Value, seen map[unsafe.Pointer]bool) (n int64) {
	first := func(at unsafe.Pointer) bool {
		was := seen[at]
		seen[at] = true
		return at != nil && !was
	}
	switch v.Kind() {
	case reflect.Pointer:
		if first(v.UnsafePointer()) {
			n = int64(v.Type().Elem().Size()) + bytesBehind(v.Elem(), seen)
		}
	case reflect.Interface:
		n = bytesBehind(v.Elem(), seen)
	case reflect.String:
		if s := v.String(); first(unsafe.Pointer(unsafe.StringData(s))) {
			n = int64(len(s))
		}
	case reflect.Slice:
		if first(v.UnsafePointer()) {
			n = int64(v.Cap()) * int64(v.Type().Elem().Size())
			for i := range v.Len() {
				n += bytesBehind(v.Index(i), seen)
			}
		}
	case reflect.Array:
		for i := range v.Len() {
			n += bytesBehind(v.Index(i), seen)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			n += bytesBehind(v.Field(i), seen)
		}
	case reflect.Map:
		for all := v.MapRange(); all.Next(); {
			for _, x := range []reflect.Value{all.Key(), all.Value()} {
				n += int64(x.Type().Size()) + bytesBehind(x, seen)
			}
		}
	}
	return n
}
