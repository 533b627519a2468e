package dump

import (
	"bytes"
	"context"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/vtscope/vtscope/dump/filter"
	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/sched"
)

func TestASocketIsToldWithItsDescriptorAndAddresses(t *testing.T) {
	r, rd := privateRecorder(t)
	at := netip.MustParseAddrPort
	socket := flight.BlockSocket(12)
	r.OpenBlocker(flight.BlockerSpec{Blocker: socket, Local: at("127.0.0.1:8080"), Remote: at("10.1.2.3:4711")}, flight.Now())
	rec := r.GetRecord()
	rec.Init(flight.StateRunnable, 1, 0, 0, 0, 0, flight.Now())
	rec.Mounted(flight.Now(), 5)
	rec.Parked(flight.Now(), flight.StateParked, flight.ReasonRead, 0, socket)
	const want = "socket 12 127.0.0.1:8080→10.1.2.3:4711"
	s, err := Take(t.Context(), rd, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got := s.Groups[0].Blocker; got != want {
		t.Errorf("a snapshot has %q, want %q", got, want)
	}
	report, err := TakeThread(t.Context(), rd, 1)
	if err != nil {
		t.Fatal(err)
	}
	if report.For == nil || report.For.Thing != want {
		t.Errorf("a thread waits for %+v, want %q", report.For, want)
	}
}

func TestAFilteredSnapshotHasTheThreadsThatMatch(t *testing.T) {
	r, rd := privateRecorder(t)
	requests := r.OpenScope(1, "requests", 0, 0, 0, flight.Now())
	get := r.OpenScope(2, "GET /cart", requests, 0, 0, flight.Now())
	r.OpenScope(3, "empty", 0, 0, 0, flight.Now())
	query := r.AddStack([]flight.Frame{{Func: "shop.(*Store).query", File: "/src/store.go", Line: 88}, {Func: "shop.handle", File: "/src/shop.go", Line: 4}})
	sleep := r.AddStack([]flight.Frame{{Func: "shop.idle", File: "/src/idle.go", Line: 9}})
	db := r.OpenBlocker(flight.BlockerSpec{Blocker: flight.BlockAt(flight.BlockedByMutex, 0x1000), Name: "db"}, flight.Now())
	_ = db
	for i := range 100 {
		id := flight.ThreadID(i + 1)
		rec := r.GetRecord()
		now := flight.Now()
		rec.Init(flight.StateRunnable, id, []flight.ScopeIndex{0, requests, get}[i%3], 7, 0, 0, now)
		r.SetName(rec, fmt.Sprint("worker ", i))
		rec.Mounted(now, 5)
		if i%2 == 0 {
			rec.Parked(now, flight.StateBlocked, flight.ReasonLock, query, flight.BlockAt(flight.BlockedByMutex, 0x1000))
		} else {
			rec.Parked(now, flight.StateTimedParked, flight.ReasonSleep, sleep, 0)
		}
	}
	take := func(text string) *Snapshot {
		t.Helper()
		f, err := filter.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		s, err := Take(context.Background(), rd, Options{Filter: f})
		if err != nil {
			t.Fatal(err)
		}
		if s.Threads+s.Filtered != 100 {
			t.Errorf("%s: got %d and %d others, want 100 in all", text, s.Threads, s.Filtered)
		}
		return s
	}
	for text, want := range map[string]int{
		"":                                  100,
		"state=blocked":                     50,
		`scope~"GET"`:                       33,
		"scope=root/requests":               33,
		"scope=root/*":                      66,
		"stack~query":                       50,
		`stack="store.go:88"`:               50,
		"stack!~query reason=sleep":         50,
		`blocker="mutex \"db\""`:            50,
		`name="worker 7"`:                   1,
		"name=worker*":                      100,
		"creator=7":                         100,
		"creator!=7":                        0,
		"wait>1h":                           0,
		"wait<1h":                           100,
		"carrier=5 mounts=1 pins=0":         100,
		"idle or GET":                       67,
		"state=mounted":                     0,
		"kind=virtual id<=10":               10,
		"(id=1 or id=3) -state=blocked":     0,
		"label:vtscope.thread=\"worker 3\"": 1,
		"label:vtscope.scope=requests":      33,
		"label:colour=red or id=5 id!=5":    0,
	} {
		if s := take(text); s.Threads != want {
			t.Errorf("%s: got %d threads, want %d", text, s.Threads, want)
		}
	}
	s := take("scope~GET")
	var names []string
	for i := range s.Scopes {
		names = append(names, strings.Join(s.Path(i), "/"))
	}
	if got := strings.Join(names, " "); got != "root root/requests root/requests/GET /cart" {
		t.Errorf("got scopes %s, want those that lead to the threads", got)
	}
	var page bytes.Buffer
	if err := Text(&page, s, TextOptions{}); err != nil || !strings.Contains(page.String(), "only scope~GET: 67 other threads") {
		t.Errorf("got %v\n%s\nwant the filter, and how many threads it leaves out", err, page.String())
	}
}

func TestLabelsAreThoseThatThreadsHave(t *testing.T) {
	if labelThread != sched.LabelThread || labelScope != sched.LabelScope {
		t.Errorf("got %s and %s, want %s and %s", labelThread, labelScope, sched.LabelThread, sched.LabelScope)
	}
}
