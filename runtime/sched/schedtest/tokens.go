package schedtest

import (
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vtscope/vtscope/runtime/continuation"
	"github.com/vtscope/vtscope/runtime/sched"
	"github.com/vtscope/vtscope/runtime/vthread"
)

// A token goes from thread to thread.
type token struct{ hops int }

// A box has tokens for its thread. Only who puts something into it wakes the thread, so a token stops for good when an unpark is lost.
type box struct {
	of *vthread.Thread
	mu struct {
		sync.Mutex
		tokens []*token
		closed bool
	}
}

func (b *box) put(t testing.TB, tok *token) {
	b.mu.Lock()
	b.mu.tokens = append(b.mu.tokens, tok)
	b.mu.Unlock()
	unpark(t, b.of)
}

// close lets take return nil.
func (b *box) close(t testing.TB) {
	b.mu.Lock()
	b.mu.closed = true
	b.mu.Unlock()
	unpark(t, b.of)
}

// take parks until there is a token.
func (b *box) take() *token {
	for {
		b.mu.Lock()
		closed := b.mu.closed
		if n := len(b.mu.tokens); n > 0 {
			tok := b.mu.tokens[n-1]
			b.mu.tokens = b.mu.tokens[:n-1]
			b.mu.Unlock()
			return tok
		}
		b.mu.Unlock()
		if closed {
			return nil
		}
		vthread.Interrupted() // else the park would return at once
		vthread.Park()
	}
}

// nothingIsLost has tokens go round between threads that do everything else meanwhile. Each hop is made once, each child runs once, and all threads
// end without anybody's help.
func nothingIsLost(t testing.TB, s sched.Scheduler) {
	const threads, tokens, hops = 30, 8, 60
	var boxes [threads]box
	var memory, begun, ended [threads]int // without locks: a thread is run once at a time, and children are joined
	var all [tokens]token
	var left, aside atomic.Int32
	left.Store(tokens)
	for i := range boxes {
		random := rand.New(rand.NewPCG(2, uint64(i)))
		some := func() time.Duration { return time.Duration(random.IntN(50)) * time.Microsecond }
		other := func() *box { return &boxes[(i+1+random.IntN(threads-1))%threads] }
		boxes[i].of = vthread.Builder{Scheduler: s}.Unstarted(func() {
			for tok := boxes[i].take(); tok != nil; tok = boxes[i].take() {
				memory[i]++
				switch random.IntN(10) {
				case 0:
					vthread.Yield()
				case 1:
					vthread.Sleep(some())
				case 2:
					vthread.ParkFor(some())
				case 3:
					time.Sleep(some()) // holds the carrier
				case 4:
					vthread.Blocking(func() { aside.Add(1) })
					aside.Add(-1)
				case 5:
					continuation.Pin()
					vthread.ParkFor(some())
					continuation.Unpin()
				case 6:
					runtime.LockOSThread()
					vthread.Sleep(some())
					vthread.Yield()
					runtime.UnlockOSThread()
				case 7:
					if err := other().of.Interrupt(); err != nil {
						t.Errorf("interrupt: %v", err)
					}
				case 8:
					begun[i]++
					child := vthread.Start(func() { vthread.Yield(); ended[i]++ })
					for child.Join() != nil { // interrupted
					}
				case 9:
					other().of.JoinFor(some())
				}
				if tok.hops--; tok.hops > 0 {
					other().put(t, tok)
				} else if left.Add(-1) == 0 {
					for j := range boxes {
						boxes[j].close(t)
					}
				}
			}
		})
	}
	for i := range boxes {
		if err := boxes[i].of.Start(); err != nil {
			t.Fatal(err)
		}
	}
	for i := range all {
		all[i].hops = hops
		boxes[i].put(t, &all[i])
	}
	for i := range boxes {
		join(t, boxes[i].of)
	}
	sum := 0
	for i := range boxes {
		sum += memory[i]
		if begun[i] != ended[i] {
			t.Errorf("thread %d: %d children ended of %d", i, ended[i], begun[i])
		}
		if n := len(boxes[i].mu.tokens); n > 0 {
			t.Errorf("thread %d ended with %d tokens", i, n)
		}
	}
	if want := tokens * hops; sum != want {
		t.Errorf("%d hops, want %d", sum, want)
	}
	if n := aside.Load(); n != 0 {
		t.Errorf("%d calls by Blocking more than returned", n)
	}
}
