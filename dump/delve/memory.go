package delve

import (
	"context"
	"errors"

	"github.com/go-delve/delve/pkg/proc"
)

// The most that is read for one answer. A value that is linked with half of the heap is cut there.
const (
	mostReads = 200_000
	mostBytes = 256 << 20
)

var errBudget = errors.New("too much to read")

// view is memory that is read within a budget. The stack of the goroutine is read from a copy, so that all its frames are of one moment.
type view struct {
	ctx   context.Context
	from  proc.MemoryReader
	low   uint64 // address of stack
	stack []byte
	reads int
	bytes int
	over  bool // the budget was
}

func (v *view) ReadMemory(buf []byte, address uint64) (int, error) {
	if address >= v.low && address-v.low < uint64(len(v.stack)) {
		if rest := v.stack[address-v.low:]; len(buf) <= len(rest) {
			return copy(buf, rest), nil
		}
	}
	v.reads++
	v.bytes += len(buf)
	if v.reads > mostReads || v.bytes > mostBytes || v.ctx.Err() != nil {
		v.over = true
		return 0, errBudget
	}
	n, err := v.from.ReadMemory(buf, address)
	if err == nil && n < len(buf) {
		err = errors.New("short read")
	}
	return n, err
}

func (v *view) WriteMemory(uint64, []byte) (int, error) { return 0, errReadOnly }
