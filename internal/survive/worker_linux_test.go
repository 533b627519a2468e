package survive

import (
	"context"
	"encoding/json"
	"os"
	"sync/atomic"

	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/structured"
	"github.com/vtscope/vtscope/runtime/vsync"
	"github.com/vtscope/vtscope/runtime/vthread"
)

// What a worker does: so many threads at once, more than a segment of the flight file describes.
const (
	workScopes  = 20
	workThreads = workScopes * 1000
)

// A done is what a worker prints at its end.
type done struct {
	Sum      uint64
	Threads  int
	Off      bool
	File     string      // of its recorder; "": it has none
	Recorded int         // threads that were in it while all lived
	Lost     flight.Lost // when all was done

	stderr string
}

// worker runs short of something, does its work and prints what came of it.
func worker(o order) {
	s := shortages[o.Shortage]
	if s.before != nil {
		s.before()
	}
	r := flight.Default()
	if s.after != nil {
		s.after(r.Path())
	}
	d := done{Off: r == nil, File: r.Path()}
	d.Sum, d.Threads = addUp(func() {
		if r != nil {
			d.Recorded = recorded(r)
		}
	})
	if r != nil {
		rd, err := r.Reader()
		must(err)
		d.Lost = rd.Lost()
		must(rd.Close())
	}
	must(flight.Close())
	must(json.NewEncoder(os.Stdout).Encode(d))
	os.Exit(0)
}

// recorded counts the threads that stand in the recorder's file.
func recorded(r *flight.Recorder) (n int) {
	rd, err := r.Reader()
	must(err)
	torn, err := rd.Threads(context.Background(), func(rows []flight.ThreadRow) { n += len(rows) })
	must(err)
	must(rd.Close())
	return n + torn
}

// addUp adds numbers by many threads in scopes; halfway all of them wait, and together is called.
func addUp(together func()) (sum uint64, threads int) {
	var (
		lock    vsync.Mutex
		waiting atomic.Int64
		goOn    = vsync.NewLatch(1)
		scopes  []*structured.Scope
	)
	for i := range workScopes {
		s := structured.Open(context.Background(), "part")
		scopes = append(scopes, s)
		for k := range workThreads / workScopes {
			s.Fork(func() error {
				n := uint64(i*workThreads + k)
				waiting.Add(1)
				goOn.Wait()
				vthread.Yield()
				lock.Lock()
				defer lock.Unlock()
				sum += n * n
				threads++
				return nil
			})
		}
	}
	for waiting.Load() < workThreads {
		vthread.Yield()
	}
	together()
	goOn.Done()
	for i := range scopes {
		s := scopes[len(scopes)-1-i]
		must(s.Join())
		must(s.Close())
	}
	return sum, threads
}
