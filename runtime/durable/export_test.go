package durable

import (
	"context"
	"os"
	"time"

	"github.com/vtscope/vtscope/runtime/durable/journal"
)

// PackForTest returns the bytes of a thread whose goroutine has gone, as a process leaves it that died.
func PackForTest(t *Thread) ([]byte, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	im := t.imageLocked()
	im.Ended, im.Err = false, ""
	return journal.Pack(&im, nil)
}

// HibernateForTest makes a thread that waits hibernate now.
func HibernateForTest(t *Thread) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.mu.state == Running {
		t.mu.leave = toHibernate
		t.pokeLocked()
	}
}

// WaitsForTest reports whether a thread waits for something durable, with its stack.
func WaitsForTest(t *Thread) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.mu.waiter != nil
}

// LockForTest holds a thread's lock, as a store does that does not answer.
func LockForTest(t *Thread) (unlock func()) {
	t.mu.Lock()
	return t.mu.Unlock
}

// PagesOf makes pages of lists so long, until what it returns is called.
func PagesOf(rows int) (restore func()) {
	before := pageRows
	pageRows = rows
	return func() { pageRows = before }
}

// SetClockForTest makes a hibernated thread wait for a time that is so much earlier, as if the clock of the machine had been set forward by that.
func SetClockForTest(t *Thread, by time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.mu.wait.until = t.mu.wait.until.Add(-by)
	last := &t.mu.journal.steps[len(t.mu.journal.steps)-1]
	last.Value, _ = encode(t.mu.wait.until)
}

// SignalWithinForTest is Signal, and waits until it is known who has the thread only as long as ctx goes on.
func SignalWithinForTest(ctx context.Context, t *Thread, name string) error {
	e, err := signal(t.id, name, 0)
	if err != nil {
		return err
	}
	return t.tellIt(ctx, e)
}

// A DiskForTest is what a file store writes through.
type DiskForTest interface {
	WriteAt(f *os.File, b []byte, at int64) error
	Truncate(f *os.File, size int64) error
	Sync(f *os.File) error
}

type diskForTest struct{ DiskForTest }

func (d diskForTest) writeAt(f *os.File, b []byte, at int64) error { return d.WriteAt(f, b, at) }
func (d diskForTest) truncate(f *os.File, size int64) error        { return d.Truncate(f, size) }
func (d diskForTest) sync(f *os.File) error                        { return d.Sync(f) }

// OnDiskForTest returns options of a file store that writes through a disk.
func OnDiskForTest(o FileOptions, d DiskForTest) FileOptions {
	o.disk = diskForTest{d}
	return o
}
