package dump

import (
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
)

var sampleTime = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)

// A sample builds snapshots for the tests of renderers. Scopes must be added in pre-order.
type sample struct{ s *Snapshot }

func newSample() sample {
	return sample{&Snapshot{
		Format: Format, Taken: sampleTime, AsOf: sampleTime, Took: 61 * time.Millisecond, Complete: true,
		Process: Process{
			PID: 4711, Program: "shop", Exe: "/srv/shop", GoVersion: "go1.26.8", Status: StatusRunning,
			Started: sampleTime.Add(-time.Hour), LastSeen: sampleTime, File: "/dev/shm/vtscope-1000/4711-99.flight",
		},
		Scopes: []Scope{}, Groups: []Group{}, Stacks: []Stack{},
	}}
}

func (b sample) scope(parent int, name string, n int) int {
	s := Scope{Parent: parent, Name: name, Count: n}
	s.Key = name
	if parent >= 0 {
		s.Depth = b.s.Scopes[parent].Depth + 1
		s.Key = b.s.Scopes[parent].Key + "/" + name
	}
	b.s.Scopes = append(b.s.Scopes, s)
	b.s.ScopeCount += n
	return len(b.s.Scopes) - 1
}

func (b sample) stack(frames ...Frame) int {
	b.s.Stacks = append(b.s.Stacks, Stack{Fingerprint: frames[0].Func, Frames: frames})
	return len(b.s.Stacks) - 1
}

func (b sample) group(scope, stack int, state flight.State, reason flight.Reason, n int, low, median, high time.Duration, examples ...Example) *Group {
	b.s.Groups = append(b.s.Groups, Group{
		Scope: scope, Stack: stack, State: state, Reason: reason, Count: n, Wait: Wait{Min: low, Median: median, Max: high}, Examples: examples,
	})
	for at := scope; at >= 0; at = b.s.Scopes[at].Parent {
		b.s.Scopes[at].Total += n
	}
	b.s.Scopes[scope].Own += n
	b.s.Scopes[scope].States[state] += n
	b.s.States[state] += n
	b.s.Threads += n
	return &b.s.Groups[len(b.s.Groups)-1]
}

func frame(fn, file string, line int) Frame { return Frame{Func: fn, File: file, Line: line} }

func internal(fn string) Frame {
	return Frame{Func: fn, File: "/go/vtscope/runtime/vthread/park.go", Line: 31, Internal: true}
}

// shopSample is the shop of the end-to-end issue.
func shopSample() *Snapshot {
	b := newSample()
	root := b.scope(-1, "root", 1)
	shop := b.scope(root, "shop", 1)
	requests := b.scope(shop, "requests", 1)
	checkout := b.scope(requests, "checkout", 312)
	jobs := b.scope(shop, "jobs", 1)
	b.s.Scopes[shop].ID, b.s.Scopes[shop].Owner, b.s.Scopes[shop].OwnerName = 1, 1, "main"
	b.s.Scopes[requests].Pins = 12
	sleep := internal("github.com/vtscope/vtscope/runtime/vthread.Sleep")
	query := b.stack(sleep,
		frame("example.org/shop.(*Store).query", "/src/shop/store.go", 88),
		frame("example.org/shop.handleCheckout", "/src/shop/checkout.go", 41),
		frame("example.org/shop.(*Server).serve", "/src/shop/server.go", 19),
		frame("net/http.HandlerFunc.ServeHTTP", "/go/src/net/http/server.go", 2322),
		frame("net/http.(*ServeMux).ServeHTTP", "/go/src/net/http/server.go", 2861),
		frame("net/http.serverHandler.ServeHTTP", "/go/src/net/http/server.go", 3340),
		frame("net/http.(*conn).serve", "/go/src/net/http/server.go", 2109),
		frame("example.org/shop.(*Server).loop", "/src/shop/server.go", 77),
		frame("example.org/shop.main.func1", "/src/shop/main.go", 12),
		frame("example.org/shop.run[...]", "/src/shop/main.go", 5),
	)
	lock := b.stack(internal("github.com/vtscope/vtscope/runtime/vsync.(*Mutex).Lock"),
		frame("example.org/shop.(*Cart).add", "/src/shop/cart.go", 230))
	poll := b.stack(sleep, internal("github.com/vtscope/vtscope/runtime/vthread.(*poller).run"))
	b.group(requests, query, flight.StateParked, flight.ReasonSleep, 998_871, 31*time.Second, 40*time.Second, 2*time.Minute,
		Example{ID: 5123, Name: "GET /cart", Wait: 2 * time.Minute}, Example{ID: 5130, Name: "", Wait: 2 * time.Minute}, Example{ID: 5199, Name: "", Wait: 2 * time.Minute})
	g := b.group(checkout, lock, flight.StateBlocked, flight.ReasonLock, 1000, 12*time.Millisecond, 800*time.Millisecond, 9*time.Second,
		Example{ID: 88, Name: "order 17", Wait: 9 * time.Second}, Example{ID: 90, Name: "", Wait: 9 * time.Second})
	g.Blocker = "lock 0xc000012340"
	b.group(shop, -1, flight.StateRunnable, flight.ReasonYield, 402, 0, 3*time.Microsecond, 40*time.Microsecond, Example{ID: 3, Name: "", Wait: 40 * time.Microsecond})
	b.group(jobs, -1, flight.StateNew, 0, 136, time.Millisecond, time.Millisecond, time.Millisecond, Example{ID: 91, Name: "", Wait: time.Millisecond})
	b.group(jobs, -1, flight.StateMounted, 0, 2, 0, 0, 90*time.Microsecond, Example{ID: 92, Name: "", Wait: 0})
	b.group(root, poll, flight.StatePinned, flight.ReasonPinnedGo, 1, 26*time.Hour, 26*time.Hour, 26*time.Hour, Example{ID: 2, Name: "poller", Wait: 26 * time.Hour})
	return b.s
}
