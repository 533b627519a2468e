package delve

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/go-delve/delve/pkg/proc"
	"github.com/go-delve/delve/pkg/proc/core"

	"github.com/vtscope/vtscope/dump/locals"
)

const (
	tries = 5                // to find the goroutine at one place
	limit = 20 * time.Second // for one answer, beside the loading of debug information
)

// source is what a goroutine is looked at in.
type source struct {
	memory proc.MemoryReader
	info   *proc.BinaryInfo
	path   string // what info was loaded from
	entry  uint64
	live   bool
	close  func() error

	// What Delve sees of it, after prepare.
	frozen *frozen
	target *proc.Target
}

// prepare makes Delve's view of the goroutine at an address. It takes a while, so it is done once, and before the goroutine is read.
func (s *source) prepare(ctx context.Context, g uint64) (err error) {
	s.frozen = &frozen{info: s.info, entry: s.entry, memory: &view{ctx: ctx, from: s.memory}, thread: &parked{g: g}}
	if s.target, err = s.frozen.target(s.path); err != nil {
		return fmt.Errorf("delve: %w", err)
	}
	return nil
}

func open(q locals.Question) (*source, error) {
	if q.Core == "" {
		return openLive(q.PID)
	}
	group, err := core.OpenCore(q.Core, q.Exe, nil)
	if err != nil {
		return nil, fmt.Errorf("delve: open core file %s of %s: %w", q.Core, q.Exe, err)
	}
	t := group.Selected
	entry, err := t.EntryPoint()
	if err != nil {
		return nil, fmt.Errorf("delve: open core file %s: %w", q.Core, err)
	}
	return &source{memory: t.Memory(), info: t.BinInfo(), path: q.Exe, entry: entry, close: func() error { return group.Detach(false) }}, nil
}

// Look tells the frames and variables of a goroutine that waits. Of a process that lives it reads the goroutine again afterwards, and tells
// only what was there all the while. Errors match those of package locals.
func Look(ctx context.Context, q locals.Question) (a *locals.Answer, err error) {
	defer func() {
		// Debug information and memory are another's: what Delve does not expect there must not look like our fault.
		if r := recover(); r != nil {
			a, err = nil, fmt.Errorf("delve: goroutine at %#x: %v\n%s", q.G, r, cut(string(debug.Stack())))
		}
	}()
	s, err := open(q)
	if err != nil {
		return nil, err
	}
	a, err = s.look(ctx, q)
	return a, errors.Join(err, s.close())
}

func (s *source) look(ctx context.Context, q locals.Question) (*locals.Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	f, err := fieldsOf(s.info)
	if err != nil {
		return nil, err
	}
	if err := s.prepare(ctx, q.G); err != nil {
		return nil, err
	}
	for range tries {
		before, err := f.read(s.memory, q.G)
		if err != nil {
			return nil, err
		}
		answer, err := s.tell(ctx, q, before)
		if !s.live {
			return answer, err
		}
		after, readErr := f.read(s.memory, q.G)
		if readErr == nil && after.same(before) {
			return answer, err
		}
		if ctx.Err() != nil {
			break
		}
	}
	return nil, errMoved
}
