package roster_test

import (
	"context"
	"math/rand/v2"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/dump/roster"
	"github.com/vtscope/vtscope/runtime/flight"
)

func TestThreadsComeBackAsTheyWereAdded(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	at := time.Now()
	any64 := func() uint64 { return rnd.Uint64() >> rnd.IntN(64) }
	for _, n := range []int{0, 1, 63, 64, 65, 128, 5000} {
		r := roster.New(flight.Process{}, at)
		var all []roster.Thread
		for range n {
			th := roster.Thread{
				ID: flight.ThreadID(any64()), Scope: flight.ScopeIndex(any64()), Stack: flight.StackID(any64()), State: flight.State(rnd.IntN(8) + 1),
				Reason: flight.Reason(rnd.IntN(9)), Wait: time.Duration(any64() >> 1), Creator: flight.ThreadID(any64()),
				Flags: flight.RecordFlags(rnd.IntN(4)),
			}
			if rnd.IntN(3) > 0 {
				th.Name = "worker " + strconv.FormatUint(any64(), 10)
			}
			if rnd.IntN(3) == 0 {
				th.More = roster.More{Blocker: flight.Blocker(any64()), Limited: rnd.IntN(2) == 0, Waker: flight.ThreadID(any64()), Mounts: rnd.Uint32(),
					Pins: rnd.Uint32(), Carrier: flight.CarrierID(rnd.Uint32()), Scheduler: flight.SchedulerID(any64())}
			}
			all = append(all, th)
			r.Add(th)
		}
		i := 0
		check := func(row flight.ThreadRow) {
			want := all[i]
			more := roster.More{Blocker: row.Blocker, Limited: row.Limited, Waker: row.Waker, Mounts: row.Mounts, Pins: row.Pins, Carrier: row.Carrier, Scheduler: row.Scheduler}
			if want.More == (roster.More{}) {
				want.Carrier = flight.NoCarrier
			}
			detail, err := r.ThreadDetail(row.Index)
			if want.State == flight.StateMounted && want.Stack != 0 {
				want.Flags |= dump.StackHolds
			}
			got := roster.Thread{ID: row.ID, Name: r.ThreadName(row), Scope: row.Scope, Stack: row.Stack, State: row.State, Reason: row.Reason,
				Wait: time.Duration(r.Now() - row.Since), Creator: detail.Creator, Flags: row.Flags, More: more}
			if got != want || err != nil || detail.ID != want.ID {
				t.Fatalf("%d of %d: got %+v, %v; want %+v", i, n, got, err, want)
			}
			i++
		}
		if _, err := r.Threads(context.Background(), func(rows []flight.ThreadRow) {
			for _, row := range rows {
				check(row)
			}
		}); err != nil || i != n || r.Len() != n {
			t.Fatalf("got %d threads, %v; want %d", i, err, n)
		}
	}
}

func TestAThreadTakesAFewBytes(t *testing.T) {
	const n = 500_000
	r := roster.New(flight.Process{}, time.Now())
	heap := func() int64 { // what is alive, without what pools still keep of earlier tests
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before := heap()
	for i := range n {
		r.Add(roster.Thread{ID: flight.ThreadID(i + 1), Name: "GET /cart/" + strconv.Itoa(i), Scope: flight.ScopeIndex(i % 40), Stack: flight.StackID(i % 60),
			State: flight.StateParked, Wait: time.Minute + time.Duration(rand.IntN(1e9)), Creator: 1})
	}
	per := float64(heap()-before) / n
	if per > 24 {
		t.Errorf("got %.1f bytes a thread, want at most 24", per)
	}
	t.Logf("%.1f bytes a thread", per)
	runtime.KeepAlive(r)
}
