package incident

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/internal/plainfile"
	"github.com/vtscope/vtscope/recording"
	"github.com/vtscope/vtscope/runtime/flight"
)

// heldFor is how long events are recorded beside those that the rings still hold.
const heldFor = 50 * time.Millisecond

// held records what the rings of a process still hold.
func held(ctx context.Context, r *flight.Reader, to io.Writer) ([]string, error) {
	report, err := recording.Record(ctx, r, to, recording.Options{Held: true, For: heldFor})
	if err != nil {
		return nil, err
	}
	incomplete := incompleteOf(&report)
	if report.Events == 0 {
		incomplete = append(incomplete, "the process has recorded no event: there is what its threads did, and not how it came to that")
	}
	return incomplete, nil
}

func incompleteOf(r *recording.Report) []string {
	incomplete := r.Info.Incomplete
	if r.Lost > 0 {
		incomplete = append(incomplete, dump.Count(int(r.Lost), "event")+" could not be read in time")
	}
	return incomplete
}

// A Tail records a process all the time and keeps the last of it, which rings with much to do overwrite within a moment. It reads all events: at a million in
// a second it takes a good part of a processor.
//
//	T1  Its goroutine, record, is the only one that has the files. Whoever wants the events stops it, takes the files over, and starts another one.
type Tail struct {
	reader *flight.Reader
	dir    string
	limits recording.Limits

	mu struct {
		sync.Mutex
		stop   context.CancelFunc
		done   chan tailed // of the goroutine that records; nil: there is none
		path   string
		number int
		closed bool
	}
}

// tailed is how a recording ended.
type tailed struct {
	report recording.Report
	err    error
}

const tailPrefix = ".last-"

// NewTail begins to record what r reads, in a directory of its own within that of the store, of which it may take a quarter of the budget. It keeps the events of last,
// or somewhat more. Close it before r.
func (s *Store) NewTail(r *flight.Reader, last time.Duration) (*Tail, error) {
	if last <= 0 {
		return nil, fmt.Errorf("incident: keep the last %v: want more than 0", last)
	}
	dir, err := os.MkdirTemp(s.options.Dir, tailPrefix+strconv.Itoa(os.Getpid())+"-")
	if err != nil {
		return nil, fmt.Errorf("incident: %w", err)
	}
	t := &Tail{reader: r, dir: dir, limits: recording.Limits{MaxAge: last, MaxSize: max(s.options.Budget/4, 2<<20)}}
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.startLocked(); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return t, nil
}

func (t *Tail) startLocked() error {
	t.mu.number++
	t.mu.path = filepath.Join(t.dir, strconv.Itoa(t.mu.number)+recording.Extension)
	files, err := recording.Create(t.mu.path, t.limits)
	if err != nil {
		return fmt.Errorf("incident: %w", err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan tailed, 1)
	t.mu.stop, t.mu.done = stop, done
	go func() {
		report, err := recording.Record(ctx, t.reader, files, recording.Options{Held: true})
		done <- tailed{report, errors.Join(err, files.Close())}
	}()
	return nil
}

// stopLocked waits for the end of what is recorded (T1).
func (t *Tail) stopLocked() tailed {
	if t.mu.done == nil {
		return tailed{err: errors.New("nothing is recorded")}
	}
	t.mu.stop()
	end := <-t.mu.done
	t.mu.done = nil
	return end
}

// Events writes what was recorded last, and begins anew: it is what [Store.TakeEvents] wants.
func (t *Tail) Events(_ context.Context, _ *flight.Reader, to io.Writer) ([]string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.mu.closed {
		return nil, errors.New("the recording is closed")
	}
	end, path := t.stopLocked(), t.mu.path
	defer os.Remove(path)
	startErr := t.startLocked()
	if end.err != nil {
		return nil, end.err
	}
	incomplete := incompleteOf(&end.report)
	if startErr != nil {
		incomplete = append(incomplete, "the next bundle will have no events: "+startErr.Error())
	}
	f, err := plainfile.OpenOwn(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	_, err = io.Copy(to, f)
	return incomplete, err
}

// Close stops recording and removes the files. Further calls do nothing.
func (t *Tail) Close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.mu.closed {
		return nil
	}
	t.mu.closed = true
	t.stopLocked()
	return os.RemoveAll(t.dir)
}
